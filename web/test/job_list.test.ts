// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../src/address.ts";
import { decodeJob, etaAt, type Job } from "../src/job.ts";
import { defaultList, filterJobs, readList, sortJobs, writeList } from "../src/job_list.ts";

const job = (index: number, name: string, phase: number, more: Partial<Job> = {}): Job => ({ ...decodeJob([index, name, "ann", phase, []]), ...more });
const jobs = [
  job(0, "job-10", 1, { goodput: 5, placement: [0, 2], submittedAt: 30 }),
  job(1, "job-9", 0, { owner: "bob", submittedAt: 20 }),
  job(2, "Alpha", 3, { goodput: 7, submittedAt: 10 }),
  job(3, "beta", 2, { goodput: 5, application: "resnet", placement: [1, 1], submittedAt: 40 }),
];
const names = (list: Job[]) => list.map((each) => each.name);

test("sorting", () => {
  assert.deepEqual(names(sortJobs([...jobs], "name", false)), ["Alpha", "beta", "job-9", "job-10"]);
  assert.deepEqual(names(sortJobs([...jobs], "goodput", true)), ["Alpha", "beta", "job-10", "job-9"], "unknown comes last");
  assert.deepEqual(names(sortJobs([...jobs], "goodput", false)), ["job-10", "beta", "Alpha", "job-9"], "unknown comes last");
  assert.deepEqual(names(sortJobs([...jobs], "submitted", true)), ["beta", "job-10", "job-9", "Alpha"]);
});

test("the time to the end shrinks", () => {
  const runs = job(4, "runs", 1, { eta_s: 90, madeAt: 1000 });
  assert.equal(etaAt(runs, 1000), 90);
  assert.equal(etaAt(runs, 1030.2), 60);
  assert.equal(etaAt(runs, 2000), 0);
  assert.equal(etaAt(job(5, "unknown", 1), 1000), null);
  const earlier = job(6, "earlier", 1, { eta_s: 100, madeAt: 980 });
  assert.deepEqual(names(sortJobs([runs, earlier], "eta", false)), ["earlier", "runs"]);
});

test("filters", () => {
  const filter = (part: object, node: number | null = null) => names(filterJobs(jobs, { ...defaultList, ...part }, node));
  assert.deepEqual(filter({}), ["job-10", "job-9", "Alpha", "beta"]);
  assert.deepEqual(filter({ phase: "live" }), ["job-10", "job-9", "beta"]);
  assert.deepEqual(filter({ phase: "running" }), ["job-10", "beta"]);
  assert.deepEqual(filter({ phase: "pending" }), ["job-9"]);
  assert.deepEqual(filter({ owner: "bob" }), ["job-9"]);
  assert.deepEqual(filter({ search: "JOB" }), ["job-10", "job-9"]);
  assert.deepEqual(filter({ search: "resnet" }), ["beta"]);
  assert.deepEqual(filter({ node: "n1" }, 1), ["beta"]);
  assert.deepEqual(filter({ node: "nowhere" }), []);
});

test("the list's state is in the address", () => {
  const list = { ...defaultList, sort: "goodput" as const, down: false, phase: "live" as const, owner: "a&b", search: "x/y?", node: "n0" };
  const address = formatAddress(["jobs"], writeList(list));
  assert.deepEqual(readList(parseAddress(address).query), list);
  assert.equal(formatAddress(["jobs"], writeList(defaultList)), "#/jobs");
  assert.deepEqual(readList(new URLSearchParams("sort=evil&phase=evil")), defaultList);
});

test("names survive the address", () => {
  for (const name of ["resnet", "a b", "50%", "x/y", "<b>", "ü"])
    assert.deepEqual(parseAddress(formatAddress(["jobs", name])).path, ["jobs", name]);
  assert.deepEqual(parseAddress("#/jobs/%zz").path, ["jobs", "%zz"]);
  assert.deepEqual(parseAddress("").path, []);
});
