// SPDX-License-Identifier: Apache-2.0
// One job: numbers now, why it has what it has, its past, its logs.
import { jobPath } from "./address.ts";
import { h, mark, refill, say } from "./dom.ts";
import { count, duration, exactTime, known, number, percent, precise, time, unknown } from "./format.ts";
import { batchFactors, endsAt, etaAt, isLive, reasonOf, shareDone, type Job } from "./job.ts";
import { askCancel, askScale } from "./job_actions.ts";
import { JobCharts } from "./job_charts.ts";
import { JobExplanation } from "./job_explanation.ts";
import { factsList, troubles } from "./job_facts.ts";
import { generationsCard } from "./job_generations.ts";
import { JobLogs } from "./job_logs.ts";
import { modelCard } from "./job_model.ts";
import { jobOfDetails, type Explanation, type JobDetails, type JobHistory } from "./job_types.ts";
import { get, Refusal } from "./request.ts";
import type { Changed } from "./state.ts";
import { swatch } from "./swatch.ts";
import { tile } from "./tile.ts";
import { mayChange, now, type App, type View } from "./view.ts";
import { clock } from "./watch.ts";

const soonest_s = 4, latest_s = 30; // between two requests of details
const explain_s = 15; // between two explanations of the same placement, which cost the daemon the most

export class JobView implements View {
  readonly title: string;
  readonly element: HTMLElement;
  private details: JobDetails | null = null;
  private described: Job | null = null; // by the details, while the stream has no row of it: it ended long ago
  private history: JobHistory | null = null;
  private shown: Job | null = null;
  private fetchedAt = -Infinity;
  private wanted = true;
  private turn = 0;
  private explained = { key: "", at: -Infinity };
  private readonly abort = new AbortController();
  private readonly phase = h("span", { class: "phase" });
  private readonly owner = h("span", { class: "faint" });
  private readonly scale = h("button", { type: "button", onclick: () => this.job && askScale(this.job, this.details?.weight ?? null, () => this.fetch()) }, "Scale…");
  private readonly cancel = h("button", { type: "button", onclick: () => this.job && askCancel(this.job, () => this.fetch()) }, "Cancel…");
  private readonly notAllowed = h("p", { class: "small faint" });
  private readonly reason = h("p", { class: "notice", hidden: true });
  private readonly tiles = {
    replicas: tile("Replicas", "Replicas that run now, and where"),
    batch: tile("Batch", "Micro-batch × replicas × steps per update"),
    throughput: tile("Throughput", "Samples per second"),
    efficiency: tile("Efficiency", "Progress per sample, relative to the initial batch"),
    goodput: tile("Goodput", "Throughput × efficiency: useful samples per second"),
    progress: tile("Progress", "Iterations of the initial batch that are done"),
    eta: tile("Ends in", "Time until the end at this goodput"),
  };
  private readonly explanation = new JobExplanation();
  private readonly facts = h("section", { class: "card", "aria-label": "Facts" });
  private readonly trouble = h("div", { class: "stack" });
  private readonly charts = new JobCharts();
  private readonly generations = h("div");
  private readonly model = h("div");
  private logs: JobLogs | null = null;
  private readonly logPlace = h("div");
  private readonly body: HTMLElement;
  private readonly missing = h("div", { class: "card", hidden: true });

  constructor(private readonly app: App, private readonly name: string) {
    this.title = name;
    const job = app.state.byName.get(name);
    this.body = h("div", { class: "stack" },
      h("div", { class: "job-head" },
        h("h1", { class: "clip", title: name }, job && swatch(job.index), name), this.phase, this.owner,
        h("div", { class: "job-actions" }, this.notAllowed, this.scale, this.cancel)),
      this.reason, this.trouble,
      h("dl", { class: "tiles job-tiles" }, Object.values(this.tiles).map((each) => each.element)),
      h("div", { class: "columns job-columns" }, this.explanation.element, this.facts),
      h("section", { class: "card", "aria-label": "Over time" }, h("div", { class: "card-head" }, h("h2", null, "Over time"), h("p", { class: "small faint" }, "Dashed lines: starts of generations")), this.charts.element),
      h("div", { class: "columns job-columns" },
        h("section", { class: "card", "aria-label": "Generations" }, h("h2", null, "Generations"), this.generations),
        h("section", { class: "card", "aria-label": "Model" }, h("div", { class: "card-head" }, h("h2", null, "Step times"),
          h("p", { class: "small faint legend", "aria-hidden": "true" }, h("i", { class: "legend-measured" }), "measured", h("i", { class: "legend-predicted" }), "model")), this.model)),
      this.logPlace);
    this.element = h("div", { class: "job" }, this.body, this.missing);
    void this.fetch();
  }

  private get job(): Job | null {
    return this.app.state.byName.get(this.name) ?? this.described;
  }

  update(changed: Changed): void {
    if (!changed.jobs && !changed.nodes && !changed.snapshot) return;
    if (changed.snapshot) {
      this.details = this.history = this.described = null; // a recorded run may have gone back
      this.explained.at = this.fetchedAt = -Infinity;
    }
    const { job } = this;
    if (job !== this.shown || changed.snapshot) this.wanted = true;
    this.shown = job;
    this.show();
    this.fetchIfDue();
  }

  reconnected(): void {
    void this.fetch();
    this.logs?.reconnected();
  }

  tick(): void {
    this.fetchIfDue();
    this.showTimes();
  }

  close(): void {
    this.abort.abort();
    this.charts.close();
    this.explanation.close();
    this.logs?.close();
  }

  private fetchIfDue(): void {
    if (!this.app.connected) return;
    const age_s = clock() - this.fetchedAt;
    if (this.wanted && this.job && !this.missing.hidden) return void this.fetch();
    const live = this.job !== null && isLive(this.job);
    if ((this.wanted && age_s >= soonest_s) || (live && age_s >= latest_s)) void this.fetch();
  }

  private async fetch(): Promise<void> {
    this.wanted = false;
    this.fetchedAt = clock();
    const turn = ++this.turn; // answers to an earlier request are not shown
    const path = jobPath(this.name), { signal } = this.abort, { playback, byName, omitted } = this.app.state;
    if (playback && !byName.has(this.name) && !omitted) return this.showMissing("At this time of the recorded run there is no such job.");
    const failed = (error: unknown) => (error instanceof Refusal ? error : new Refusal(0, String(error)));
    const details = await get<JobDetails>(path, signal).catch(failed);
    if (signal.aborted || turn !== this.turn) return;
    if (!(details instanceof Refusal)) {
      this.details = details;
      this.described = jobOfDetails(details, this.app.state);
      if (!this.app.state.byName.has(this.name)) this.shown = this.described; // it is asked for once
    }
    const { job } = this;
    if (!job) return this.showMissing((details as Refusal).message);
    this.showMissing(null);
    this.show();
    const ended = new Refusal(0, job.phase === "cancelling" ? "It is being stopped." : isLive(job) ? "It is explained when the recorded run is paused." : "The job has ended; only live jobs are explained.");
    const [explanation, history] = await Promise.all([
      !this.isExplained(job, details instanceof Refusal ? job.phase : details.phase) ? ended
        : this.explanationIsOld(job) ? get<Explanation>(`${path}/explain`, signal).catch(failed) : null,
      get<JobHistory>(`${path}/history`, signal).catch(failed),
    ]);
    if (signal.aborted || turn !== this.turn) return;
    if (!(history instanceof Refusal)) this.history = history;
    else if (history.status !== 0 && !this.history) this.charts.fail(history.message);
    if (explanation && !(explanation instanceof Refusal)) this.explanation.set(explanation);
    else if (explanation && (explanation.status !== 0 || explanation === ended)) this.explanation.fail(explanation.message); // without an answer the last one stays
    this.show();
    this.showPast();
  }

  private explanationIsOld(job: Job): boolean {
    const key = `${job.phase} ${job.placement.join()} ${job.minReplicas} ${job.maxReplicas}`;
    if (key === this.explained.key && clock() - this.explained.at < explain_s) return false;
    this.explained = { key, at: clock() };
    return true;
  }

  // Jobs that stop or have ended are refused.  `phase` is newer than the row of the stream.  In a recorded run that plays, a job may end
  // before the answer.
  private isExplained(job: Job, phase: string): boolean {
    const { playback } = this.app.state;
    if (phase !== "pending" && phase !== "running") return false;
    return !playback?.playing || (known(job.eta_s) && job.eta_s > playback.speed * 10);
  }

  private showMissing(sentence: string | null): void {
    this.missing.hidden = sentence === null;
    this.body.hidden = sentence !== null;
    if (sentence !== null) refill(this.missing, sentence, () => [h("h1", null, this.name), h("p", null, sentence), h("p", null, h("a", { href: "#/jobs" }, "All jobs"))]);
  }

  private show(): void {
    const { job, tiles } = this;
    if (!job) return;
    const live = isLive(job);
    say(this.phase, job.phase === "pending" ? "waiting" : job.phase);
    mark(this.phase, "data-phase", job.phase);
    say(this.owner, [job.owner && `of ${job.owner}`, job.application].filter(Boolean).join(" · "));
    this.element.classList.toggle("ended", !live);
    const reason = reasonOf(job, now(this.app));
    this.reason.hidden = !reason;
    say(this.reason, reason ?? "");
    mark(this.reason, "class", job.phase === "failed" ? "notice bad-notice" : "notice");
    say(tiles.replicas.value, count(job.replicas));
    const place = this.app.state.placementText(job.placement);
    say(tiles.replicas.note, place || (live ? "no slots" : ""));
    mark(tiles.replicas.note, "title", place || null);
    say(tiles.batch.value, live && known(job.batch) ? count(job.batch) : unknown);
    say(tiles.batch.note, live && known(job.m) ? `= ${batchFactors(job)}` : "");
    say(tiles.throughput.value, number(job.throughput));
    say(tiles.throughput.note, known(job.throughput) ? "samples/s" : "");
    say(tiles.efficiency.value, percent(job.efficiency));
    say(tiles.efficiency.note, known(job.noiseScale) ? `noise scale ${number(job.noiseScale)}` : "");
    say(tiles.goodput.value, number(job.goodput));
    mark(tiles.goodput.value, "title", known(job.goodput) ? `${precise(job.goodput)} useful samples/s` : null);
    say(tiles.goodput.note, known(job.speedup) ? `${number(job.speedup)} × its fair share` : "");
    mark(tiles.goodput.note, "title", known(job.speedup) ? "With the batch that the job reported last. The explanation takes the best batch for its slots." : null);
    const share = shareDone(job);
    say(tiles.progress.value, share === null ? unknown : share === 1 ? "100 %" : percent(Math.floor(share * 1000) / 1000, 1));
    // A job may finish before the work that it has announced.
    say(tiles.progress.note, !known(job.progress) ? "" : job.phase === "finished" || !known(job.total) ? `${number(job.progress)} iterations` : `${number(job.progress)} of ${number(job.total)}`);
    this.showTimes();
    const may = mayChange(this.app, job.owner);
    this.scale.hidden = this.cancel.hidden = !may || !live;
    this.cancel.disabled = job.phase === "cancelling";
    say(this.notAllowed, may || !live ? "" : this.whyNot(job));
    this.showLogs(job, may);
  }

  private whyNot(job: Job): string {
    const { you, playback } = this.app.state;
    if (playback) return "";
    return you.role === "user" ? `Only ${job.owner ?? "its owner"} and admins change it and read its logs.` : "This token may look only: no logs, no changes.";
  }

  private showTimes(): void {
    const { job, tiles } = this;
    if (!job) return;
    const live = isLive(job), at = now(this.app);
    const end = live ? endsAt(job, at) : job.endedAt;
    say(tiles.eta.element.querySelector("dt") as Element, live ? "Ends in" : "Ended");
    say(tiles.eta.value, live ? duration(etaAt(job, at)) : time(job.endedAt, at));
    say(tiles.eta.note, live ? (end === null ? "" : `at ${time(end, at)}`) : known(job.submittedAt) && known(job.endedAt) ? `after ${duration(job.endedAt - job.submittedAt)}` : "");
    mark(tiles.eta.element, "title", end === null ? null : exactTime(end));
  }

  private showPast(): void {
    const { job, details, history } = this;
    if (!job) return;
    const at = now(this.app);
    if (details) {
      refill(this.facts, JSON.stringify([details.phase, details.restarts, details.failures, details.max_replicas, details.min_replicas, details.weight, details.generation, details.ended_at, Math.floor((details.run_s ?? 0) / 10)]),
        () => [h("h2", null, "Facts"), factsList(details, at)]);
      refill(this.trouble, JSON.stringify([details.warning, details.refused_report, details.last_lines]), () => troubles(details));
      this.trouble.hidden = !this.trouble.childElementCount;
    }
    if (!history) return;
    this.charts.set(history, job, at);
    refill(this.generations, JSON.stringify([history.generations, Math.floor(at / 10), job.phase]), () => generationsCard(history.generations, job, at));
    refill(this.model, JSON.stringify(history.measured), () => modelCard(history.measured));
    const ranks = Math.max(job.replicas, ...history.generations.map((generation) => generation.replicas));
    this.logs?.choices(ranks, history.generations.map((generation) => generation.generation));
  }

  // "last", "all" or a number.
  private logGrows(generation: string): boolean {
    const { job } = this;
    return job !== null && isLive(job) && [String(job.generation), "last", "all"].includes(generation);
  }

  private showLogs(job: Job, may: boolean): void {
    if (may && !this.logs && job.generation > 0) {
      this.logs = new JobLogs(this.name, (generation) => this.logGrows(generation));
      refill(this.logPlace, "logs", () => this.logs?.element);
      if (this.history) this.logs.choices(job.replicas, []);
    } else if (!this.logs) {
      const sentence = may ? "No logs: it has not started." : this.app.state.playback ? "A recorded run has no logs." : isLive(job) ? "" : this.whyNot(job);
      refill(this.logPlace, sentence, () => sentence && h("p", { class: "small faint" }, sentence));
    }
  }
}
