// Questions of the page to its server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./modules.mjs";

test("a question ends without an answer some day", async () => {
  globalThis.sessionStorage = { getItem: () => null };
  let signal;
  globalThis.fetch = async (_address, options) => {
    signal = options.signal;
    return new Response("{}");
  };
  const { ask } = await importSource("api.ts");
  await ask("run");
  assert.ok(signal instanceof AbortSignal);
});
