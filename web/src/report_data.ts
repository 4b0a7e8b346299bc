// SPDX-License-Identifier: Apache-2.0
// What a report shows, as `pollux report` writes it (docs/formats.md), and what follows from it: labels, distributions,
// values over time, sentences.  Pure functions.
import { duration, known, plural, type Maybe } from "./format.ts";

export interface Numbers {
  mean_jct: number | null;
  median_jct: number | null;
  p99_jct: number | null;
  makespan: number | null;
  slot_hours_per_job: number | null;
  restarts_per_job: number | null;
  utilisation: number | null;
  worst_rho: number | null;
  unfair: number | null;
  jobs: number;
  finished: number;
  failed: number;
  cancelled: number;
  live: number;
  rounds: number;
}

// Columns of equal length.  Only name, jct and rho are known of a RESULT.json.
export interface Jobs {
  name: string[];
  jct: (number | null)[];
  rho: (number | null)[] | null;
  application?: (string | null)[];
  submit?: number[];
  end?: (number | null)[];
  phase?: number[];
  restarts?: number[];
  changes?: number[][]; // seconds since the submission, replicas, ...
}

// Means over equal parts of the time.
export interface Usage {
  from: number;
  step: number;
  slots: number[];
  used: number[];
  running: number[];
  waiting: number[];
}

export interface Outcome {
  source: string;
  policy: string | null;
  several_policies: boolean;
  workload: string | null;
  command: string | null;
  made_at: number | null;
  has_events: boolean;
  compacted: boolean;
  thinned: number; // jobs of whose many changes not all are here
  from: number | null;
  until: number | null;
  numbers: Numbers;
  jobs: Jobs;
  usage: Usage | null;
}

export interface Report {
  version: number;
  software: string;
  command: string | null;
  made_at: number | null;
  outcomes: Outcome[];
}

// Phases of jobs that have ended.
export const finished = 3, failed = 4, cancelled = 5;

// ---- Groups and labels

export interface Shown {
  outcome: Outcome;
  label: string;
  place: number; // in the list, for its colour
}

export function workloads(outcomes: Outcome[]): string[] {
  return [...new Set(outcomes.map((outcome) => outcome.workload ?? ""))];
}

export const policyOf = (outcome: Outcome) => outcome.policy ?? "no rounds";

// null: a value is unknown, or there is none.
export function mean(values: Maybe[]): number | null {
  return values.length && values.every(known) ? (values as number[]).reduce((a, b) => a + b, 0) / values.length : null;
}

// The mean JCT of a policy and workload, over all journals that have both.
export function meanJct(outcomes: Outcome[], workload: string, policy: string): { mean: number | null; journals: number } {
  const chosen = outcomes.filter((outcome) => (outcome.workload ?? "") === workload && policyOf(outcome) === policy);
  return { mean: mean(chosen.map((outcome) => outcome.numbers.mean_jct)), journals: chosen.length };
}

// The outcomes of one workload.  Labels differ: the policy, and the file if the policy is there twice.
export function shownOf(outcomes: Outcome[], workload: string): Shown[] {
  const chosen = outcomes.filter((outcome) => (outcome.workload ?? "") === workload);
  return chosen.map((outcome, place) => {
    const name = policyOf(outcome);
    const twice = chosen.filter((other) => other.policy === outcome.policy).length > 1;
    return { outcome, label: twice ? `${name} (${outcome.source || `number ${place + 1}`})` : name, place };
  });
}

// ---- Distributions

// Points for a logarithmic axis around all positive values.
export function logGrid(lists: (number | null)[][], points: number): number[] {
  let low = Infinity, high = 0;
  for (const list of lists)
    for (const value of list)
      if (known(value) && value > 0) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
  if (!(high > 0)) return [];
  // A little more on both sides, so that distributions begin at 0 and end at 1.
  const more = Math.max(1.03, (high / low) ** 0.02);
  low /= more;
  high *= more;
  const first = Math.log10(low), last = Math.log10(high);
  return Array.from({ length: points }, (_, i) => 10 ** (first + ((last - first) * i) / (points - 1)));
}

// The share of known values up to each point, which ascend.
export function shares(list: (number | null)[], points: number[]): number[] {
  const sorted = list.filter(known).sort((a, b) => a - b);
  let below = 0;
  return points.map((point) => {
    while (below < sorted.length && (sorted[below] as number) <= point * (1 + 1e-12)) below++;
    return sorted.length ? below / sorted.length : 0;
  });
}

// ---- Over time

// One time axis for all: absolute if all are of real clusters, else since the start of each.
export function timeOrigin(outcomes: Outcome[]): (outcome: Outcome) => number {
  const real = outcomes.every((outcome) => outcome.from === null || outcome.from >= 1e8);
  return real ? () => 0 : (outcome) => outcome.from ?? 0;
}

export function timeSpan(outcomes: Outcome[]): [number, number] | null {
  const origin = timeOrigin(outcomes);
  let from = Infinity, until = -Infinity;
  for (const outcome of outcomes)
    if (outcome.from !== null && outcome.until !== null) {
      from = Math.min(from, outcome.from - origin(outcome));
      until = Math.max(until, outcome.until - origin(outcome));
    }
  return from < until ? [from, until] : null;
}

// A column of the usage at points of the common axis, on which the outcome's clock begins at its origin; null before and after it.
export function sampled(outcome: Outcome, origin: number, points: number[], value: (usage: Usage, i: number) => number): (number | null)[] {
  const usage = outcome.usage;
  if (!usage) return points.map(() => null);
  const from = usage.from - origin, count = usage.used.length;
  return points.map((at) => {
    const i = Math.floor((at - from) / usage.step);
    return i < 0 || i >= count ? null : value(usage, i);
  });
}

export function evenly(from: number, until: number, points: number): number[] {
  return Array.from({ length: points }, (_, i) => from + ((until - from) * i) / (points - 1));
}

// 1, 2, 4, ... up to the most.
export function legendSteps(most: number): number[] {
  const steps: number[] = [];
  for (let step = 1; step < most; step *= 2) steps.push(step);
  return [...steps, most];
}

// Steps of a time axis that leave room for labels.
const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
export function ticks(from: number, until: number, most: number): number[] {
  const step = steps.find((each) => (until - from) / each <= most) ?? (until - from) / most;
  const list: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= until; at += step) list.push(at);
  return list;
}

// ---- Sentences

// What the reader wants to know first.
export function headline(shown: Shown[]): string {
  const ranked = shown.filter((one) => known(one.outcome.numbers.mean_jct))
    .sort((a, b) => (a.outcome.numbers.mean_jct as number) - (b.outcome.numbers.mean_jct as number));
  const best = ranked[0], second = ranked[1], worst = ranked[ranked.length - 1];
  if (!best || !worst) return "No job has finished.";
  const text = `${best.label} completes the average job in ${duration(best.outcome.numbers.mean_jct)}`;
  if (!second) return `${text}.`;
  const less = (other: Shown) => {
    const share = 1 - (best.outcome.numbers.mean_jct as number) / (other.outcome.numbers.mean_jct as number);
    return share < 0.0005 ? `as fast as ${other.label}` : `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} % less than ${other.label}`;
  };
  return `${text}: ${less(second)}${worst === second ? "" : `, ${less(worst)}`}.`;
}

export function subtitle(shown: Shown[]): string {
  const first = shown[0]?.outcome;
  if (!first) return "";
  const slots = Math.max(0, ...shown.map((one) => Math.max(0, ...(one.outcome.usage?.slots ?? []))));
  return [
    shown.length > 1 ? plural(shown.length, "policy", "policies") : null,
    plural(first.numbers.jobs, "job"),
    slots > 0 ? plural(Math.round(slots), "slot") : null,
    first.workload ? `workload ${first.workload}` : null,
  ].filter((part) => part !== null).join(" · ");
}

// What the report cannot show of an outcome, and why.
export function missing(outcome: Outcome): string[] {
  const sentences: string[] = [];
  if (!outcome.has_events)
    sentences.push("A result of pollux sim --json has completion times and numbers only: no timelines, no usage over time, " +
      "no fairness of single jobs. Record the simulation (pollux sim --record DIR) for these.");
  else if (!outcome.jobs.rho)
    sentences.push(outcome.command === null
      ? "Fairness (rho) is not known: only pollux sim can tell how fast a job would have been alone, and it writes that into the journals that it records to their end."
      : "Fairness (rho) is not in the journal: it has too many jobs.");
  if (outcome.compacted)
    sentences.push("The journal begins with a snapshot: timelines and usage begin there. Completion times of jobs that ended before are known.");
  if (outcome.thinned > 0)
    sentences.push(`${plural(outcome.thinned, "job")} changed so often that the timeline shows only a part of the changes.`);
  if (outcome.several_policies) sentences.push("Several policies decided; the last one is named.");
  const { failed: failures, cancelled: cancels, live } = outcome.numbers;
  const others = [failures ? `${failures} failed` : "", cancels ? `${cancels} cancelled` : "", live ? `${live} not ended` : ""].filter(Boolean);
  if (others.length) sentences.push(`Completion times are those of finished jobs; others: ${others.join(", ")}.`);
  if (outcome.has_events) sentences.push("Times that decisions took are not in a journal.");
  return sentences;
}
