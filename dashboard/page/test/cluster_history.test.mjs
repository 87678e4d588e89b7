// The figures of a cluster's roles over time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./modules.mjs";

const { ClusterHistory } = await importSource("cluster_history.ts");

const role = (name, age) => ({ name, figures: age === undefined ? {} : { drawn_age: age } });

test("a figure stands at the time at which it was told, also behind a gap", () => {
  const history = new ClusterHistory(["drawn_age"], 3);
  history.add(0, [role("a", 10)]);
  history.add(2, [role("a", 11), role("b", 20)]);
  history.add(4, [role("a", 12), role("b", 21)]);
  history.add(6, [role("a"), role("b", 22)]);  // the first sample is forgotten
  history.add(8, [role("a", 14), role("b", 23)]);
  assert.deepEqual(history.times, [4, 6, 8]);
  assert.deepEqual([...history.samplesOf("drawn_age")], [["a", [12, null, 14]], ["b", [21, 22, 23]]]);
});

test("a role that is gone for longer than the samples last has no line", () => {
  const history = new ClusterHistory(["drawn_age"], 2);
  history.add(0, [role("a", 1), role("b", 2)]);
  for (const time of [2, 4]) history.add(time, [role("b", 3)]);
  assert.deepEqual([...history.samplesOf("drawn_age").keys()], ["b"]);
});

test("two roles of one name have one sample for each time", () => {
  const history = new ClusterHistory(["drawn_age"], 4);
  history.add(0, [role("a", 1), role("a", 2)]);
  history.add(2, [role("a", 3)]);
  assert.deepEqual([...history.samplesOf("drawn_age")], [["a", [2, 3]]]);
});
