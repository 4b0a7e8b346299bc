// SPDX-License-Identifier: Apache-2.0
// Which jobs the list shows and in which order.  Both are part of the address.
import { endsAt, isLive, shareDone, type Job } from "./job.ts";
import { compareKeys, type Key } from "./sorting.ts";

export const columns = [
  "name", "phase", "replicas", "batch", "throughput", "efficiency", "goodput", "progress", "eta", "restarts", "waits", "submitted", "cost",
] as const;
export type Column = (typeof columns)[number];

export const phaseFilters = ["all", "live", "pending", "running", "finished", "failed", "cancelled"] as const;
export type PhaseFilter = (typeof phaseFilters)[number];

export interface ListState {
  sort: Column;
  down: boolean;
  phase: PhaseFilter;
  owner: string; // "": all
  search: string;
  node: string; // "": all
}

export const defaultList: ListState = { sort: "submitted", down: true, phase: "all", owner: "", search: "", node: "" };

export function readList(query: URLSearchParams): ListState {
  const sort = query.get("sort") as Column | null;
  const phase = query.get("phase") as PhaseFilter | null;
  const known = sort !== null && columns.includes(sort);
  return {
    sort: known ? sort : defaultList.sort,
    down: known ? query.get("order") === "down" : defaultList.down,
    phase: phase !== null && phaseFilters.includes(phase) ? phase : defaultList.phase,
    owner: query.get("owner") ?? "",
    search: query.get("search") ?? "",
    node: query.get("node") ?? "",
  };
}

// Only what differs from the default, so that addresses stay short.
export function writeList(list: ListState): Record<string, string> {
  const query: Record<string, string> = {};
  if (list.sort !== defaultList.sort || list.down !== defaultList.down) {
    query["sort"] = list.sort;
    query["order"] = list.down ? "down" : "up";
  }
  if (list.phase !== defaultList.phase) query["phase"] = list.phase;
  if (list.owner) query["owner"] = list.owner;
  if (list.search) query["search"] = list.search;
  if (list.node) query["node"] = list.node;
  return query;
}

// `node`: the index of the node in list.node, or null if there is none of that name.
export function filterJobs(jobs: Iterable<Job>, list: ListState, node: number | null): Job[] {
  const search = list.search.toLowerCase();
  const result: Job[] = [];
  for (const job of jobs) {
    if (list.phase === "live" ? !isLive(job) : list.phase !== "all" && !(job.phase === list.phase || (list.phase === "running" && job.phase === "cancelling"))) continue;
    if (list.owner && job.owner !== list.owner) continue;
    if (search && !job.name.toLowerCase().includes(search) && !(job.application ?? "").toLowerCase().includes(search)) continue;
    if (list.node && !(isLive(job) && onNode(job, node))) continue;
    result.push(job);
  }
  return result;
}

function onNode(job: Job, node: number | null): boolean {
  for (let at = 0; at < job.placement.length; at += 2) if (job.placement[at] === node) return true;
  return false;
}

const order: Record<Job["phase"], number> = { running: 0, cancelling: 1, pending: 2, failed: 3, cancelled: 4, finished: 5 };

const keys: Record<Column, (job: Job) => Key> = {
  name: (job) => job.name,
  phase: (job) => order[job.phase],
  replicas: (job) => job.replicas,
  batch: (job) => job.batch,
  throughput: (job) => job.throughput,
  efficiency: (job) => job.efficiency,
  goodput: (job) => job.goodput,
  progress: shareDone,
  eta: (job) => endsAt(job, 0),
  restarts: (job) => job.restarts,
  waits: (job) => job.waitsFor ?? job.detail,
  submitted: (job) => job.submittedAt,
  cost: (job) => job.cost,
};

// Sort in place.  Unknown values come last in both directions; equal ones are in order of submission.
export function sortJobs(jobs: Job[], column: Column, down: boolean): Job[] {
  const key = keys[column];
  const keyed = jobs.map((job): [Job, Key] => [job, key(job)]);
  keyed.sort(([a, x], [b, y]) => compareKeys(x, y, down) || (down && x !== null ? b.index - a.index : a.index - b.index));
  keyed.forEach(([job], at) => (jobs[at] = job));
  return jobs;
}
