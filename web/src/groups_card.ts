// SPDX-License-Identifier: Apache-2.0
// The groups of nodes: what their size aims at, how many nodes they have, what they cost, and why the size changed last.
import { h, refill, say } from "./dom.ts";
import { count, exactTime, money, number, time } from "./format.ts";
import { groupsCost, sizeText, slotsText, statesText, type Groups } from "./groups.ts";

export class GroupsCard {
  private readonly numbers = h("p", { class: "small soft" });
  private readonly reason = h("p", { class: "small" });
  private readonly table = h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Groups of nodes" });
  readonly element = h("section", { class: "card groups-card", "aria-label": "Groups", hidden: true },
    h("div", { class: "card-head" }, h("h2", null, "Groups"), this.numbers), this.reason, this.table);

  show(groups: Groups | null, now: number): void {
    this.element.hidden = !groups?.groups.length;
    if (!groups?.groups.length) return;
    say(this.numbers, numbersText(groups, now));
    this.showReason(groups, now);
    this.showTable(groups, now);
  }

  private showReason(groups: Groups, now: number): void {
    refill(this.reason, `${groups.resized_at} ${groups.reason}`, () => groups.reason
      ? [groups.reason.replaceAll("->", "→"), h("span", { class: "faint", title: exactTime(groups.resized_at) }, ` at ${time(groups.resized_at, now, true)}`)]
      : h("span", { class: "faint" }, "The size has not changed yet."));
  }

  private showTable(groups: Groups, now: number): void {
    const rows = groups.groups.map((group) => [
      group.name, slotsText(group), sizeText(group), `${count(group.min)} to ${count(group.max)}`, statesText(group, now),
      ...(groups.priced ? [money(group.price_per_node_hour), money(group.price_per_hour)] : []),
    ]);
    const heads = ["Group", "A node has", "Nodes up", "Limits", "States", ...(groups.priced ? ["Price of a node", "Per hour now"] : [])];
    const kind = (column: number) => `${column >= 5 ? "num" : ""}${[1, 3, 5].includes(column) ? " wide" : ""}`; // wide: not on a narrow page
    refill(this.table, JSON.stringify(rows), () => h("table", { class: "groups-table" },
      h("thead", null, h("tr", null, heads.map((head, column) => h("th", { scope: "col", class: kind(column) }, head)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, column) =>
        column === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: kind(column) }, cell)))))));
  }
}

// "goal band:0.35,0.65 · utility 0.52 · 19.60 per hour · 51.33 so far"
export function numbersText(groups: Groups, now: number): string {
  return [
    `goal ${groups.goal}`,
    groups.utility !== null && `utility ${number(groups.utility)}`,
    groups.changing && "the size is changing",
    groups.priced && `${money(groups.price_per_hour)} per hour`,
    groups.priced && `${money(groupsCost(groups, now))} so far`,
  ].filter(Boolean).join(" · ");
}
