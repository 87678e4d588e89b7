// What the page says about a cluster as a whole.
import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./modules.mjs";

const { clusterFinding } = await importSource("cluster.ts");

const role = (name, health, why = "") => ({ role: { name, address: "" }, health, why });

test("a silent actor alone does not make a cluster unhealthy", () => {
  const roles = [role("learner", "ok"), role("actor.0", "silent", "not heard of for 12 s")];
  const finding = clusterFinding({ healthy: true, roles });
  assert.equal(finding.level, "GOOD");
  assert.match(finding.text, /actor\.0 is silent: not heard of for 12 s/);
  assert.doesNotMatch(finding.text, /All 2 roles answer/);
});

test("a role that is away makes it unhealthy, and is named", () => {
  const roles = [role("a", "away", "refused"), role("learner", "waiting", "games"), role("actor.0", "silent", "old")];
  const finding = clusterFinding({ healthy: false, roles });
  assert.equal(finding.level, "WARNING");
  assert.equal(finding.text, "a is away: refused.");
});

test("a cluster with too few actors names the setting", () => {
  const finding = clusterFinding({ healthy: false, roles: [role("learner", "ok")] });
  assert.equal(finding.text, "There are fewer actors than actor.expected.");
});
