// SPDX-License-Identifier: Apache-2.0
// What the page knows about the cluster: the snapshot of /v1/watch with all changes since.
import type { Groups } from "./groups.ts";
import { decodeJob, isLive, type Job } from "./job.ts";

export interface Node {
  index: number;
  name: string;
  type: string | null;
  slots: number;
  condition: Condition;
  deadline?: number | null; // of a node of a group: when it must have come, is taken away, or may be ordered again
}

// "up": it takes replicas.  From "off" on, nodes of groups only.
export type Condition = "up" | "drained" | "gone" | "off" | "starting" | "draining" | "stopping" | "failed";

export interface Status {
  version?: string;
  policy?: string;
  p?: number | null;
  interval_s?: number;
  backend?: string;
  now_at?: number;
  next_round_at?: number | null;
  nodes?: number;
  slots?: number;
  used_slots?: number;
  goodput?: number | null;
  jobs?: Record<string, number>;
}

export interface Round {
  round: number | null;
  at: number | null;
  policy: string;
  fill: boolean | null;
  fitness: number | null;
  bound: number | null;
  price: number | null;
  decide_s: number | null;
  jobs?: number;
  restarts?: number;
  changed?: number | null;
  text?: string | null; // what it changed
  used_slots?: number;
}

export interface LastChanges {
  round: number;
  at: number;
  text: string;
}

export interface Playback {
  from_at: number;
  until_at: number;
  at: number;
  speed: number;
  playing: boolean;
  ended: boolean;
  name: string;
  history_until_at: number | null;
}

export interface You {
  name: string;
  role: string;
}

// A message of /v1/watch: a snapshot has all parts, a change only those that changed.
export interface Update {
  number: number;
  mark?: string;
  at: number;
  status?: Status;
  groups?: Groups;
  nodes?: unknown[][];
  jobs?: unknown[][];
  omitted?: number;
  rounds?: Round[];
  changes?: LastChanges | null;
  playback?: Playback | null;
  you?: You;
}

// Which parts a message has changed.
export interface Changed {
  snapshot: boolean;
  status: boolean;
  groups: boolean;
  nodes: boolean;
  jobs: boolean;
  rounds: boolean;
  changes: boolean;
  playback: boolean;
}

export const allChanged: Changed = {
  snapshot: true, status: true, groups: true, nodes: true, jobs: true, rounds: true, changes: true, playback: true,
};

const maxRounds = 100;
const maxJobs = 5000, spareJobs = 500; // polluxd sends as many; those that end later come on top
const conditions = ["up", "drained", "gone"] as const;
const powers: (Condition | null)[] = [null, "off", "starting", null, "draining", "stopping", "failed"]; // null: as without a group

export class State {
  ready = false;
  number = 0;
  at = 0; // the daemon's clock at the last message
  private receivedAt = 0; // this computer's clock then, in seconds
  status: Status = {};
  groups: Groups | null = null;
  nodes = new Map<number, Node>();
  jobs = new Map<number, Job>();
  byName = new Map<string, Job>();
  omitted = 0;
  rounds: Round[] = [];
  changes: LastChanges | null = null;
  playback: Playback | null = null;
  you: You = { name: "", role: "" };

  // Take a message that arrived at `receivedAt`, by this computer's clock in seconds.
  apply(kind: string, update: Update, receivedAt: number): Changed {
    const snapshot = kind === "snapshot";
    if (snapshot) {
      this.nodes.clear();
      this.jobs.clear();
      this.byName.clear();
      this.rounds = [];
      this.changes = null;
      this.playback = null;
      this.ready = true;
    }
    this.number = update.number;
    this.at = update.at;
    this.receivedAt = receivedAt;
    if (update.status) this.status = update.status;
    if (update.groups) this.groups = update.groups;
    for (const row of update.nodes ?? []) this.takeNode(row);
    for (const row of update.jobs ?? []) this.takeJob(row);
    if (this.jobs.size > maxJobs + spareJobs) this.dropEnded();
    if (update.omitted !== undefined) this.omitted = update.omitted;
    if (update.rounds) this.takeRounds(update.rounds);
    if (update.changes !== undefined) this.changes = update.changes;
    if (update.playback !== undefined) this.playback = update.playback;
    if (update.you) this.you = update.you;
    return {
      snapshot,
      status: snapshot || update.status !== undefined,
      groups: snapshot || update.groups !== undefined,
      nodes: snapshot || update.nodes !== undefined,
      jobs: snapshot || update.jobs !== undefined,
      rounds: snapshot || update.rounds !== undefined,
      changes: snapshot || update.changes !== undefined,
      playback: snapshot || update.playback !== undefined,
    };
  }

  // The daemon's clock now.  In a recorded run, time is where the playback is.
  now(clock: number): number {
    return this.playback ? this.at : this.at + Math.max(0, clock - this.receivedAt);
  }

  // Seconds since the last message.
  age(clock: number): number {
    return Math.max(0, clock - this.receivedAt);
  }

  // For each node the jobs on it with their replicas.
  occupancy(): Map<number, [Job, number][]> {
    const result = new Map<number, [Job, number][]>();
    for (const job of this.jobs.values()) {
      if (!isLive(job)) continue;
      for (let at = 0; at + 1 < job.placement.length; at += 2) {
        const node = job.placement[at] as number;
        const list = result.get(node);
        const entry: [Job, number] = [job, job.placement[at + 1] as number];
        if (list) list.push(entry);
        else result.set(node, [entry]);
      }
    }
    return result;
  }

  nodeName(index: number): string {
    return this.nodes.get(index)?.name ?? `node ${index}`;
  }

  // A placement as text: n0:4 n3:2
  placementText(placement: readonly number[]): string {
    const parts: string[] = [];
    for (let at = 0; at + 1 < placement.length; at += 2) parts.push(`${this.nodeName(placement[at] as number)}:${placement[at + 1]}`);
    return parts.join(" ");
  }

  // The price of a slot in the last round that has one.
  price(): number | null {
    return this.rounds.find((round) => round.price !== null && !round.fill)?.price ?? null;
  }

  private takeNode(row: unknown[]): void {
    const [index, name, type, slots, condition] = row as [number, string, string | null, number, number];
    const power = typeof row[6] === "number" ? (powers[row[6]] ?? null) : null;
    const deadline = typeof row[8] === "number" ? row[8] : null;
    this.nodes.set(index, { index, name, type, slots, condition: power ?? conditions[condition] ?? "up", deadline });
  }

  // The nodes that exist, or should.
  shownNodes(): Node[] {
    return [...this.nodes.values()].filter((node) => node.condition !== "off");
  }

  // There are prices, or were.
  priced(): boolean {
    return this.groups?.priced === true;
  }

  private takeJob(row: unknown[]): void {
    const job = decodeJob(row);
    const former = this.jobs.get(job.index);
    if (former && former.name !== job.name) this.byName.delete(former.name);
    this.jobs.set(job.index, job);
    this.byName.set(job.name, job);
  }

  // A page that stays open for weeks forgets the jobs that ended first.
  private dropEnded(): void {
    const ended = [...this.jobs.values()].filter((job) => !isLive(job)).sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
    for (const job of ended.slice(0, this.jobs.size - maxJobs)) {
      this.jobs.delete(job.index);
      this.byName.delete(job.name);
      this.omitted++;
    }
  }

  private takeRounds(rounds: Round[]): void {
    const seen = new Set(rounds.map((round) => round.round));
    this.rounds = [...rounds, ...this.rounds.filter((round) => !seen.has(round.round))].slice(0, maxRounds);
  }
}
