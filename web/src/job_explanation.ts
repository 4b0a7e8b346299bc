// SPDX-License-Identifier: Apache-2.0
// Why a job has what it has: sentences, the goodput curve, and one replica more or less.
import { jobAddress } from "./address.ts";
import { Chart, type Spot } from "./chart.ts";
import { h, refill, type Child } from "./dom.ts";
import { change, count, duration, known, number, plural } from "./format.ts";
import type { Change, Explanation } from "./job_types.ts";

export class JobExplanation {
  readonly element: HTMLElement;
  private readonly text = h("div", { class: "sentences" });
  private readonly table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "One replica more or less" });
  private readonly chart = new Chart({
    title: "Goodput by replicas, useful samples/s", axis: "number", height: 210,
    xLabel: (replicas) => plural(replicas, "replica"), empty: "No curve yet: the job has not reported a model.",
  });

  constructor() {
    this.element = h("section", { class: "card explanation", "aria-label": "Why it has what it has" },
      h("h2", null, "Why it has what it has"), this.text, this.chart.element, this.table);
  }

  set(explanation: Explanation): void {
    const { curve, current, one_more: more, one_less: less } = explanation;
    this.chart.element.hidden = this.table.hidden = !curve.some((point) => known(point.goodput));
    refill(this.text, JSON.stringify([explanation.sentences, explanation.types]), () => [
      explanation.sentences.map((sentence) => h("p", null, sentence)),
      explanation.types.map((type) => h("p", { class: "soft" }, typeText(type))),
    ]);
    const spots: Spot[] = [];
    const add = (point: { replicas?: number | null; goodput?: number | null } | null, label: string, place: Spot["place"], colour: string) => {
      if (point && known(point.replicas) && known(point.goodput) && point.replicas > 0) spots.push({ x: point.replicas, y: point.goodput, label, place, colour });
    };
    if (less?.possible) add(at(less, curve, current?.replicas, -1), `${change(less?.goodput_factor)}`, "left", "--faint");
    if (more?.possible) add(at(more, curve, current?.replicas, 1), `${change(more?.goodput_factor)}`, "right", "--line-3");
    add(current, `now: ${current?.replicas}`, "above", "--accent");
    this.chart.set(curve.map((point) => point.replicas), [{ label: "goodput", values: curve.map((point) => point.goodput), points: curve.length <= 32 }], { spots });
    refill(this.table, JSON.stringify([current, more, less]), () => this.rows(explanation));
  }

  fail(sentence: string): void {
    refill(this.text, sentence, () => h("p", { class: "soft" }, sentence));
    this.chart.element.hidden = this.table.hidden = true;
  }

  close(): void {
    this.chart.close();
  }

  private rows(explanation: Explanation): Child {
    const { current, one_more: more, one_less: less, curve } = explanation;
    if (!current?.replicas) return null;
    const row = (label: string, replicas: Child, goodput: Child, difference: Child, end: Child, others: () => Child = () => null) => [
      h("tr", null, h("th", { scope: "row" }, label), h("td", { class: "num" }, replicas), h("td", { class: "num" }, goodput),
        h("td", { class: "num" }, difference), h("td", { class: "num" }, end), h("td", { class: "small wide" }, others())),
      h("tr", { class: "narrow-row" }, h("td", { class: "small", colspan: 5 }, others())),
    ];
    const changed = (label: string, what: Change | null, direction: 1 | -1) => {
      if (!what) return null;
      const point = what.possible ? at(what, curve, current.replicas, direction) : null;
      if (!point) return row(label, "–", "–", "–", "–", () => otherText(what));
      return row(label, count(point.replicas), number(what.goodput), change(what.goodput_factor), duration(what.eta_s), () => otherText(what));
    };
    return h("table", { class: "compact" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, h("span", { class: "hidden-text" }, "Case")), h("th", { scope: "col", class: "num" }, "Replicas"), h("th", { scope: "col", class: "num" }, "Goodput"),
        h("th", { scope: "col", class: "num" }, "Change"), h("th", { scope: "col", class: "num" }, "Ends in"), h("th", { scope: "col", class: "wide" }, "Other jobs"))),
      h("tbody", null, changed("One less", less, -1),
        row("Now", count(current.replicas), number(current.goodput), "", duration(current.eta_s)),
        changed("One more", more, 1)));
  }
}

// The replicas and goodput of a change: as it says, or the next point of the curve.
function at(what: Change | null, curve: Explanation["curve"], now: number | undefined, direction: 1 | -1) {
  if (!what || what.goodput === null || what.goodput === undefined || now === undefined) return null;
  if (known(what.replicas)) return { replicas: what.replicas, goodput: what.goodput };
  const points = direction > 0 ? curve.filter((point) => point.replicas > now) : curve.filter((point) => point.replicas < now).reverse();
  return points[0] ? { replicas: points[0].replicas, goodput: what.goodput } : null;
}

function otherText(what: Change): Child {
  if (!what.possible) return what.why ?? "not possible";
  const others = (what.others ?? []).slice(0, 3);
  if (!others.length) return what.free ? `${plural(what.free, "free slot")}` : "";
  return others.map((other, position) => [position > 0 && ", ", h("a", { href: jobAddress(other.name) }, other.name),
    ` ${other.from} → ${other.to}${known(other.goodput_factor) ? ` (${change(other.goodput_factor)})` : ""}`]);
}

function typeText(type: Explanation["types"][number]): string {
  if (!type.known) return `On nodes of type ${type.type}: nothing tells how fast it would be.`;
  return `On nodes of type ${type.type} with ${plural(type.replicas, "replica")}: ${change(type.goodput_factor)} goodput${type.predicted ? ", predicted from its speed on other types" : ""}.`;
}
