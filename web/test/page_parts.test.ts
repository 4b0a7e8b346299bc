// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { timeRange } from "../src/chart.ts";
import { contrast, jobColour, oklch } from "../src/colours.ts";
import { connectionText } from "../src/connection_text.ts";
import { choose, extend, sinceOf, utilisation, type Series } from "../src/history.ts";
import { hold } from "../src/job_charts.ts";
import { changeKind, gap, nextRound, nodesOf } from "../src/round.ts";
import { tokenOfFragment } from "../src/session.ts";
import { State } from "../src/state.ts";

// The largest difference of a channel, 0 to 255.
function difference(one: string, other: string): number {
  const channel = (colour: string, at: number) => parseInt(colour.slice(at, at + 2), 16);
  return Math.max(...[1, 3, 5].map((at) => Math.abs(channel(one, at) - channel(other, at))));
}

test("colours of jobs are visible in both themes", () => {
  assert.equal(oklch(1, 0, 0), "#ffffff");
  assert.equal(oklch(0.628, 0.2577, 29.23), "#ff0000");
  for (let index = 0; index < 1000; index++) {
    assert.ok(contrast(jobColour(index, false), "#ffffff") >= 3, `${index} on white: ${jobColour(index, false)}`);
    assert.ok(contrast(jobColour(index, true), "#171b21") >= 3, `${index} on dark: ${jobColour(index, true)}`);
    assert.ok(jobColour(index, false) !== jobColour(index + 1, false));
  }
});

test("few jobs with near numbers have colours that are alike", () => {
  for (const dark of [false, true]) {
    const colours = Array.from({ length: 260 }, (_, index) => jobColour(index, dark));
    const pairs = colours.slice(0, 200).flatMap((colour, index) => colours.slice(index + 1, index + 60).map((other) => difference(colour, other)));
    assert.ok(Math.min(...pairs) > 8, "none are the same");
    assert.ok(pairs.filter((each) => each < 20).length < 0.02 * pairs.length, "2 % of all pairs");
  }
});

test("how old the data are", () => {
  const text = (kind: Parameters<typeof connectionText>[0], age: number, recorded = false) => connectionText(kind, age, 5000, recorded).text;
  assert.equal(text({ kind: "open" }, 3), "live");
  assert.equal(text({ kind: "open" }, 20.4), "20 s old");
  assert.equal(text({ kind: "open" }, 200, true), "recorded run");
  const lost = text({ kind: "lost", since: Date.UTC(2026, 0, 1, 11, 3) / 1000, retryAt: 5003.4, reason: "", status: 0 }, 9);
  const busy = connectionText({ kind: "lost", since: Date.UTC(2026, 0, 1, 11, 3) / 1000, retryAt: 5003.4, reason: "there are 512 streams already.", status: 503 }, 9, 5000, false);
  assert.ok(/^polluxd answers since .*12:03: there are 512 streams already; trying again in 4 s$/.test(busy.text), busy.text);
  assert.ok(/^polluxd answers since .*12:03: there are 512 streams already\. The page tries again\.$/.test(busy.spoken), busy.spoken);
  assert.ok(/^no answer since .*12:03: polluxd may be stopped; trying again in 4 s$/.test(lost), lost);
});

test("a time axis shows its times, and not less than some seconds", () => {
  assert.deepEqual(timeRange([1000]), [995, 1005]);
  assert.deepEqual(timeRange([1000], 600), [700, 1300]);
  assert.deepEqual(timeRange([1000, 1030, 1060], 600), [730, 1330]);
  assert.deepEqual(timeRange([1000, 1030, 2000], 600), [1000, 2000]);
});

test("the token of an address", () => {
  assert.equal(tokenOfFragment("#token=abc"), "abc");
  assert.equal(tokenOfFragment("#token=a%20b"), "a b");
  assert.equal(tokenOfFragment("#token=%zz"), "");
  assert.equal(tokenOfFragment("#/jobs"), null);
});

const series = (at: number[]): Series => ({ at, slots: at.map(() => 8), used: at.map((_, row) => (row ? 4 : null)), running: at, waiting: at, goodput: at, price: at });

test("a range of the history takes hours before the first minute", () => {
  const history = { hours: series([0, 3600, 7200]), minutes: series([7200, 7260, 7320]) };
  assert.deepEqual(choose(history, Infinity, 7320).at, [0, 3600, 7200, 7260, 7320]);
  assert.deepEqual(choose({ ...history, minutes: series([7100, 7160]) }, Infinity, 7320).at, [0, 7100, 7160], "whole hours only");
  assert.deepEqual(choose(history, 100, 7320).at, [7260, 7320]);
  assert.deepEqual(utilisation(series([1, 2])), [null, 0.5]);
});

test("later rows replace those that were not over", () => {
  const history = { hours: series([0, 3600]), minutes: series([3540, 3600, 3660]) };
  assert.equal(sinceOf(history), 3600);
  const later = { hours: series([3600]), minutes: series([3600, 3660, 3720]) };
  const joined = extend(history, later, 3600);
  assert.deepEqual([joined.hours.at, joined.minutes.at], [[0, 3600], [3540, 3600, 3660, 3720]]);
  assert.deepEqual(joined.minutes.used, [null, null, 4, 4], "the new values");
  assert.equal(sinceOf({ hours: series([]), minutes: series([]) }), null);
});

test("rounds", () => {
  assert.equal(changeKind({ job: "a", from: {}, to: { n0: 1 } }), "starts");
  assert.equal(changeKind({ job: "a", from: { n0: 1 }, to: { n1: 1 } }), "moves");
  assert.equal(changeKind({ job: "a", from: { n0: 2 }, to: { n1: 1 } }), "shrinks");
  assert.equal(changeKind({ job: "a", from: { n0: 2 }, to: {} }), "stops");
  const round = { round: 1, at: 0, policy: "p", fill: false, price: null, decide_s: 0 };
  assert.equal(gap({ ...round, fitness: 0.5, bound: 1 }), 0.5);
  assert.equal(gap({ ...round, fitness: null, bound: null }), null);
});

test("the nodes of a round are up, also those that are off now", () => {
  const state = new State();
  const node = (name: string, condition: number, power: number | null) => [["up", "off", "other", "drained"].indexOf(name), name, null, 4, condition, null, power];
  state.apply("snapshot", { number: 1, at: 0, nodes: [node("up", 0, null), node("off", 0, 1), node("other", 0, 1), node("drained", 1, null)] }, 0);
  const details = { round: 1, at: 0, policy: "p", fill: false, fitness: null, bound: null, price: null, decide_s: 0, changes: [], previous: null, next: null,
    before: { a: { off: 3 } }, after: { a: { up: 1, lost: 2 } } };
  const shown = [...nodesOf(state, details).values()].map((each) => [each.name, each.slots, each.condition]);
  assert.deepEqual(shown, [["up", 4, "up"], ["off", 4, "up"], ["drained", 4, "up"], ["lost", 2, "up"]]);
});

test("the round after one", () => {
  const rounds = [9, 7, 4].map((number) => ({ round: number, at: 0, policy: "p", fill: false, fitness: null, bound: null, price: null, decide_s: 0 }));
  assert.equal(nextRound(rounds, 4), 7);
  assert.equal(nextRound(rounds, 9), null);
  assert.equal(nextRound(rounds, 2), undefined, "there may be one between");
  assert.equal(nextRound([], 2), null);
});

test("a value holds until the next point", () => {
  assert.deepEqual(hold([1, 2, 3], [5, null, 6]), { at: [1, 2, 2, 3], values: [5, 5, null, 6] });
  assert.deepEqual(hold([1, 2], [null, 4]), { at: [1, 2], values: [null, 4] });
});
