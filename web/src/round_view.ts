// SPDX-License-Identifier: Apache-2.0
// One round: its numbers, whom it changed, and the nodes before and after it.
import { jobAddress, roundAddress } from "./address.ts";
import { fill, h, mark, say, type Child } from "./dom.ts";
import { count, duration, exactTime, known, number, percent, plural, precise, slotPrice, time } from "./format.ts";
import { placesText } from "./job_types.ts";
import { NodeMap } from "./node_map.ts";
import { get, type Refusal } from "./request.ts";
import { changeKind, colourIndex, gap, nextRound, nodesOf, occupancyOf, size, type RoundChange, type RoundDetails } from "./round.ts";
import type { Changed } from "./state.ts";
import { swatch } from "./swatch.ts";
import { now, type App, type View } from "./view.ts";

const fewNodes = 60; // more: show the nodes that changed only, unless asked
const changesShown = 300;

export class RoundView implements View {
  readonly title: string;
  readonly element = h("div", { class: "round" });
  private readonly head: HTMLElement;
  private readonly when = h("span", { class: "faint" });
  private readonly earlier = h("a", { class: "step" }, "← earlier");
  private readonly later = h("a", { class: "step" }, "later →");
  private readonly body = h("div", { class: "round" });
  private readonly abort = new AbortController();
  private readonly before = new NodeMap();
  private readonly after = new NodeMap();
  private details: RoundDetails | null = null;
  private onlyChanged: boolean;

  constructor(private readonly app: App, private readonly number: number) {
    this.title = `Round ${number}`;
    this.onlyChanged = app.state.nodes.size > fewNodes;
    this.head = h("div", { class: "job-head" }, h("h1", null, `Round ${count(this.number)}`), this.when,
      h("div", { class: "job-actions" }, this.earlier, this.later, h("a", { class: "step", href: "#/rounds" }, "all")));
    fill(this.element, this.head, this.body);
    fill(this.body, h("p", { class: "empty" }, "Reading the round…"));
    void this.fetch();
  }

  // A round does not change, but another one may follow.
  update(changed: Changed): void {
    const { details } = this;
    if (!changed.rounds || !details || details.next !== null) return;
    const next = nextRound(this.app.state.rounds, this.number);
    if (next === undefined) return void this.fetch();
    details.next = next;
    this.showNeighbours();
  }

  reconnected(): void {
    if (!this.details) void this.fetch();
  }

  close(): void {
    this.abort.abort();
    this.before.close();
    this.after.close();
  }

  private async fetch(): Promise<void> {
    try {
      this.details = await get<RoundDetails>(`/v1/rounds/${this.number}`, this.abort.signal);
      this.show(this.details);
    } catch (error) {
      if (this.abort.signal.aborted || this.details) return;
      fill(this.body, h("div", { class: "card" }, h("p", null, (error as Refusal).message), h("p", null, h("a", { href: "#/rounds" }, "All rounds"))));
    }
  }

  private showNeighbours(): void {
    mark(this.earlier, "href", addressOf(this.details?.previous));
    mark(this.later, "href", addressOf(this.details?.next));
  }

  private show(details: RoundDetails): void {
    const facts: [string, string, string | null][] = [
      ["Jobs", count(details.jobs), null],
      ["Changed", count(details.changes?.length ?? details.changed), `${count(details.restarts)} running jobs`],
      ["Slots used", count(details.used_slots), null],
      ["Fitness", number(details.fitness), precise(details.fitness)],
      ["Gap to the bound", percent(gap(details), 2), `bound ${precise(details.bound)}`],
      ["Slot price", slotPrice(details.price), precise(details.price)],
      ["Decided in", duration(details.decide_s), known(details.decide_s) ? `${precise(details.decide_s)} s` : null],
    ];
    say(this.when, `${time(details.at, now(this.app), true)}, policy ${details.policy}${details.fill ? ", filled free slots only" : ""}`);
    mark(this.when, "title", exactTime(details.at));
    this.showNeighbours();
    fill(this.body,
      h("dl", { class: "tiles job-tiles" }, facts.map(([label, value, title]) => h("div", { class: "tile", title }, h("dt", null, label), h("dd", { class: "tile-value" }, value)))),
      this.changes(details), this.picture(details));
  }

  private changes(details: RoundDetails): Child {
    if (!details.changes) return h("p", { class: "notice" }, "The plan of this round was compacted: only its numbers are kept.");
    if (!details.changes.length) return h("section", { class: "card" }, h("p", { class: "soft" }, "This round changed nothing."));
    const shown = details.changes.slice(0, changesShown);
    const row = (change: RoundChange) => {
      const from = size(change.from), to = size(change.to);
      return h("tr", null,
        h("th", { scope: "row" }, swatch(colourIndex(change.job, this.app.state)), h("a", { href: jobAddress(change.job) }, change.job),
          h("div", { class: "narrow small soft" }, `${placesText(change.from) || "–"} → ${placesText(change.to) || "–"}`)),
        h("td", null, changeKind(change)), h("td", { class: "num" }, `${from} → ${to}`),
        h("td", { class: "where wide" }, placesText(change.from) || "–"), h("td", { class: "where wide" }, placesText(change.to) || "–"));
    };
    return h("section", { class: "card", "aria-label": "Changes" }, h("h2", null, plural(details.changes.length, "job changed", "jobs changed")),
      h("div", { class: "scroll changes", tabindex: "0", role: "region", "aria-label": "Table of changes" }, h("table", { class: "compact wide-table" },
        h("thead", null, h("tr", null, ["Job", "", "Replicas", "Before", "After"].map((label, at) => h("th", { scope: "col", class: ["", "", "num", "wide", "wide"][at] }, label || h("span", { class: "hidden-text" }, "Kind"))))),
        h("tbody", null, shown.map(row)))),
      details.changes.length > shown.length && h("p", { class: "small faint" }, `${details.changes.length - shown.length} more are not shown.`));
  }

  private picture(details: RoundDetails): Child {
    if (!details.before || !details.after) return null;
    const all = nodesOf(this.app.state, details);
    const changed = new Set((details.changes ?? []).flatMap((change) => [...Object.keys(change.from), ...Object.keys(change.to)]
      .filter((node) => change.from[node] !== change.to[node])));
    const nodes = [...all.values()].filter((node) => !this.onlyChanged || changed.has(node.name));
    const check = h("input", { type: "checkbox", checked: this.onlyChanged, onchange: () => {
      this.onlyChanged = check.checked;
      if (this.details) this.show(this.details);
    } });
    const marked = this.onlyChanged ? null : changed;
    this.before.set(nodes, occupancyOf(details.before, this.app.state, all), marked);
    this.after.set(nodes, occupancyOf(details.after, this.app.state, all), marked);
    return h("section", { class: "card", "aria-label": "Before and after" },
      h("div", { class: "card-head" }, h("h2", null, "Before and after"), h("p", { class: "small faint" }, "All nodes are drawn as up: rounds do not keep their states."), h("label", { class: "small" }, check, ` Only the ${plural(changed.size, "node")} that changed`)),
      nodes.length
        ? h("div", { class: "before-after" }, h("div", null, h("h3", null, "Before"), this.before.element), h("div", null, h("h3", null, "After"), this.after.element))
        : h("p", { class: "empty" }, "No node changed."));
  }
}

function addressOf(round: number | null | undefined): string | null {
  return known(round) ? roundAddress(round) : null;
}
