// Numbers as the page writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./modules.mjs";

const { formatClock, formatDuration, formatShort } = await importSource("format.ts");

test("a short number has no exponent where it rounds up to the next unit", () => {
  for (const [value, text] of [
    [999, "999"], [999.4, "999"], [999.5, "1.00k"], [999.9, "1.00k"], [1000, "1.00k"], [1234, "1.23k"], [99950, "100k"], [999499, "999k"],
    [999500, "1.00M"], [999999, "1.00M"], [999.6e6, "1.00G"], [-999999, "\u22121.00M"], [12.3e9, "12.3G"], [4e12, "4000G"],
  ]) assert.equal(formatShort(value), text, String(value));
});

test("a time that rounds up to a minute or an hour is one", () => {
  for (const [seconds, text] of [
    [0.2, "200 ms"], [0.9996, "1.0 s"], [5.04, "5.0 s"], [9.96, "10 s"], [59.4, "59 s"], [59.6, "1 min 0 s"], [61, "1 min 1 s"],
    [3599, "59 min 59 s"], [3600, "1 h 0 min"], [200000, "2 d 7 h"],
  ]) assert.equal(formatDuration(seconds), text, String(seconds));
  for (const [seconds, text] of [[59.94, "59.9 s"], [59.96, "1:00"], [90, "1:30"], [3600, "1:00 h"], [7500, "2:05 h"]]) {
    assert.equal(formatClock(seconds), text, String(seconds));
  }
});
