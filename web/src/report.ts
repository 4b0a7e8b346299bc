// SPDX-License-Identifier: Apache-2.0
// The report of `pollux report`: policies side by side.  Its data are in the element #data of the same file.
import "./report.css";
import { Chart, type Line } from "./chart.ts";
import { fill, h, type Child } from "./dom.ts";
import { duration, exactTime, number, percent } from "./format.ts";
import {
  evenly, headline, legendSteps, logGrid, missing, sampled, shares, shownOf, subtitle, timeOrigin, timeSpan, workloads,
  type Report, type Shown, type Usage,
} from "./report_data.ts";
import { lineStyle } from "./line_style.ts";
import { jobsTable, key, numbersTable, workloadsTable } from "./report_tables.ts";
import { mostReplicas, replicaColour, Timeline } from "./report_timeline.ts";
import { chooseTheme, isDark, onTheme, startTheme, themeChoice } from "./theme.ts";

const points = 400;

function card(title: string, lead: string | null, ...content: Child[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", null, title), lead && h("p", { class: "lead" }, lead), content);
}

// ---- Charts

const times = [1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 2592000, 8640000];

function distribution(shown: Shown[], title: string, values: (one: Shown) => (number | null)[], label: (x: number) => string, marks: number[], height: number): HTMLElement {
  const grid = logGrid(shown.map(values), points);
  const ticks = marks.map(Math.log10);
  const chart = new Chart({ title, axis: "number", height, top: 1, format: (value) => percent(value), xLabel: (x) => label(10 ** x), ticks, lastValues: false });
  chart.set(grid.map(Math.log10), shown.map((one): Line => ({ label: one.label, values: shares(values(one), grid), ...lineStyle(one.place) })));
  return chart.element;
}

function overTime(shown: Shown[], title: string, value: (usage: Usage, i: number) => number, format: (value: number | null | undefined) => string, top?: number): HTMLElement {
  const journals = shown.filter((one) => one.outcome.usage), outcomes = journals.map((one) => one.outcome);
  const span = timeSpan(outcomes), origin = timeOrigin(outcomes);
  if (!span) return h("p", { class: "empty" }, "No journal.");
  const grid = evenly(span[0], span[1], points);
  const chart = new Chart({ title, height: 200, format, group: "time", lastValues: false, ...(top === undefined ? {} : { top }) });
  chart.set(grid, journals.map((one): Line => ({
    label: one.label, values: sampled(one.outcome, origin(one.outcome), grid, value), ...lineStyle(one.place),
    step: true, area: journals.length === 1,
  })));
  return chart.element;
}

function fairness(shown: Shown[]): HTMLElement {
  const known = shown.filter((one) => one.outcome.jobs.rho);
  const lead = "Finish-time fairness rho of a job: its completion time, divided by the time that it would take alone with an equal share of the cluster. Above 1 it would have been better off alone.";
  if (known.length === 0)
    return card("Fairness", null, h("p", { class: "empty" }, "Not known: rho is in journals that pollux sim --record has written to the end, and not in journals of daemons or in a RESULT.json."));
  const without = shown.filter((one) => !one.outcome.jobs.rho).map((one) => one.label);
  return card("Fairness", lead,
    distribution(known, "Jobs with rho up to", (one) => one.outcome.jobs.rho ?? [], (x) => String(Number(x.toPrecision(3))), [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100], 220),
    without.length > 0 && h("p", { class: "small faint" }, `Not known of ${without.join(", ")}.`));
}

function timelines(shown: Shown[]): HTMLElement {
  const drawn = shown.filter((one) => one.outcome.jobs.changes);
  const span = timeSpan(drawn.map((one) => one.outcome));
  const title = "Timeline of every job";
  if (!span)
    return card(title, null, h("p", { class: "empty" },
      "Not known: a RESULT.json has no timelines. Record the simulation (pollux sim --record DIR) and report its journals."));
  const origin = timeOrigin(drawn.map((one) => one.outcome)), most = mostReplicas(drawn);
  const legend = h("div", { class: "legend" });
  const paint = () => fill(legend, "Replicas:", legendSteps(most).map((step) => {
    const box = h("i", { "aria-hidden": "true" });
    box.style.background = replicaColour(step, most, isDark());
    return h("span", null, box, String(step));
  }), h("span", null, h("i", { class: "waits", "aria-hidden": "true" }), "waits"));
  paint();
  onTheme(paint);
  const mark = (name: string | null) => { for (const each of all) each.mark(name); };
  const all: Timeline[] = drawn.map((one) => new Timeline(one, span, origin(one.outcome), most, mark));
  const section = card(title, "One row per job, in order of submission, on the same time axis for all policies.",
    legend, h("div", { class: "timelines" }, all.map((each) => each.element)));
  section.classList.add("long");
  return section;
}

// ---- Sources

function made(shown: Shown[]): HTMLElement {
  return card("How it was made", null, h("ul", { class: "made" }, shown.map((one) => {
    const { outcome } = one;
    const facts = [
      outcome.source || null,
      outcome.made_at === null ? null : `recorded ${exactTime(outcome.made_at)}`,
      outcome.from === null || outcome.until === null ? null
        : outcome.from >= 1e8 ? `${exactTime(outcome.from)} to ${exactTime(outcome.until)}` : `${duration(outcome.until - outcome.from)} simulated`,
    ].filter((fact) => fact !== null);
    return h("li", null, h("h3", null, key(one), one.label), h("p", { class: "small soft" }, facts.join(" · ")),
      outcome.command === null ? h("p", { class: "small faint" }, "The command that made it is not known.") : h("pre", null, outcome.command),
      h("ul", null, missing(outcome).map((sentence) => h("li", null, sentence))));
  })));
}

// ---- The whole

function content(report: Report, workload: string): Child[] {
  const shown = shownOf(report.outcomes, workload);
  const journals = shown.filter((one) => one.outcome.usage);
  const jobs = h("details", { class: "card" }, h("summary", null, "All jobs"));
  jobs.addEventListener("toggle", () => { if (jobs.open && jobs.childElementCount === 1) jobs.append(jobsTable(shown)); });
  return [
    card("Numbers", null, numbersTable(shown)),
    card("Completion times", "The share of finished jobs that completed within a time after their submission. The axis is logarithmic.",
      distribution(shown, "Jobs completed within", (one) => one.outcome.jobs.jct, duration, times, 280)),
    journals.length > 0
      ? card("The cluster over time", null, h("div", { class: "pair" },
        overTime(shown, "Slots in use", (usage, i) => ((usage.slots[i] ?? 0) > 0 ? (usage.used[i] ?? 0) / (usage.slots[i] ?? 1) : 0), (value) => percent(value), 1),
        overTime(shown, "Jobs waiting", (usage, i) => usage.waiting[i] ?? 0, number)))
      : card("The cluster over time", null, h("p", { class: "empty" }, "Not known: a RESULT.json has no usage over time.")),
    fairness(shown),
    timelines(shown),
    jobs,
    made(shown),
  ];
}

function show(report: Report): void {
  const names = workloads(report.outcomes);
  const title = h("h1"), under = h("p", { class: "subtitle" }), place = h("div", { class: "report" });
  const chips = names.map((name) => h("button", { type: "button", class: "chip", onclick: () => choose(name) }, name || "no name"));
  const choose = (name: string) => {
    const shown = shownOf(report.outcomes, name);
    title.textContent = headline(shown);
    under.textContent = subtitle(shown);
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", String(names[i] === name)));
    fill(place, head, names.length > 1 && card("All workloads", null, workloadsTable(report.outcomes)), content(report, name), foot);
  };
  const theme = h("button", { type: "button", class: "theme", onclick: () => chooseTheme(isDark() ? "light" : "dark") });
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  nameTheme();
  onTheme(nameTheme);
  const head = h("header", { class: "report-head" }, h("div", null, h("p", { class: "brand" }, "Pollux report"), title, under,
    names.length > 1 && h("div", { class: "chips", role: "group", "aria-label": "Workload", style: { "margin-top": "12px" } }, chips)), theme);
  const foot = h("footer", { class: "foot" }, `Made ${exactTime(report.made_at)} by pollux ${report.software}`, report.command && [": ", h("code", null, report.command)], ".");
  choose(names[0] ?? "");
  document.body.append(h("main", null, place));
}

// Prints are light, whatever the screen is.
function printLight(): void {
  let kept = themeChoice();
  addEventListener("beforeprint", () => {
    kept = themeChoice();
    chooseTheme("light");
  });
  addEventListener("afterprint", () => chooseTheme(kept));
}

startTheme();
printLight();
const data = document.getElementById("data")?.textContent ?? "";
try {
  const report = JSON.parse(data) as Report;
  if (report.outcomes.length === 0) throw new Error("no outcomes");
  show(report);
} catch (error) {
  document.body.append(h("main", null, h("p", null, "This report has no data: it is the template of pollux report. ", error instanceof Error ? error.message : "")));
}
