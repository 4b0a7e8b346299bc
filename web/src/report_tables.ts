// SPDX-License-Identifier: Apache-2.0
// The tables of a report: numbers of policies, means over workloads, and all jobs.
import { fill, h, type Child } from "./dom.ts";
import { change, count, duration, known, number, percent, precise, time, type Maybe } from "./format.ts";
import { lineKey, lineStyle } from "./line_style.ts";
import { mean, meanJct, policyOf, workloads, type Numbers, type Outcome, type Shown } from "./report_data.ts";
import { compareKeys, type Key } from "./sorting.ts";

interface Column {
  title: string;
  note: string;
  value: (numbers: Numbers) => Maybe;
  text: (value: Maybe) => string;
  better?: "low" | "high"; // the best value is marked
}

const columns: Column[] = [
  { title: "Mean JCT", note: "completion time since the submission, mean over finished jobs", value: (n) => n.mean_jct, text: duration, better: "low" },
  { title: "Median", note: "of completion times", value: (n) => n.median_jct, text: duration, better: "low" },
  { title: "p99", note: "99 % of the jobs complete within this time", value: (n) => n.p99_jct, text: duration, better: "low" },
  { title: "Makespan", note: "from the first submission to the last end", value: (n) => n.makespan, text: duration, better: "low" },
  { title: "In use", note: "share of the slots that jobs hold, between first submission and last end", value: (n) => n.utilisation, text: (value) => percent(value, 1) },
  { title: "Slot-hours", note: "per job", value: (n) => n.slot_hours_per_job, text: number },
  { title: "Restarts", note: "per job", value: (n) => n.restarts_per_job, text: number },
  {
    title: "Worst rho", note: "finish-time fairness of the job that fares worst; above 1 it would have been faster alone with an equal share",
    value: (n) => n.worst_rho, text: (value) => (known(value) ? value.toFixed(2) : "–"), better: "low",
  },
  { title: "Unfair", note: "share of the jobs with rho above 1", value: (n) => n.unfair, text: (value) => percent(value, 1), better: "low" },
];

export function key(shown: Shown): HTMLElement {
  const { colour, dash } = lineStyle(shown.place);
  return lineKey(`var(${colour})`, dash);
}

// The best of a column; null: only one has it, or none is better.
function bestOf(shown: Shown[], column: Column): number | null {
  const values = shown.map((one) => column.value(one.outcome.numbers)).filter(known);
  if (!column.better || values.length < 2) return null;
  const best = column.better === "low" ? Math.min(...values) : Math.max(...values);
  return values.every((value) => value === best) ? null : best;
}

interface Item {
  title: string;
  note?: string;
  cell: (one: Shown) => HTMLElement;
}

function itemsOf(shown: Shown[]): Item[] {
  const first = shown[0]?.outcome.numbers.mean_jct;
  const plain = (title: string, text: (numbers: Numbers) => string): Item => ({ title, cell: (one) => h("td", { class: "num" }, text(one.outcome.numbers)) });
  const relative: Item = {
    title: "Relative", note: "mean JCT relative to the first policy",
    cell: ({ outcome: { numbers: { mean_jct: value } } }) => h("td", { class: "num soft" }, known(value) && known(first) ? change(value / first) : "–"),
  };
  const used = columns.filter((column) => shown.some((one) => known(column.value(one.outcome.numbers))));
  return [
    plain("Jobs", (numbers) => count(numbers.jobs)),
    ...used.flatMap((column, i): Item[] => [
      { title: column.title, note: column.note, cell: (one) => valueCell(column, column.value(one.outcome.numbers), bestOf(shown, column)) },
      ...(i === 0 && shown.length > 1 ? [relative] : []),
    ]),
    plain("Rounds", (numbers) => count(numbers.rounds)),
  ];
}

function valueCell(column: Column, value: Maybe, best: number | null): HTMLElement {
  return h("td", { class: known(value) && value === best ? "num best" : "num", title: known(value) ? precise(value) : null }, column.text(value));
}

// A row for each policy; on a narrow page, a column.
export function numbersTable(shown: Shown[]): HTMLElement {
  const items = itemsOf(shown);
  const policy = (one: Shown) => h("span", { class: "nowrap" }, key(one), one.label);
  const title = (item: Item, scope: "row" | "col") => h("th", { scope, class: scope === "col" ? "num" : null, title: item.note }, item.title);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers" },
    h("table", { class: "numbers beside" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Policy"), items.map((item) => title(item, "col")))),
      h("tbody", null, shown.map((one) => h("tr", null, h("th", { scope: "row" }, policy(one)), items.map((item) => item.cell(one)))))),
    h("table", { class: "numbers stacked" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Policy"), shown.map((one) => h("th", { scope: "col", class: "num" }, policy(one))))),
      h("tbody", null, items.map((item) => h("tr", null, title(item, "row"), shown.map((one) => item.cell(one)))))));
}

// Policies over all workloads: the mean of the mean completion times.  Several runs of a policy and workload, for example with other
// seeds, count by their mean.
export function workloadsTable(outcomes: Outcome[]): HTMLElement {
  const names = workloads(outcomes);
  const policies = [...new Set(outcomes.map(policyOf))];
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Mean JCT of all workloads" },
    h("table", { class: "numbers" },
      h("caption", null, "Mean JCT of all workloads"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Policy"), h("th", { scope: "col", class: "num" }, "Mean"),
        names.map((name) => h("th", { scope: "col", class: "num" }, name || "no name")))),
      h("tbody", null, policies.map((policy) => {
        const means = names.map((name) => meanJct(outcomes, name, policy));
        return h("tr", null, h("th", { scope: "row" }, policy), h("td", { class: "num" }, h("b", null, duration(mean(means.map((each) => each.mean))))),
          means.map((each) => h("td", { class: "num" }, duration(each.mean), each.journals > 1 && h("div", { class: "small faint" }, `mean of ${each.journals} runs`))));
      }))));
}

// ---- All jobs

interface Row {
  name: string;
  application: string | null;
  submit: number | null;
  jcts: (number | null)[];
  rhos: (number | null)[];
}

function rowsOf(shown: Shown[]): Row[] {
  const rows = new Map<string, Row>();
  shown.forEach(({ outcome }, place) => {
    outcome.jobs.name.forEach((name, i) => {
      let row = rows.get(name);
      if (!row) {
        const submit = outcome.jobs.submit?.[i];
        row = { name, application: outcome.jobs.application?.[i] ?? null, submit: known(submit) ? submit : null, jcts: shown.map(() => null), rhos: shown.map(() => null) };
        rows.set(name, row);
      }
      row.jcts[place] = outcome.jobs.jct[i] ?? null;
      row.rhos[place] = outcome.jobs.rho?.[i] ?? null;
    });
  });
  return [...rows.values()];
}

// Rows at once; the rest behind a button, so that the page stays quick with 100,000 jobs.
const batch = 200;

export function jobsTable(shown: Shown[]): HTMLElement {
  const rows = rowsOf(shown), withRho = shown.some((one) => one.outcome.jobs.rho);
  const withApplication = rows.some((row) => row.application && row.application !== row.name);
  const withSubmit = rows.some((row) => row.submit !== null);
  const now = rows.reduce((last, row) => Math.max(last, row.submit ?? 0), 0);
  const heads: { title: Child; note?: string; key: (row: Row) => Key; text: (row: Row) => Child; num: boolean }[] = [
    { title: "Job", key: (row) => row.name, text: (row) => row.name, num: false },
    ...(withApplication ? [{ title: "Application", key: (row: Row) => row.application, text: (row: Row) => row.application ?? "–", num: false }] : []),
    ...(withSubmit ? [{ title: "Submitted", key: (row: Row) => row.submit, text: (row: Row) => time(row.submit, now), num: true }] : []),
    ...shown.map((one, i) => ({ title: [key(one), `JCT ${one.label}`], key: (row: Row) => row.jcts[i] ?? null, text: (row: Row) => duration(row.jcts[i]), num: true })),
    ...(withRho ? shown.filter((one) => one.outcome.jobs.rho).map((one) => ({
      title: [key(one), `rho ${one.label}`], key: (row: Row) => row.rhos[one.place] ?? null,
      text: (row: Row) => { const rho = row.rhos[one.place]; return known(rho) ? rho.toFixed(2) : "–"; }, num: true,
    })) : []),
  ];
  let sorted = rows, sortedBy = -1, ascending = true, limit = batch, search = "";
  const body = h("tbody"), more = h("button", { type: "button", onclick: () => { limit += 1000; show(); } }, "");
  const found = h("span", { class: "faint small", role: "status" });
  const show = () => {
    const needle = search.toLowerCase();
    const chosen = needle ? sorted.filter((row) => `${row.name} ${row.application ?? ""}`.toLowerCase().includes(needle)) : sorted;
    fill(body, chosen.slice(0, limit).map((row) => h("tr", null, heads.map((head) => h("td", { class: head.num ? "num" : "name" }, head.text(row))))));
    more.hidden = chosen.length <= limit;
    more.textContent = `Show more (${count(chosen.length - limit)} left)`;
    found.textContent = needle ? `${count(chosen.length)} of ${count(rows.length)}` : "";
  };
  const cells = heads.map((head, i) => {
    const cell: HTMLTableCellElement = h("th", { scope: "col", class: head.num ? "num" : null, "aria-sort": "none" },
      h("button", { type: "button", class: "sort", onclick: () => {
        ascending = sortedBy === i ? !ascending : true;
        sortedBy = i;
        cells.forEach((other) => other.setAttribute("aria-sort", other === cell ? (ascending ? "ascending" : "descending") : "none"));
        sorted = [...rows].sort((a, b) => compareKeys(head.key(a), head.key(b), !ascending));
        show();
      } }, head.title));
    return cell;
  });
  const field = h("input", { type: "search", placeholder: "Search jobs", "aria-label": "Search jobs", oninput: () => { search = field.value; limit = batch; show(); } });
  show();
  return h("div", { class: "jobs" }, h("div", { class: "line" }, field, found),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All jobs" }, h("table", null, h("thead", null, h("tr", null, cells)), body)), more);
}
