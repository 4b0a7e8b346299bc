// SPDX-License-Identifier: Apache-2.0
// One round with its plan: GET /v1/rounds/NUMBER.
import type { Occupancy } from "./node_map.ts";
import type { Places } from "./job_types.ts";
import type { Node, Round, State } from "./state.ts";

export interface RoundChange {
  job: string;
  from: Places;
  to: Places;
}

export interface RoundDetails extends Round {
  changes: RoundChange[] | null;
  before: Record<string, Places> | null;
  after: Record<string, Places> | null;
  previous: number | null; // the rounds before and after
  next: number | null;
}

// The round after this one, if the newest rounds say it; undefined: they are all later, so one between may be missing.
export function nextRound(rounds: readonly Round[], number: number): number | null | undefined {
  const later = rounds.flatMap((round) => (round.round !== null && round.round > number ? [round.round] : []));
  if (later.length && later.length === rounds.length) return undefined;
  return later.length ? Math.min(...later) : null;
}

// How much better a plan could be at most: 1 - fitness / bound.
export function gap(round: Round): number | null {
  const { fitness, bound } = round;
  return fitness !== null && bound !== null && bound !== 0 ? 1 - fitness / bound : null;
}

// What a round changed, as polluxd says it.
export function changesText(text: string): string {
  return text.replaceAll("->", "→");
}

export function size(places: Places): number {
  return Object.values(places).reduce((sum, replicas) => sum + replicas, 0);
}

// What a change is, in a word.
export function changeKind(change: RoundChange): "starts" | "stops" | "grows" | "shrinks" | "moves" {
  const from = size(change.from), to = size(change.to);
  if (!from) return "starts";
  if (!to) return "stops";
  return to > from ? "grows" : to < from ? "shrinks" : "moves";
}

// Placements by job as jobs by node.  Jobs that the page no longer knows get a colour by their name.
export function occupancyOf(placements: Record<string, Places>, state: State, nodes: Map<string, Node>): Occupancy {
  const result: Occupancy = new Map();
  for (const [name, places] of Object.entries(placements))
    for (const [nodeName, replicas] of Object.entries(places)) {
      const node = nodes.get(nodeName);
      if (!node) continue;
      const share = { index: colourIndex(name, state), name, replicas };
      const list = result.get(node.index);
      if (list) list.push(share);
      else result.set(node.index, [share]);
    }
  return result;
}

export function colourIndex(name: string, state: State): number {
  const job = state.byName.get(name);
  if (job) return job.index;
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
  return hash % 997;
}

// The nodes of a round: those of now, and those that are in its plan but are off now or no longer known.  What state they were in is not
// known, so all are up.
export function nodesOf(state: State, details: RoundDetails): Map<string, Node> {
  const needed = new Map<string, number>();
  for (const plan of [details.before, details.after]) {
    const used = new Map<string, number>();
    for (const places of Object.values(plan ?? {}))
      for (const [node, replicas] of Object.entries(places)) used.set(node, (used.get(node) ?? 0) + replicas);
    for (const [node, slots] of used) needed.set(node, Math.max(slots, needed.get(node) ?? 0));
  }
  const nodes = new Map([...state.nodes.values()].filter((node) => node.condition !== "off" || needed.has(node.name))
    .map((node): [string, Node] => [node.name, { ...node, condition: "up", deadline: null }]));
  let next = Math.max(-1, ...state.nodes.keys()) + 1;
  for (const [name, slots] of needed) {
    const node = nodes.get(name);
    // A node that is gone had its slots at the time of the round.
    if (!node) nodes.set(name, { index: next++, name, type: null, slots, condition: "up" });
    else if (node.slots < slots) nodes.set(name, { ...node, slots });
  }
  return nodes;
}
