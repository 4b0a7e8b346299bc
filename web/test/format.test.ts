// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { change, count, duration, exactTime, meanCount, number, percent, plural, shorten, slotPrice, time, type Maybe } from "../src/format.ts";

function table(name: string, format: (value: Maybe) => string, cases: [Maybe, string][]): void {
  test(name, () => {
    for (const [value, text] of cases) assert.equal(format(value), text, `${value}`);
  });
}

table("the price of a slot", slotPrice, [[3.3e-8, "0"], [-3.3e-8, "0"], [0.0000079, "7.9e−6"], [0.00187, "0.00187"], [null, "–"]]);

table("numbers", number, [
  [0, "0"], [null, "–"], [undefined, "–"], [NaN, "–"], [Infinity, "–"], [0.25, "0.25"], [0.0022, "0.0022"], [0.000711, "0.000711"], [0.000012, "1.2e−5"],
  [2.3456, "2.35"], [999.4, "999"], [999.6, "1,000"], [2545.4, "2,545"], [99999, "99,999"], [123456, "123 k"], [999_900, "1 M"],
  [12_345_678, "12.3 M"], [4.2e9, "4.2 G"], [7e13, "70 T"], [-1500, "-1,500"],
]);

table("counts", count, [[0, "0"], [12345, "12,345"], [2.6, "3"], [null, "–"]]);

table("mean of counts", meanCount, [[3, "3"], [0.939, "0.9"], [0.01, "under 0.1"], [0, "0"], [12.49, "12.5"], [1234.6, "1,235"], [null, "–"]]);
table("per cent", percent, [[0.925, "93 %"], [1, "100 %"], [null, "–"]]);

table("changes", change, [[1.1, "+10 %"], [0.797, "−20 %"], [1.004, "+0.4 %"], [1.0000001, "±0 %"], [null, "–"]]);

table("durations", duration, [
  [0, "0 s"], [0.00004, "40 µs"], [0.0123, "12.3 ms"], [2.34, "2.3 s"], [45, "45 s"], [60, "1 min"], [59.6, "1 min"], [61, "1 min 1 s"],
  [725, "12 min"], [3599, "1 h"], [12000, "3 h 20 min"], [86399, "1 d"], [86400 * 2 + 3600 * 4, "2 d 4 h"], [86400 * 400, "400 d"], [-5, "−5 s"], [null, "–"],
]);

test("times are in the reader's zone; simulated ones count from 0", () => {
  const noon = Date.UTC(2026, 10, 18, 11, 3, 5) / 1000; // 12:03:05 in Berlin
  assert.equal(time(noon, noon + 60), "12:03");
  assert.equal(time(noon, noon + 60, true), "12:03:05");
  assert.equal(time(noon, noon + 86400), "18 Nov 12:03");
  assert.equal(time(noon, noon + 86400 * 200), "18 Nov 2026 12:03");
  assert.equal(time(12000, 15000), "3 h 20 min");
  assert.equal(time(null, noon), "–");
  assert.ok(exactTime(noon).includes("2026") && exactTime(noon).includes("12:03:05"));
  assert.equal(exactTime(90), "90 s after the start");
});

test("words", () => {
  assert.equal(plural(1, "job"), "1 job");
  assert.equal(plural(1200, "job"), "1,200 jobs");
  assert.equal(shorten("abcdef", 4), "abc…");
});
