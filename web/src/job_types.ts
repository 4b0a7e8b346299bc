// SPDX-License-Identifier: Apache-2.0
// What the API says about one job: GET /v1/jobs/NAME, its explanation and its history (docs/api.md).
import { phases, placementSize, type Job, type Phase } from "./job.ts";
import type { State } from "./state.ts";

export type Places = Record<string, number>; // replicas by node

export interface Batch {
  m: number | null;
  s: number | null;
  total: number | null;
}

export interface JobDetails {
  name: string;
  owner: string | null;
  phase: string;
  waits_for: string | null;
  replicas: number;
  placement: Places;
  min_replicas: number;
  max_replicas: number;
  allowed: unknown;
  types: unknown;
  speeds?: Record<string, number>;
  application: string | null;
  weight: number;
  preemptible: boolean;
  adaptive: boolean;
  launcher: string | null;
  fixed_batch: number | null;
  submitted_at: number | null;
  started_at: number | null;
  ended_at: number | null;
  run_s: number | null;
  cost?: number | null;
  price_per_hour?: number | null;
  generation: number;
  restarts: number;
  failures: number;
  batch: Batch | null;
  throughput: number | null;
  efficiency: number | null;
  goodput: number | null;
  speedup: number | null;
  noise_scale: number | null;
  progress: number | null;
  total: number | null;
  eta_s: number | null;
  detail: string | null;
  command?: unknown;
  environment?: Record<string, string> | null;
  directory?: string | null;
  checkpoint_dir?: string | null;
  stop_signal?: string | number | null;
  grace_s?: number | null;
  max_failures?: number | null;
  backoff_s?: number | null;
  refused_report?: string | null;
  last_lines?: string | string[] | null;
  exit_code?: number | null;
  warning?: string | null;
}

export interface CurvePoint {
  replicas: number;
  goodput: number | null;
  speedup: number | null;
  eta_s: number | null;
  batch: Batch | null;
}

export interface Change {
  possible: boolean;
  why?: string | null;
  replicas?: number | null;
  goodput?: number | null;
  goodput_factor?: number | null;
  eta_s?: number | null;
  batch?: Batch | null;
  free?: number | null;
  others?: { name: string; from: number; to: number; goodput_factor: number | null }[];
  fitness?: number | null;
}

export interface Explanation {
  curve: CurvePoint[];
  current: CurvePoint | null;
  one_more: Change | null;
  one_less: Change | null;
  types: { type: string; known: boolean; predicted: boolean; replicas: number; goodput_factor: number | null }[];
  limits: string[];
  sentences: string[];
}

export interface Generation {
  generation: number;
  started_at: number | null;
  ready_at: number | null;
  ended_at: number | null;
  kind: string | null;
  detail: string | null;
  replicas: number;
  nodes?: number;
  placement: Places; // at most the first 16 nodes
  type: string | null;
}

export interface Measured {
  type: string | null;
  nodes: number;
  replicas: number;
  m: number;
  step_s: number;
  predicted_s: number | null;
}

type Column = (number | null)[];

export interface JobHistory {
  points: {
    at: number[];
    replicas: Column;
    nodes: Column;
    batch: Column;
    rate_factor: Column;
    noise_scale: Column;
    throughput: Column;
    efficiency: Column;
    goodput: Column;
    progress: Column;
    step_s: Column;
  };
  generations: Generation[];
  measured: Measured[];
}

export function placesText(places: Places | null | undefined): string {
  return Object.entries(places ?? {}).map(([node, replicas]) => `${node}:${replicas}`).join(" ");
}

// The job as in /v1/watch, for jobs that ended long ago and are not there.
export function jobOfDetails(details: JobDetails, state: State): Job {
  const indexes = new Map([...state.nodes.values()].map((node) => [node.name, node.index]));
  const placement = Object.entries(details.placement).flatMap(([node, replicas]) => [indexes.get(node) ?? -1, replicas]);
  return {
    index: -1, name: details.name, owner: details.owner,
    phase: (phases as readonly string[]).includes(details.phase) ? (details.phase as Phase) : "pending",
    placement, desired: null, replicas: placementSize(placement),
    m: details.batch?.m ?? null, s: details.batch?.s ?? null, batch: details.batch?.total ?? null,
    throughput: details.throughput, efficiency: details.efficiency, goodput: details.goodput, speedup: details.speedup,
    noiseScale: details.noise_scale, progress: details.progress, total: details.total, eta_s: details.eta_s,
    minReplicas: details.min_replicas, maxReplicas: details.max_replicas,
    restarts: details.restarts, failures: details.failures, generation: details.generation,
    submittedAt: details.submitted_at, startedAt: details.started_at, endedAt: details.ended_at, run_s: details.run_s,
    waitsFor: details.waits_for, detail: details.detail, application: details.application, madeAt: null,
    cost: details.cost ?? null, pricePerHour: details.price_per_hour ?? null,
    retryAt: null, // the sentence has it
  };
}
