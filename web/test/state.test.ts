// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { batchFactors, decodeJob, reasonOf, shareDone } from "../src/job.ts";
import { State, type Round } from "../src/state.ts";

const row = (index: number, name: string, phase: number, placement: number[]): unknown[] =>
  [index, name, "ann", phase, placement, 0, 64, 1, 512, 1000.5, 0.9, 900.45, 1.5, 300, 50, 200, 600, 1, 8, 2, 1, 3, 100, 110, null, 42, null, null, "resnet", 160];
const round = (number: number, fill = false): Round => ({ round: number, at: number, policy: "pollux", fill, fitness: 0.5, bound: 0.6, price: fill ? null : number / 100, decide_s: 0.01 });

test("a row has its fields at their places", () => {
  const job = decodeJob(row(3, "resnet", 1, [0, 2, 1, 2]));
  assert.deepEqual([job.index, job.name, job.owner, job.phase, job.replicas, job.desired], [3, "resnet", "ann", "running", 4, null]);
  assert.deepEqual([job.m, job.s, job.batch, job.throughput, job.efficiency, job.goodput, job.speedup, job.noiseScale], [64, 1, 512, 1000.5, 0.9, 900.45, 1.5, 300]);
  assert.deepEqual([job.progress, job.total, job.eta_s, job.minReplicas, job.maxReplicas, job.restarts, job.failures, job.generation], [50, 200, 600, 1, 8, 2, 1, 3]);
  assert.deepEqual([job.submittedAt, job.startedAt, job.endedAt, job.run_s, job.waitsFor, job.detail, job.application, job.madeAt], [100, 110, null, 42, null, null, "resnet", 160]);
  assert.equal(batchFactors(job), "64 × 4 × 2");
  assert.equal(shareDone(job), 0.25);
});

test("the time of the next try is in the reader's zone", () => {
  const failed = (retry: unknown[]) => decodeJob([...row(3, "x", 0, []).slice(0, 26), "waits to start again", "exit 1", null, 160, 0, 0, ...retry]);
  const at = new Date(2026, 10, 19, 5, 48, 31).getTime() / 1000;
  assert.equal(reasonOf(failed([at]), at - 17), "waits to start again; next try at 05:48:31");
  assert.equal(reasonOf(failed([null]), at), "waits to start again");
  assert.equal(reasonOf(failed([]), at), "waits to start again"); // an older polluxd
  assert.equal(reasonOf(decodeJob(row(3, "x", 1, [0, 1])), at), null);
});

test("a short or wrong row does not break the page", () => {
  const job = decodeJob([1, "x", null, 99, null, null, "1"]);
  assert.deepEqual([job.phase, job.placement, job.m, job.restarts], ["pending", [], null, 0]);
  assert.equal(shareDone(job), null);
});

test("a snapshot replaces all, a change only its parts", () => {
  const state = new State();
  assert.equal(state.ready, false);
  let changed = state.apply("snapshot", {
    number: 10, at: 1000, status: { slots: 8 }, nodes: [[0, "n0", null, 4, 0], [1, "n1", "a100", 4, 1]], jobs: [row(0, "a", 1, [0, 4]), row(1, "b", 0, [])],
    omitted: 0, rounds: [round(5), round(4, true)], changes: null, playback: null, you: { name: "admin", role: "admin" },
  }, 2000);
  assert.ok(state.ready && changed.snapshot && changed.rounds);
  assert.equal(state.price(), 0.05);
  changed = state.apply("change", { number: 12, at: 1001, jobs: [row(1, "b", 1, [1, 2])], rounds: [round(6, true)] }, 2001);
  assert.deepEqual([changed.jobs, changed.nodes, changed.status], [true, false, false]);
  assert.deepEqual(state.rounds.map((each) => each.round), [6, 5, 4]);
  assert.equal(state.byName.get("b")?.phase, "running");
  assert.equal(state.placementText([0, 4, 1, 2]), "n0:4 n1:2");
  assert.equal(state.nodes.get(1)?.condition, "drained");
  assert.deepEqual([...state.occupancy()].map(([node, jobs]) => [node, jobs.map(([job, replicas]) => `${job.name} ${replicas}`)]), [[0, ["a 4"]], [1, ["b 2"]]]);
  assert.equal(state.now(2011), 1011);
  assert.equal(state.age(2011), 10);
  state.apply("snapshot", { number: 3, at: 5, jobs: [], nodes: [], rounds: [], changes: null, playback: null }, 3000);
  assert.deepEqual([state.jobs.size, state.byName.size, state.nodes.size, state.rounds.length, state.number], [0, 0, 0, 0, 3]);
});

test("a renamed row forgets the old name", () => {
  const state = new State();
  state.apply("snapshot", { number: 1, at: 0, jobs: [row(0, "a", 3, [])] }, 0);
  state.apply("change", { number: 2, at: 0, jobs: [row(0, "c", 0, [])] }, 0);
  assert.deepEqual([...state.byName.keys()], ["c"]);
});

test("in a recorded run time stands where the playback is", () => {
  const state = new State();
  state.apply("snapshot", { number: 1, at: 500, playback: { from_at: 0, until_at: 900, at: 500, speed: 1, playing: true, ended: false, name: "x.db", history_until_at: null } }, 0);
  assert.equal(state.now(100), 500);
});

test("a page that stays open does not grow without a bound", () => {
  const state = new State();
  state.apply("snapshot", { number: 1, at: 0, jobs: [], omitted: 3 }, 0);
  for (let index = 0; index < 5501; index++) {
    const ended = row(index, `job-${index}`, index < 100 ? 1 : 3, []);
    ended[24] = index;
    state.apply("change", { number: index + 2, at: index, jobs: [ended] }, index);
  }
  assert.deepEqual([state.jobs.size, state.byName.size, state.omitted], [5000, 5000, 504]);
  assert.ok(state.byName.has("job-0") && !state.byName.has("job-100") && state.byName.has("job-5500"), "live jobs and the newest stay");
});
