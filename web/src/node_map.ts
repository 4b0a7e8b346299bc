// SPDX-License-Identifier: Apache-2.0
// The nodes with their slots, coloured by job.  Each node is one link to its jobs; its slots are one painted background, so that
// 1,000 nodes of 8 slots are 1,000 elements.  One node is in the tab order, arrow keys move to the others.
import { formatAddress, jobAddress } from "./address.ts";
import { jobColour } from "./colours.ts";
import { fill, h, mark } from "./dom.ts";
import { count, known, plural, time } from "./format.ts";
import type { Node } from "./state.ts";
import { isDark, onTheme } from "./theme.ts";
import { swatch } from "./swatch.ts";
import { hideTip, showTip } from "./tip.ts";

export interface Share {
  index: number; // of the job: its colour
  name: string;
  replicas: number;
  text?: string; // more about the job, for the tip
}

export type Occupancy = Map<number, Share[]>; // by the node's index

interface Cell {
  node: Node;
  shares: Share[];
  element: HTMLAnchorElement;
  slots: HTMLElement;
  name: HTMLElement;
  list: HTMLElement;
  slot: number; // its width in pixels
  painted: string;
}

const noType = "nodes";
const upTo = { large: 16, medium: 80, dense: 250 }; // nodes; above: small, without names
const width = { large: 24, medium: 16, dense: 11, small: 6 }; // of a slot, in pixels
const widest = 240; // of a node

type Size = keyof typeof width;

export class NodeMap {
  readonly element = h("div", { class: "map" });
  private cells = new Map<number, Cell>();
  private order: Cell[] = [];
  private shape = "";
  private size: Size = "large";
  private heads = new Map<string, HTMLElement>();
  private lit: string | null = null;
  private readonly endTheme: () => void;

  constructor(private readonly options: { headings?: boolean } = {}) {
    const { element } = this;
    element.addEventListener("pointermove", (event) => this.point(event));
    element.addEventListener("pointerleave", () => this.leave());
    element.addEventListener("click", (event) => this.open(event));
    element.addEventListener("keydown", (event) => this.move(event));
    element.addEventListener("focusin", (event) => this.focus(event));
    element.addEventListener("focusout", () => this.leave());
    this.endTheme = onTheme(() => this.paintAll());
  }

  close(): void {
    this.endTheme();
    hideTip();
  }

  // Show these nodes.  Only nodes that differ from before are painted.  `marked`: names of nodes to underline.
  set(nodes: Node[], occupancy: Occupancy, marked: Set<string> | null = null): void {
    const shape = nodes.map((node) => `${node.index} ${node.type} ${node.slots} ${node.condition} ${node.deadline ?? ""}`).join();
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(nodes);
    }
    for (const cell of this.order) {
      cell.shares = occupancy.get(cell.node.index) ?? [];
      cell.element.classList.toggle("marked", marked?.has(cell.node.name) === true);
      this.paint(cell, false);
    }
    for (const [type, head] of this.heads) this.count(type, head);
  }

  private build(nodes: Node[]): void {
    const fits = (size: keyof typeof upTo) => nodes.length <= upTo[size];
    this.size = fits("large") ? "large" : fits("medium") ? "medium" : fits("dense") ? "dense" : "small";
    this.cells.clear();
    this.order = [];
    this.heads.clear();
    const groups = new Map<string, Node[]>();
    for (const node of nodes) {
      const type = node.type ?? noType;
      const group = groups.get(type);
      if (group) group.push(node);
      else groups.set(type, [node]);
    }
    this.element.dataset["size"] = this.size;
    fill(this.element, [...groups].map(([type, members]) => {
      const head = h("p", { class: "map-head" });
      this.heads.set(type, head);
      const shown = Math.max(1, ...members.map((node) => node.slots));
      const slot = this.slotWidth(shown);
      const cells = h("div", { class: "map-nodes" }, members.map((node) => this.cell(node, node.slots || shown, slot).element));
      cells.style.setProperty("--node", `${shown * (slot + 1) - 1}px`);
      return h("div", { class: "map-group", role: "group", "aria-label": type === noType ? "Nodes" : `Nodes of type ${type}` },
        this.options.headings !== false && head,
        cells);
    }));
    this.order[0]?.element.setAttribute("tabindex", "0");
  }

  private slotWidth(slots: number): number {
    return Math.max(2, Math.min(width[this.size], Math.floor(widest / slots) - 1));
  }

  private cell(node: Node, shown: number, slot: number): Cell {
    const slots = h("span", { class: "slots" });
    const name = h("span", { class: "node-name" });
    const list = h("span", { class: "node-jobs" });
    slots.style.setProperty("--w", `${slot}px`);
    slots.style.setProperty("--n", String(shown));
    const element = h("a", {
      class: `node ${node.condition}`, tabindex: "-1", href: formatAddress(["jobs"], { phase: "live", node: node.name }),
    }, name, slots, list);
    name.append(node.name);
    if (node.condition !== "up") name.append(h("em", null, node.condition));
    const cell: Cell = { node, shares: [], element, slots, name, list, slot, painted: "" };
    this.cells.set(node.index, cell);
    this.order.push(cell);
    return cell;
  }

  private paintAll(): void {
    for (const cell of this.order) this.paint(cell, true);
  }

  private paint(cell: Cell, always: boolean): void {
    const key = cell.shares.map((share) => `${share.index}:${share.replicas}:${share.name}`).join();
    if (key === cell.painted && !always && cell.element.hasAttribute("aria-label")) return;
    cell.painted = key;
    cell.slots.style.setProperty("--jobs", gradient(cell.shares, cell.slot, isDark()));
    cell.element.setAttribute("aria-label", label(cell));
    if (this.size === "large")
      fill(cell.list, cell.shares.slice(0, 6).map((share) => {
        return h("span", { class: "node-job" }, swatch(share.index), h("span", { class: "clip" }, share.name), h("b", null, share.replicas));
      }), cell.shares.length > 6 && h("span", null, `${cell.shares.length - 6} more`),
      !cell.shares.length && h("span", { class: "faint" }, cell.node.condition === "up" ? "idle" : cell.node.condition));
  }

  // "a100: 250 nodes, 1,890 of 2,000 slots used, 2 drained, 1 starting"
  private count(type: string, head: HTMLElement): void {
    let nodes = 0, slots = 0, used = 0;
    const others = new Map<string, number>();
    for (const { node, shares } of this.order) {
      if ((node.type ?? noType) !== type) continue;
      nodes++;
      slots += node.slots; // of drained ones, too: their jobs may still run
      if (node.condition !== "up") others.set(node.condition, (others.get(node.condition) ?? 0) + 1);
      for (const share of shares) used += share.replicas;
    }
    const text = [plural(nodes, "node"), `${count(used)} of ${plural(slots, "slot")} used`,
      ...[...others].map(([condition, number]) => `${count(number)} ${condition}`)].join(" · ");
    const named = type !== noType;
    if (head.dataset["text"] === text) return;
    head.dataset["text"] = text;
    fill(head, named && h("b", null, type), h("span", null, text));
  }

  private cellOf(target: EventTarget | null): Cell | null {
    const element = target instanceof Element ? target.closest<HTMLElement>(".node") : null;
    return element ? (this.order.find((cell) => cell.element === element) ?? null) : null;
  }

  // The job whose slot is under the pointer.
  private shareAt(cell: Cell, event: MouseEvent): Share | null {
    const box = cell.slots.getBoundingClientRect();
    if (event.clientY < box.top - 2 || event.clientY > box.bottom + 2) return null;
    let slot = Math.floor(((event.clientX - box.left) / box.width) * (cell.node.slots || 1));
    if (slot < 0) return null;
    for (const share of cell.shares) {
      if (slot < share.replicas) return share;
      slot -= share.replicas;
    }
    return null;
  }

  private point(event: PointerEvent): void {
    const cell = this.cellOf(event.target);
    if (!cell) return this.leave();
    const share = this.shareAt(cell, event);
    this.light(share?.name ?? null);
    showTip(event.clientX, event.clientY, this.tip(cell, share));
  }

  private tip(cell: Cell, share: Share | null) {
    const { node } = cell;
    return [
      h("b", null, node.name), ` ${[node.type, node.condition === "up" ? null : node.condition].filter(Boolean).join(", ")}`,
      share
        ? h("div", null, swatch(share.index), share.name, h("div", { class: "faint" }, `${plural(share.replicas, "slot")} here`, share.text && `; ${share.text}`))
        : h("div", null, cell.shares.map((each) => h("div", null, swatch(each.index), `${each.name} ${each.replicas}`)),
          h("div", { class: "faint" }, idleText(cell))),
    ];
  }

  private leave(): void {
    hideTip();
    this.light(null);
  }

  // Outline the nodes of a job.
  private light(name: string | null): void {
    if (name === this.lit) return;
    this.lit = name;
    for (const cell of this.order) cell.element.classList.toggle("lit", name !== null && cell.shares.some((share) => share.name === name));
  }

  private open(event: MouseEvent): void {
    const cell = this.cellOf(event.target);
    if (!cell || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    const share = event.detail > 0 ? this.shareAt(cell, event) : null; // detail 0: Enter key
    if (!share) return;
    event.preventDefault();
    location.hash = jobAddress(share.name);
  }

  private focus(event: FocusEvent): void {
    const cell = this.cellOf(event.target);
    if (!cell) return;
    for (const other of this.order) mark(other.element, "tabindex", other === cell ? "0" : "-1");
    if (!cell.element.matches(":focus-visible")) return;
    const box = cell.element.getBoundingClientRect();
    showTip(box.left, box.bottom - 8, this.tip(cell, null));
  }

  private move(event: KeyboardEvent): void {
    const cell = this.cellOf(event.target);
    if (!cell) return;
    const at = this.order.indexOf(cell);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.order.length - 1, ArrowDown: this.below(cell, 1), ArrowUp: this.below(cell, -1) }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.order[Math.max(0, Math.min(this.order.length - 1, next))]?.element.focus();
  }

  // The nearest node of the next row.
  private below(from: Cell, direction: 1 | -1): number {
    const start = from.element.getBoundingClientRect();
    let best = this.order.indexOf(from), distance = Infinity, row: number | null = null;
    for (let at = best + direction; at >= 0 && at < this.order.length; at += direction) {
      const box = (this.order[at] as Cell).element.getBoundingClientRect();
      if ((box.top - start.top) * direction <= 2) continue;
      row ??= box.top;
      if (Math.abs(box.top - row) > 2) break;
      if (Math.abs(box.left - start.left) < distance) {
        distance = Math.abs(box.left - start.left);
        best = at;
      }
    }
    return best;
  }
}

function idle(cell: Cell): number {
  return Math.max(0, cell.node.slots - cell.shares.reduce((sum, share) => sum + share.replicas, 0));
}

function idleText(cell: Cell): string {
  if (cell.node.condition === "gone") return "gone: no slots";
  const free = idle(cell);
  if (cell.node.condition === "drained") return free ? `${free} drained` : "drained";
  if (cell.node.condition !== "up") return conditionText(cell.node);
  return free ? `${free} idle` : "";
}

// "draining, leaves at 12:03:05"
function conditionText(node: Node): string {
  const words: Partial<Record<Node["condition"], string>> = { starting: "must come until", draining: "leaves at", failed: "ordered again after" };
  const until = words[node.condition];
  return until && known(node.deadline) ? `${node.condition}, ${until} ${time(node.deadline, Date.now() / 1000, true)}` : node.condition;
}

function label(cell: Cell): string {
  const { node, shares } = cell;
  const parts = shares.map((share) => `${share.name} ${share.replicas}`);
  const rest = idleText(cell);
  if (rest) parts.push(rest);
  return `${node.name}${node.type ? `, ${node.type}` : ""}, ${plural(node.slots, "slot")}: ${parts.join(", ")}`;
}

// The slots of the jobs from left to right; idle slots stay transparent.  A slot is `slot` pixels wide with a gap of 1 pixel,
// which page.css draws over it.
export function gradient(shares: Share[], slot: number, dark: boolean): string {
  if (!shares.length) return "none";
  let end = 0;
  const stops = shares.map((share) => {
    end += share.replicas * (slot + 1);
    return `${jobColour(share.index, dark)} 0 ${end}px`; // 0: where the last one ends
  });
  return `linear-gradient(90deg, ${stops.join(", ")}, transparent 0)`;
}
