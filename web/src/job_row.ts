// SPDX-License-Identifier: Apache-2.0
// One row of the list of jobs.
import { jobAddress } from "./address.ts";
import { h, mark, say } from "./dom.ts";
import { count, duration, exactTime, known, money, number, percent, plural, precise, time, unknown } from "./format.ts";
import { batchFactors, costAt, endsAt, etaAt, isLive, reasonOf, shareDone, type Job } from "./job.ts";
import type { State } from "./state.ts";
import { paintSwatch, swatch } from "./swatch.ts";
import type { RowElement } from "./virtual_rows.ts";

const narrowPage = "(max-width: 720px)";
export const rowHeight = () => (matchMedia(narrowPage).matches ? 66 : 48); // as in page.css

function pair(className: string) {
  const top = h("div", { class: "clip" }), bottom = h("div", { class: "clip small faint" });
  return { cell: h("td", { class: className }, top, bottom), top, bottom };
}

function show(element: HTMLElement, text: string, title: string | null = null): void {
  say(element, text);
  mark(element, "title", title);
}

export function jobRow(state: State, now: () => number): RowElement<Job> {
  const link = h("a"), square = swatch(0);
  const owner = h("div", { class: "clip small faint wide" }), narrow = h("div", { class: "two-lines small faint narrow" });
  const phase = h("span", { class: "phase" });
  const phaseNote = h("div", { class: "clip small faint" });
  const replicas = pair("num replicas"), batch = pair("num wide"), eta = pair("num wide"), restarts = pair("num wide");
  const throughput = h("td", { class: "num wide" }), efficiency = h("td", { class: "num wide" }), goodput = h("td", { class: "num middle" });
  const bar = h("i"), done = h("div", { class: "clip" });
  const submitted = h("td", { class: "num wide" }), cost = pair("num wide cost");
  const why = h("div", { class: "two-lines small soft" });
  const element = h("tr", null,
    h("th", { scope: "row", class: "job" }, h("div", { class: "clip" }, square, link), owner, narrow),
    h("td", { class: "phase-cell" }, phase, phaseNote),
    replicas.cell, batch.cell, throughput, efficiency, goodput,
    h("td", { class: "progress" }, done, h("div", { class: "bar", "aria-hidden": "true" }, bar)),
    eta.cell, restarts.cell, submitted, cost.cell, h("td", { class: "why wide" }, why));

  function update(job: Job): void {
    const live = isLive(job);
    const reason = reasonOf(job, now()) ?? "";
    if (element.dataset["job"] !== job.name) {
      element.dataset["job"] = job.name;
      say(link, job.name);
      mark(link, "href", jobAddress(job.name));
      mark(link, "title", job.name);
    }
    paintSwatch(square, job.index);
    show(owner, [job.owner, job.application].filter(Boolean).join(" · "));
    show(narrow, reason || (job.owner ?? ""), reason || null);
    say(phase, job.phase === "pending" ? "waiting" : job.phase);
    mark(phase, "data-phase", job.phase);
    show(phaseNote, ...phaseText(job, now()));
    show(replicas.top, job.desired && live ? `${job.replicas} → ${sum(job.desired)}` : job.replicas ? count(job.replicas) : unknown,
      `${job.minReplicas ?? 0} to ${job.maxReplicas === null ? "any number" : count(job.maxReplicas)} are allowed`);
    const place = state.placementText(job.placement);
    show(replicas.bottom, place, place || null);
    show(batch.top, live ? batchFactors(job) : unknown, "micro-batch × replicas × steps per update");
    show(batch.bottom, live && known(job.batch) && known(job.m) ? `= ${count(job.batch)}` : "");
    show(throughput, number(job.throughput), title(job.throughput, "samples/s"));
    show(efficiency, percent(job.efficiency), title(job.efficiency, "of 1"));
    show(goodput, number(job.goodput), title(job.goodput, "useful samples/s"));
    const share = shareDone(job);
    show(done, share === null ? unknown : percent(Math.floor(share * 100) / 100),
      known(job.progress) && known(job.total) ? `${number(job.progress)} of ${number(job.total)} iterations` : null);
    bar.style.width = `${(share ?? 0) * 100}%`;
    const end = endsAt(job, now());
    show(eta.top, live ? duration(etaAt(job, now())) : unknown, end === null ? null : exactTime(end));
    show(eta.bottom, live && end !== null ? time(end, now()) : "");
    show(restarts.top, count(job.restarts));
    show(restarts.bottom, job.failures ? plural(job.failures, "failure") : "");
    show(submitted, time(job.submittedAt, now()), exactTime(job.submittedAt));
    show(cost.top, money(costAt(job, now())));
    show(cost.bottom, job.pricePerHour ? `${money(job.pricePerHour)}/h` : "", "per hour now");
    show(why, reason, reason || null);
  }
  return { element, show: update };
}

function sum(placement: readonly number[]): number {
  return placement.reduce((total, value, at) => total + (at % 2 ? value : 0), 0);
}

function title(value: number | null, unit: string): string | null {
  return value === null ? null : `${precise(value)} ${unit}`;
}

function phaseText(job: Job, now: number): [string, string | null] {
  if (job.phase === "pending") return [known(job.submittedAt) ? duration(Math.round(now - job.submittedAt)) : "", `submitted ${exactTime(job.submittedAt)}`];
  if (isLive(job)) return [known(job.startedAt) ? duration(Math.round(now - job.startedAt)) : "", `this generation started ${exactTime(job.startedAt)}`];
  return [time(job.endedAt, now), `ended ${exactTime(job.endedAt)}`];
}
