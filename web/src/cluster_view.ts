// SPDX-License-Identifier: Apache-2.0
// The cluster: headline numbers, nodes, charts over time, the last change, the jobs that wait longest.
import { formatAddress, jobAddress, roundAddress } from "./address.ts";
import { Chart } from "./chart.ts";
import { fill, h, mark, refill, say } from "./dom.ts";
import { GroupsCard } from "./groups_card.ts";
import { count, duration, exactTime, meanCount, number, percent, plural, slotPrice, time } from "./format.ts";
import { choose, extend, ranges, sinceOf, utilisation, type History, type Range } from "./history.ts";
import { reasonOf, type Job } from "./job.ts";
import { NodeMap, type Occupancy } from "./node_map.ts";
import { get } from "./request.ts";
import { changesText } from "./round.ts";
import type { Changed, State } from "./state.ts";
import { swatch } from "./swatch.ts";
import { tile } from "./tile.ts";
import { now, type App, type View } from "./view.ts";
import { clock } from "./watch.ts";

const refresh_s = 60;
const leastShown_s = 600; // ten values
const waitingShown = 6, waitingShownBeside = 14; // beside a large map there is more room

export class ClusterView implements View {
  readonly title = "Cluster";
  readonly element: HTMLElement;
  private readonly used = tile("Utilisation", "Slots with a replica, of all slots");
  private readonly goodput = tile("Total goodput", "Sum over all jobs of goodput relative to the job's own goodput with one replica");
  private readonly running = tile("Running", "Jobs with replicas");
  private readonly waiting = tile("Waiting", "Jobs without replicas");
  private readonly price = tile("Slot price", "What one more slot would add to the fitness of all jobs, in the last full round");
  private readonly round = tile("Next round", "When the scheduler decides again");
  private readonly changes = h("p", { class: "last-change" });
  private readonly map = new NodeMap();
  private readonly mapCard = h("section", { class: "card map-card", "aria-label": "Nodes" });
  private readonly groups = new GroupsCard();
  private readonly waitingList = h("div");
  private readonly rangeButtons: HTMLButtonElement[];
  private range: Range = "6 h";
  private range_s = 0; // of the history that is here
  private turn = 0;
  private history: History | null = null;
  private fetchedAt = -Infinity; // this computer's clock
  private fetchedFor = -Infinity; // the daemon's clock
  private readonly abort = new AbortController();
  private readonly charts = {
    used: new Chart({ title: "Slots used", axis: "time", group: "cluster", height: 104, least_s: leastShown_s, format: percent, top: 1 }),
    jobs: new Chart({ title: "Jobs, mean over time", axis: "time", group: "cluster", height: 104, least_s: leastShown_s, format: meanCount }),
    goodput: new Chart({ title: "Total goodput", axis: "time", group: "cluster", height: 104, least_s: leastShown_s }),
    price: new Chart({ title: "Slot price", axis: "time", format: slotPrice, group: "cluster", height: 104, least_s: leastShown_s }),
  };

  constructor(private readonly app: App) {
    this.rangeButtons = (Object.keys(ranges) as Range[]).map((range) =>
      h("button", { type: "button", class: "chip", "aria-pressed": String(range === this.range), onclick: () => this.choose(range) }, range));
    const tiles = [this.used, this.goodput, this.running, this.waiting, this.price, this.round];
    this.element = h("div", { class: "cluster" },
      h("h1", { class: "hidden-text" }, "Cluster"),
      h("dl", { class: "tiles" }, tiles.map((each) => each.element)),
      this.changes,
      this.groups.element,
      h("section", { class: "card over-time", "aria-label": "Over time" },
        h("div", { class: "card-head" }, h("h2", null, "Over time"), h("div", { class: "chips", role: "group", "aria-label": "Range of the charts" }, this.rangeButtons)),
        h("div", { class: "charts" }, Object.values(this.charts).map((chart) => chart.element))),
      h("div", { class: "columns" },
        this.mapCard,
        h("section", { class: "card waiting-card", "aria-label": "Waiting longest" }, h("h2", null, "Waiting longest"), this.waitingList)));
    void this.fetchHistory();
  }

  update(changed: Changed): void {
    const { state } = this.app;
    if (changed.status || changed.jobs || changed.rounds) this.showNumbers(state);
    if (changed.changes) this.showChanges(state);
    if (changed.groups) this.groups.show(state.groups, now(this.app));
    if (changed.jobs || changed.nodes || changed.groups) this.showNodes(state);
    if (changed.jobs) this.showWaiting(state);
    if (changed.snapshot && this.history) void this.fetchHistory(true);
    else if (this.historyIsOld()) void this.fetchHistory();
  }

  reconnected(): void {
    void this.fetchHistory();
  }

  tick(): void {
    this.showRound(this.app.state);
    this.groups.show(this.app.state.groups, now(this.app));
    if (this.historyIsOld()) void this.fetchHistory();
  }

  close(): void {
    this.abort.abort();
    this.map.close();
    for (const chart of Object.values(this.charts)) chart.close();
  }

  private showNumbers(state: State): void {
    const { status } = state;
    const slots = status.slots ?? 0, used = status.used_slots ?? 0;
    say(this.used.value, slots ? percent(used / slots) : "–");
    say(this.used.note, `${count(used)} of ${plural(slots, "slot")}`);
    say(this.running.value, count((status.jobs?.["running"] ?? 0) + (status.jobs?.["cancelling"] ?? 0)));
    const live = (status.jobs?.["running"] ?? 0) + (status.jobs?.["cancelling"] ?? 0) + (status.jobs?.["pending"] ?? 0);
    say(this.running.note, `of ${plural(live, "live job")}`);
    say(this.waiting.value, count(status.jobs?.["pending"]));
    mark(this.waiting.element, "data-mood", (status.jobs?.["pending"] ?? 0) > 0 ? "warn" : null);
    const price = state.price();
    say(this.price.value, slotPrice(price));
    say(this.price.note, price === null ? `policy ${status.policy ?? "unknown"}` : "fitness per slot");
    this.showGoodput();
    this.showRound(state);
  }

  private showGoodput(): void {
    const value = this.app.state.status.goodput ?? null;
    say(this.goodput.value, number(value));
    say(this.goodput.note, value === null ? "not measured yet" : "× one replica");
  }

  private showRound(state: State): void {
    const next = state.status.next_round_at, { policy = "" } = state.status;
    if (state.playback) {
      say(this.round.element.querySelector("dt") as Element, "Policy");
      mark(this.round.element, "title", "The policy that decided");
    }
    say(this.round.value, state.playback ? policy : next === null || next === undefined ? "–" : duration(Math.max(0, Math.round(next - now(this.app)))));
    say(this.round.note, state.playback ? `round ${count(state.rounds[0]?.round)}` : policy && `policy ${policy}`);
    let longest: number | null = null;
    for (const job of state.jobs.values())
      if (job.phase === "pending" && job.submittedAt !== null && (longest === null || job.submittedAt < longest)) longest = job.submittedAt;
    say(this.waiting.note, longest === null ? "nobody waits" : `longest ${duration(Math.round(now(this.app) - longest))}`);
  }

  private showChanges(state: State): void {
    const { changes } = state;
    if (changes)
      fill(this.changes, h("a", { href: roundAddress(changes.round) }, `Round ${count(changes.round)}`),
        h("span", { class: "faint", title: exactTime(changes.at) }, ` at ${time(changes.at, now(this.app), true)} `), changesText(changes.text));
    else fill(this.changes, h("span", { class: "faint" }, "No round has changed a placement yet."));
  }

  private showNodes(state: State): void {
    const nodes = state.shownNodes();
    if (!nodes.length) {
      const off = state.nodes.size > 0 || (state.groups?.groups.length ?? 0) > 0;
      refill(this.mapCard, off ? "off" : "none", () => [h("h2", null, "Nodes"), off
        ? h("p", { class: "empty" }, "All nodes are off.")
        : h("p", { class: "empty" }, "No nodes. Start polluxd with nodes, for example ", h("code", null, "polluxd --node n0:4"), ".")]);
      return;
    }
    refill(this.mapCard, "map", () => [
      h("div", { class: "card-head" }, h("h2", null, "Nodes"), h("p", { class: "legend small faint", "aria-hidden": "true" },
        h("i", { class: "legend-slot idle" }), "idle", h("i", { class: "legend-slot drained" }), "drained", h("i", { class: "legend-slot gone" }), "gone")),
      this.map.element]);
    const occupancy: Occupancy = new Map();
    for (const [node, jobs] of state.occupancy())
      occupancy.set(node, jobs.map(([job, replicas]) => ({ index: job.index, name: job.name, replicas, text: jobText(job) })));
    this.map.set(nodes, occupancy);
  }

  private showWaiting(state: State): void {
    const waiting = [...state.jobs.values()].filter((job) => job.phase === "pending")
      .sort((a, b) => (a.submittedAt ?? Infinity) - (b.submittedAt ?? Infinity));
    const shown = waiting.slice(0, state.nodes.size > 80 ? waitingShownBeside : waitingShown);
    const key = JSON.stringify(shown.map((job) => [job.name, reasonOf(job, now(this.app))])) + waiting.length + state.jobs.size;
    refill(this.waitingList, key, () => {
      if (!state.jobs.size) return h("p", { class: "empty" }, "No jobs yet: ", h("code", null, "pollux submit train.py"));
      if (!shown.length) return h("p", { class: "empty" }, "Nobody waits.");
      return [
        h("ul", { class: "plain-list" }, shown.map((job) => h("li", null,
          h("div", { class: "spread" }, h("a", { href: jobAddress(job.name), class: "clip" }, swatch(job.index), job.name),
            h("span", { class: "faint nowrap", title: `submitted ${exactTime(job.submittedAt)}` }, `since ${time(job.submittedAt, now(this.app))}`)),
          h("div", { class: "small soft" }, reasonOf(job, now(this.app)) ?? "waits for the next round")))),
        waiting.length > shown.length && h("p", { class: "small" }, h("a", { href: formatAddress(["jobs"], { phase: "pending", sort: "submitted", order: "up" }) },
          `All ${count(waiting.length)} waiting jobs`)),
      ];
    });
  }

  private choose(range: Range): void {
    this.range = range;
    for (const button of this.rangeButtons) button.setAttribute("aria-pressed", String(button.textContent === range));
    if (ranges[range] > this.range_s) void this.fetchHistory();
    this.showCharts();
  }

  // Each minute; in a recorded run, when a minute of it has passed, but not more often than every two seconds.
  private historyIsOld(): boolean {
    const age_s = clock() - this.fetchedAt;
    return this.app.connected && (age_s > refresh_s || (age_s > 2 && Math.abs(this.app.state.at - this.fetchedFor) > refresh_s));
  }

  // A page that stays open asks for what is new only, and for as much of the past as its charts show: a year has 70,000 numbers.
  private async fetchHistory(afresh = false): Promise<void> {
    const { state } = this.app, { history } = this;
    const range_s = ranges[this.range];
    const whole = afresh || !history || state.playback !== null || range_s > this.range_s;
    const from = Math.max(0, Math.floor((state.at - range_s) / 3600) * 3600);
    const since = whole ? (Number.isFinite(from) ? from : null) : sinceOf(history);
    this.fetchedAt = clock();
    this.fetchedFor = state.at;
    const turn = ++this.turn; // an answer to an earlier request is not shown
    try {
      const answer = await get<History>(`/v1/history${since === null ? "" : `?since=${since}`}`, this.abort.signal);
      if (turn !== this.turn) return;
      if (whole) this.range_s = range_s;
      this.history = whole || since === null ? answer : extend(history, answer, since);
      this.showCharts();
    } catch {
      // The connection's state tells why.  The next refresh tries again, or reconnected().
    }
  }

  // A full round without a price: the policy has none.
  private hasNoPrice(): boolean {
    return this.app.state.rounds.some((round) => !round.fill) && this.app.state.price() === null;
  }

  private showCharts(): void {
    if (!this.history) return;
    const series = choose(this.history, ranges[this.range], now(this.app));
    const { at } = series;
    const empty = "No history yet: it begins with the first node or job.";
    this.charts.used.set(at, [{ label: "used", values: utilisation(series), area: true }], { empty });
    this.charts.jobs.set(at, [{ label: "running", values: series.running }, { label: "waiting", values: series.waiting }], { empty });
    this.charts.goodput.set(at, [{ label: "goodput", values: series.goodput, colour: "--line-3", area: true }], { empty });
    this.charts.price.set(at, [{ label: "price", values: series.price, colour: "--line-4" }],
      { empty: this.hasNoPrice() ? `The policy ${this.app.state.status.policy ?? ""} has no price.` : empty });
  }
}

function jobText(job: Job): string {
  return [job.owner && `of ${job.owner}`, plural(job.replicas, "replica"), job.goodput !== null && `${number(job.goodput)} useful samples/s`].filter(Boolean).join(", ");
}
