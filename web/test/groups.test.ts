// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { groupsCost, sizeText, slotsText, statesText, type Group, type Groups } from "../src/groups.ts";
import { costText } from "../src/job_facts.ts";
import { costAt, decodeJob } from "../src/job.ts";
import { money } from "../src/format.ts";
import { State } from "../src/state.ts";

const group: Group = {
  name: "spot", type: "a100", gpus_per_node: 8, min: 0, max: 16, price_per_node_hour: 9.8, revocable: true, retired: false,
  size: 3, wanted: 3, states: { off: 13, starting: 1, up: 2, draining: 0, stopping: 0, failed: 0 }, price_per_hour: 19.6, retry_at: null,
};
const groups: Groups = {
  goal: "band:0.35,0.65", utility: 0.5, changing: true, priced: true, reason: "2 -> 3 nodes: jobs wait", resized_at: 50, price_per_hour: 19.6,
  cost: 100, boots: 2, now_at: 1000, groups: [group],
};

test("a group in words", () => {
  assert.equal(sizeText(group), "2 of 3 wanted");
  assert.equal(sizeText({ ...group, wanted: 2 }), "2");
  assert.equal(statesText(group, 0), "1 starting, 2 up");
  assert.equal(statesText({ ...group, states: { off: 16 } }, 0), "all off");
  assert.equal(statesText({ ...group, states: { failed: 1 }, retry_at: 100 }, 60), "1 failed; orders again in 40 s");
  assert.equal(statesText({ ...group, states: { up: 1 }, retry_at: 100, retired: true }, 200), "1 up; not configured any more");
  assert.equal(slotsText(group), "8 × a100, revocable");
  assert.equal(slotsText({ ...group, type: null, gpus_per_node: 1, revocable: false }), "1 slot");
});

test("costs grow with time", () => {
  assert.equal(groupsCost(groups, 1000), 100);
  assert.equal(money(groupsCost(groups, 1000 + 1800)), "109.80");
  const row = [...Array(29).fill(null), 1000, 5, 3600];
  assert.equal(costAt(decodeJob(row), 1010), 15);
  assert.equal(costAt(decodeJob(row), 900), 5);
  assert.equal(costAt(decodeJob([0, "x"]), 900), null);
  assert.equal(money(1234.5), "1,234.50");
  assert.equal(money(null), "–");
});

test("a job's cost in words, and nothing without prices", () => {
  assert.equal(costText({ cost: 12, price_per_hour: 4 }), "12.00 so far, 4.00 per hour now");
  assert.equal(costText({ cost: 12, price_per_hour: 0 }), "12.00");
  assert.equal(costText({ cost: 0, price_per_hour: 0 }), "");
  assert.equal(costText({}), "");
});

test("nodes of groups have the state of their power", () => {
  const state = new State();
  const changed = state.apply("snapshot", {
    number: 1, at: 1000, groups,
    nodes: [[0, "n0", null, 4, 0], [1, "spot-0", "a100", 8, 0, 0, 3, 900, null], [2, "spot-1", "a100", 0, 2, 0, 2, 990, 1500], [3, "spot-2", "a100", 0, 2, 0, 1, 990, null],
      [4, "spot-3", "a100", 8, 1, 0, 3, 900, null], [5, "spot-4", "a100", 8, 1, 0, 4, 900, 1120]],
  }, 0);
  assert.ok(changed.groups && state.priced());
  assert.deepEqual([...state.nodes.values()].map((node) => node.condition), ["up", "up", "starting", "off", "drained", "draining"]);
  assert.deepEqual(state.shownNodes().map((node) => node.name), ["n0", "spot-0", "spot-1", "spot-3", "spot-4"]);
  assert.equal(state.nodes.get(2)?.deadline, 1500);
  assert.equal(state.apply("change", { number: 2, at: 1001 }, 1).groups, false);
  assert.equal(state.groups, groups);
});
