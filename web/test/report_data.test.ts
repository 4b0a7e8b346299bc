// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { evenly, headline, legendSteps, logGrid, mean, meanJct, missing, sampled, shares, shownOf, subtitle, timeOrigin, ticks, timeSpan, workloads, type Outcome } from "../src/report_data.ts";

const outcome = (policy: string, mean: number | null, more: Partial<Outcome> = {}): Outcome => ({
  source: `${policy}.db`, policy, several_policies: false, workload: "day", command: "pollux sim", made_at: 1, has_events: true, compacted: false, thinned: 0,
  from: 0, until: 100,
  numbers: {
    mean_jct: mean, median_jct: null, p99_jct: null, makespan: null, slot_hours_per_job: null, restarts_per_job: null, utilisation: null,
    worst_rho: null, unfair: null, jobs: 2, finished: 2, failed: 0, cancelled: 0, live: 0, rounds: 3,
  },
  jobs: { name: ["a", "b"], jct: [10, 20], rho: [1, 2] },
  usage: { from: 0, step: 50, slots: [4, 4], used: [2, 4], running: [1, 2], waiting: [1, 0] },
  ...more,
});

test("the headline compares with the next and with the last", () => {
  const of = (...list: Outcome[]) => headline(shownOf(list, "day"));
  assert.equal(of(outcome("x", 100)), "x completes the average job in 1 min 40 s.");
  assert.equal(of(outcome("y", 200), outcome("x", 100)), "x completes the average job in 1 min 40 s: 50\u00a0% less than y.");
  assert.equal(of(outcome("y", 200), outcome("x", 100), outcome("z", 104)), "x completes the average job in 1 min 40 s: 3.8\u00a0% less than z, 50\u00a0% less than y.");
  assert.equal(of(outcome("x", 100), outcome("y", 100)), "x completes the average job in 1 min 40 s: as fast as y.");
  assert.equal(of(outcome("x", null)), "No job has finished.");
});

test("outcomes are grouped by workload and have different labels", () => {
  const list = [outcome("x", 1), outcome("y", 1), outcome("x", 2, { workload: "night" }), outcome("x", 1, { source: "other.db" })];
  assert.deepEqual(workloads(list), ["day", "night"]);
  assert.deepEqual(shownOf(list, "day").map((one) => one.label), ["x (x.db)", "y", "x (other.db)"]);
  assert.deepEqual(shownOf(list, "night").map((one) => one.label), ["x"]);
  assert.equal(subtitle(shownOf(list, "day")), "3 policies · 2 jobs · 4 slots · workload day");
});

test("several runs of a policy and workload count by their mean", () => {
  const list = [outcome("x", 100), outcome("y", 50), outcome("x", 300, { source: "seed2.db" }), outcome("x", 7, { workload: "night" }), outcome("z", null)];
  assert.deepEqual(meanJct(list, "day", "x"), { mean: 200, journals: 2 });
  assert.deepEqual(meanJct(list, "day", "y"), { mean: 50, journals: 1 });
  assert.deepEqual(meanJct(list, "day", "z"), { mean: null, journals: 1 });
  assert.deepEqual(meanJct(list, "night", "y"), { mean: null, journals: 0 });
  assert.equal(mean([1, null]), null);
});

test("distributions", () => {
  const grid = logGrid([[10, null, 1000], [100]], 3);
  assert.deepEqual(grid.map((x) => x.toPrecision(2)), ["9.1", "1.0e+2", "1.1e+3"]);
  assert.deepEqual(shares([10, null, 1000], grid), [0, 0.5, 1]);
  assert.deepEqual(shares([], grid), [0, 0, 0]);
  assert.deepEqual(logGrid([[null]], 3), []);
  assert.equal(logGrid([[5]], 3).length, 3);
});

test("a simulation's time begins at its start, a cluster's is the clock", () => {
  const real = outcome("x", 1, { from: 1.7e9, until: 1.7e9 + 60 }), simulated = outcome("y", 1, { from: 5, until: 105 });
  assert.deepEqual(timeSpan([real]), [1.7e9, 1.7e9 + 60]);
  assert.deepEqual(timeSpan([real, simulated]), [0, 100]);
  assert.equal(timeOrigin([real, simulated])(real), 1.7e9);
  assert.equal(timeSpan([outcome("x", 1, { from: null, until: null })]), null);
});

test("usage is sampled where it is known", () => {
  const points = evenly(0, 150, 4);
  assert.deepEqual(points, [0, 50, 100, 150]);
  assert.deepEqual(sampled(outcome("x", 1), 0, points, (usage, i) => usage.used[i] ?? 0), [2, 4, null, null]);
  assert.deepEqual(sampled(outcome("x", 1, { usage: null }), 0, points, () => 1), [null, null, null, null]);
});

test("what is missing is said", () => {
  const says = (more: Partial<Outcome>) => missing(outcome("x", 1, more)).join(" ");
  assert.ok(/no timelines/.test(says({ has_events: false })));
  assert.ok(/only pollux sim can tell/.test(says({ command: null, jobs: { name: [], jct: [], rho: null } })));
  assert.ok(/2 jobs changed so often/.test(says({ thinned: 2 })));
  assert.ok(/begins with a snapshot/.test(says({ compacted: true })));
  assert.ok(/others: 1 failed, 2 not ended/.test(says({ numbers: { ...outcome("x", 1).numbers, failed: 1, live: 2 } })));
  assert.ok(!/Fairness/.test(says({})));
});

test("axes and legends", () => {
  assert.deepEqual(legendSteps(6), [1, 2, 4, 6]);
  assert.deepEqual(legendSteps(1), [1]);
  assert.deepEqual(ticks(0, 4 * 3600, 4), [0, 3600, 7200, 10800, 14400]);
});
