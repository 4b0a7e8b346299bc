// SPDX-License-Identifier: Apache-2.0
// Groups of nodes as /v1/watch sends them, and what the page says about them.
import { count, duration, known, plural } from "./format.ts";

export interface Group {
  name: string;
  type: string | null;
  gpus_per_node: number;
  min: number;
  max: number;
  price_per_node_hour: number;
  revocable: boolean;
  retired: boolean;
  size: number; // nodes that are ordered or up
  wanted: number;
  states: Record<string, number>;
  price_per_hour: number;
  retry_at: number | null;
}

export interface Groups {
  goal: string;
  utility: number | null;
  changing: boolean;
  priced: boolean;
  reason: string | null;
  resized_at: number | null;
  price_per_hour: number;
  cost: number; // at now_at
  boots: number;
  now_at: number;
  groups: Group[];
}

// What all nodes have cost until now.
export function groupsCost(groups: Groups, now: number): number {
  return groups.cost + (groups.price_per_hour / 3600) * Math.max(0, now - groups.now_at);
}

// "2 of 3 wanted" while nodes come or go, else "3".
export function sizeText(group: Group): string {
  const up = group.states["up"] ?? 0;
  return up === group.wanted ? count(up) : `${count(up)} of ${count(group.wanted)} wanted`;
}

// "2 up, 1 failed; orders again in 40 s"
export function statesText(group: Group, now: number): string {
  const states = Object.entries(group.states).filter(([state, number]) => state !== "off" && number > 0);
  const text = states.map(([state, number]) => `${count(number)} ${state}`).join(", ") || "all off";
  const notes = [
    known(group.retry_at) && group.retry_at > now && `orders again in ${duration(Math.round(group.retry_at - now))}`,
    group.retired && "not configured any more",
  ].filter(Boolean);
  return [text, ...notes].join("; ");
}

// What a node of it has: "4 × a100, revocable"
export function slotsText(group: Group): string {
  return [group.type ? `${count(group.gpus_per_node)} × ${group.type}` : plural(group.gpus_per_node, "slot"), group.revocable && "revocable"].filter(Boolean).join(", ");
}
