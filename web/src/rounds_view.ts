// SPDX-License-Identifier: Apache-2.0
// The rounds: when, what they changed, how good the plan was, how long the decision took.
import { roundAddress } from "./address.ts";
import { Chart } from "./chart.ts";
import { h, mark, say } from "./dom.ts";
import { count, duration, exactTime, number, percent, precise, slotPrice, time } from "./format.ts";
import { get } from "./request.ts";
import { changesText, gap } from "./round.ts";
import type { Changed, Round } from "./state.ts";
import { now, type App, type View } from "./view.ts";
import { VirtualRows, type RowElement } from "./virtual_rows.ts";

const rowHeight = () => 34; // as in page.css
const limit = 1024;

const heads: [string, string, string][] = [
  ["Round", "num", "Its number in the journal"],
  ["Time", "", "When it was decided"],
  ["Kind", "wide", "full: all jobs; fill: free slots only"],
  ["Policy", "wide", "The policy that decided"],
  ["Jobs", "num wide", "Jobs in the decision"],
  ["Changed", "num", "Jobs that it starts, moves, resizes or stops"],
  ["Slots", "num wide", "Slots that the plan uses"],
  ["Fitness", "num", "Fitness of the plan, by the policy's objective"],
  ["Bound", "num wide", "No plan has a larger fitness"],
  ["Gap", "num wide", "1 − fitness / bound"],
  ["Price", "num wide", "What one more slot would add to the fitness"],
  ["Decision", "num", "Time of the decision"],
  ["What changed", "wide what", "The first of these jobs, from how many replicas to how many"],
];

export class RoundsView implements View {
  readonly title = "Rounds";
  readonly element: HTMLElement;
  private readonly rounds = new Map<number, Round>();
  private readonly abort = new AbortController();
  private readonly total = h("p", { class: "small faint", role: "status" });
  private readonly table: HTMLTableElement;
  private readonly nothing = h("p", { class: "empty nothing" }, "No rounds yet: the first one follows the first job. ", h("code", null, "pollux submit train.py"));
  private readonly rows: VirtualRows<Round>;
  private readonly charts = {
    fitness: new Chart({ title: "Fitness and its bound, full rounds", axis: "time", group: "rounds", height: 110, zero: false }),
    changed: new Chart({ title: "Changed jobs", axis: "time", group: "rounds", height: 110 }),
    decide: new Chart({ title: "Time of the decision", axis: "time", group: "rounds", height: 110, format: duration }),
  };

  constructor(private readonly app: App) {
    const body = h("tbody");
    this.table = h("table", { class: "rounds-table", "aria-label": "Rounds" },
      h("thead", null, h("tr", { "aria-rowindex": "1" }, heads.map(([label, className, explanation]) => h("th", { scope: "col", class: className, title: explanation }, label)))), body);
    const box = h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "List of rounds" }, this.table, this.nothing);
    this.rows = new VirtualRows(box, body, rowHeight, (round) => round.round ?? 0, () => this.row());
    this.element = h("div", { class: "jobs rounds" },
      h("div", { class: "toolbar" }, h("h1", null, "Rounds"), this.total),
      h("section", { class: "card", "aria-label": "Over time" }, h("div", { class: "charts" }, Object.values(this.charts).map((chart) => chart.element))),
      box);
    void this.fetch();
  }

  update(changed: Changed): void {
    if (changed.snapshot) {
      this.rounds.clear(); // a recorded run may have gone back
      void this.fetch();
    }
    if (changed.rounds) this.show();
  }

  reconnected(): void {
    void this.fetch();
  }

  close(): void {
    this.abort.abort();
    this.rows.close();
    for (const chart of Object.values(this.charts)) chart.close();
  }

  private async fetch(): Promise<void> {
    try {
      const answer = await get<{ rounds: Round[] }>(`/v1/rounds?limit=${limit}`, this.abort.signal);
      this.take(answer.rounds);
      this.show();
    } catch {
      // the rounds of the stream are shown
    }
  }

  private take(rounds: Round[]): void {
    for (const round of rounds) if (round.round !== null) this.rounds.set(round.round, round);
  }

  private show(): void {
    this.take(this.app.state.rounds);
    const rounds = [...this.rounds.values()].sort((a, b) => (b.round ?? 0) - (a.round ?? 0)).slice(0, limit);
    const oldest = rounds[rounds.length - 1]?.round ?? 0;
    for (const number of this.rounds.keys()) if (number < oldest) this.rounds.delete(number);
    say(this.total, `${count(rounds.length)} newest`);
    this.total.hidden = !rounds.length;
    this.table.hidden = !rounds.length;
    this.nothing.hidden = rounds.length > 0;
    mark(this.table, "aria-rowcount", String(rounds.length + 1));
    this.rows.set(rounds);
    const old = [...rounds].reverse();
    const full = old.filter((round) => !round.fill);
    const at = (list: Round[]) => list.map((round) => round.at ?? 0);
    this.charts.fitness.set(at(full), [{ label: "fitness", values: full.map((round) => round.fitness) }, { label: "bound", values: full.map((round) => round.bound), dash: "dashed" }],
      { empty: "The policy has no fitness." });
    this.charts.changed.set(at(old), [{ label: "changed", values: old.map((round) => round.changed ?? null), colour: "--line-2", area: true }]);
    this.charts.decide.set(at(old), [{ label: "time", values: old.map((round) => round.decide_s), colour: "--line-4" }],
      { empty: this.app.state.playback ? "Not recorded: a simulation decides outside of its time." : "No values yet." });
  }

  private row(): RowElement<Round> {
    const cells = heads.map(([, className]) => h("td", { class: className }));
    const link = h("a");
    cells[0]?.append(link);
    const element = h("tr", null, cells);
    const set = (at: number, text: string, title: string | null = null) => {
      const cell = cells[at] as HTMLElement;
      say(cell, text);
      mark(cell, "title", title);
    };
    return {
      element,
      show: (round) => {
        const share = gap(round);
        say(link, count(round.round));
        mark(link, "href", roundAddress(round.round ?? 0));
        set(1, time(round.at, now(this.app), true), exactTime(round.at));
        set(2, round.fill ? "fill" : "full");
        set(3, round.policy);
        set(4, count(round.jobs));
        set(5, count(round.changed), round.text ?? null);
        set(6, count(round.used_slots));
        set(7, number(round.fitness), precise(round.fitness));
        set(8, number(round.bound), precise(round.bound));
        set(9, percent(share, 2));
        set(10, slotPrice(round.price), precise(round.price));
        set(11, duration(round.decide_s));
        set(12, changesText(round.text ?? "").replace(/^.*? changed: /, ""), round.text ?? null);
      },
    };
  }
}
