// SPDX-License-Identifier: Apache-2.0
// A job as /v1/watch sends it: a row of values, here with names.
import { known, number, time, unknown } from "./format.ts";

export const phases = ["pending", "running", "cancelling", "finished", "failed", "cancelled"] as const;
export type Phase = (typeof phases)[number];

// Pairs of a node's index and the number of replicas there: [0, 4, 3, 2].
export type Placement = readonly number[];

export interface Job {
  index: number;
  name: string;
  owner: string | null;
  phase: Phase;
  placement: Placement;
  desired: Placement | null; // null: the same as placement
  replicas: number;
  m: number | null;
  s: number | null;
  batch: number | null;
  throughput: number | null;
  efficiency: number | null;
  goodput: number | null;
  speedup: number | null;
  noiseScale: number | null;
  progress: number | null;
  total: number | null;
  eta_s: number | null;
  minReplicas: number | null;
  maxReplicas: number | null;
  restarts: number;
  failures: number;
  generation: number;
  submittedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  run_s: number | null;
  waitsFor: string | null;
  detail: string | null;
  application: string | null;
  madeAt: number | null; // the daemon's time at which run_s, eta_s and cost hold
  cost: number | null;
  pricePerHour: number | null; // of the slots that it has
  retryAt: number | null; // after a failure: when it may start again
}

type Row = readonly unknown[];

const numberAt = (row: Row, at: number) => (typeof row[at] === "number" ? (row[at] as number) : null);
const textAt = (row: Row, at: number) => (typeof row[at] === "string" ? (row[at] as string) : null);
const placementAt = (row: Row, at: number) => (Array.isArray(row[at]) ? (row[at] as number[]) : null);

// The order of the fields is that of docs/api.md, GET /v1/watch.
export function decodeJob(row: Row): Job {
  const placement = placementAt(row, 4) ?? [];
  return {
    index: numberAt(row, 0) ?? 0,
    name: textAt(row, 1) ?? "",
    owner: textAt(row, 2),
    phase: phases[numberAt(row, 3) ?? 0] ?? "pending",
    placement,
    desired: placementAt(row, 5),
    replicas: placementSize(placement),
    m: numberAt(row, 6),
    s: numberAt(row, 7),
    batch: numberAt(row, 8),
    throughput: numberAt(row, 9),
    efficiency: numberAt(row, 10),
    goodput: numberAt(row, 11),
    speedup: numberAt(row, 12),
    noiseScale: numberAt(row, 13),
    progress: numberAt(row, 14),
    total: numberAt(row, 15),
    eta_s: numberAt(row, 16),
    minReplicas: numberAt(row, 17),
    maxReplicas: numberAt(row, 18),
    restarts: numberAt(row, 19) ?? 0,
    failures: numberAt(row, 20) ?? 0,
    generation: numberAt(row, 21) ?? 0,
    submittedAt: numberAt(row, 22),
    startedAt: numberAt(row, 23),
    endedAt: numberAt(row, 24),
    run_s: numberAt(row, 25),
    waitsFor: textAt(row, 26),
    detail: textAt(row, 27),
    application: textAt(row, 28),
    madeAt: numberAt(row, 29),
    cost: numberAt(row, 30),
    pricePerHour: numberAt(row, 31),
    retryAt: numberAt(row, 32),
  };
}

export function placementSize(placement: Placement): number {
  let sum = 0;
  for (let at = 1; at < placement.length; at += 2) sum += placement[at] as number;
  return sum;
}

export function isLive(job: Job): boolean {
  return job.phase === "pending" || job.phase === "running" || job.phase === "cancelling";
}

// Why it does not run as planned, or how it ended.  Rows have no times in sentences, so that of the next try is added here.
export function reasonOf(job: Job, now: number): string | null {
  if (job.waitsFor === null) return isLive(job) ? null : job.detail;
  return known(job.retryAt) ? `${job.waitsFor}; next try at ${time(job.retryAt, now, true)}` : job.waitsFor;
}

// The share of the work that is done, 0 to 1.
export function shareDone(job: Job): number | null {
  if (job.phase === "finished") return 1;
  if (!known(job.progress) || !known(job.total) || !(job.total > 0)) return null;
  return Math.min(1, job.progress / job.total);
}

// When it ends at this goodput, by the daemon's clock.
export function endsAt(job: Job, now: number): number | null {
  return known(job.eta_s) ? (job.madeAt ?? now) + job.eta_s : null;
}

// Seconds until then.
export function etaAt(job: Job, now: number): number | null {
  const end = endsAt(job, now);
  return end === null ? null : Math.max(0, Math.round(end - now));
}

// What its slots have cost until now.
export function costAt(job: Job, now: number): number | null {
  if (!known(job.cost)) return null;
  return job.cost + ((job.pricePerHour ?? 0) / 3600) * Math.max(0, now - (job.madeAt ?? now));
}

// The batch as m × K × (s + 1): micro-batch, replicas, steps per update.
export function batchFactors(job: Job): string {
  if (!known(job.m)) return known(job.batch) ? number(job.batch) : unknown;
  const parts = [job.m, job.replicas || 1];
  if (known(job.s) && job.s > 0) parts.push(job.s + 1);
  return parts.join(" × ");
}
