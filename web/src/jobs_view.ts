// SPDX-License-Identifier: Apache-2.0
// The list of jobs: search, filters, sorting.  Their state is in the address.
import { formatAddress, type Address } from "./address.ts";
import { fill, h, mark, refill, say } from "./dom.ts";
import { count, plural } from "./format.ts";
import { defaultList, filterJobs, phaseFilters, readList, sortJobs, writeList, type Column, type ListState, type PhaseFilter } from "./job_list.ts";
import { jobRow, rowHeight } from "./job_row.ts";
import type { Job } from "./job.ts";
import type { Changed } from "./state.ts";
import { maySubmit, now, type App, type View } from "./view.ts";
import { VirtualRows } from "./virtual_rows.ts";

const heads: [Column, string, string, string][] = [
  ["name", "Job", "", "Name, owner and application"],
  ["phase", "Phase", "phase-cell", "Phase, and since when"],
  ["replicas", "Replicas", "num replicas", "Replicas and their nodes"],
  ["batch", "Batch", "num wide", "Micro-batch × replicas × steps per update = samples per update"],
  ["throughput", "Samples/s", "num wide", "Throughput: samples per second"],
  ["efficiency", "Efficiency", "num wide", "Progress per sample, relative to the initial batch"],
  ["goodput", "Goodput", "num middle", "Throughput × efficiency: useful samples per second"],
  ["progress", "Progress", "progress", "Share of the work that is done"],
  ["eta", "Ends in", "num wide", "Time until the end at this goodput"],
  ["restarts", "Restarts", "num wide", "Restarts by the scheduler"],
  ["submitted", "Submitted", "num wide", "Time of submission"],
  ["cost", "Cost", "num wide cost", "What its slots have cost so far"],
  ["waits", "Why it waits", "why wide", "Why it does not run as planned, or how it ended"],
];

const phaseLabels: Record<PhaseFilter, string> = {
  all: "All", live: "Live", pending: "Waiting", running: "Running", finished: "Finished", failed: "Failed", cancelled: "Cancelled",
};

// Columns of numbers start with the largest.
const downFirst = new Set<Column>(["replicas", "batch", "throughput", "efficiency", "goodput", "progress", "restarts", "submitted", "cost"]);

export class JobsView implements View {
  readonly title = "Jobs";
  readonly element: HTMLElement;
  private list: ListState;
  private readonly search: HTMLInputElement;
  private readonly owner: HTMLSelectElement;
  private readonly chips: Map<PhaseFilter, HTMLButtonElement>;
  private readonly nodeChip = h("button", { type: "button", class: "chip", hidden: true, onclick: () => this.change({ node: "" }) });
  private readonly total = h("p", { class: "small faint", role: "status" });
  private readonly headers = new Map<Column, HTMLTableCellElement>();
  private readonly table: HTMLTableElement;
  private readonly box: HTMLElement;
  private readonly nothing = h("div", { class: "empty nothing", hidden: true });
  private readonly rows: VirtualRows<Job>;

  constructor(private readonly app: App, address: Address) {
    this.list = readList(address.query);
    this.search = h("input", { type: "search", placeholder: "Search by name", "aria-label": "Search by name", value: this.list.search,
      oninput: () => this.change({ search: this.search.value }) });
    this.owner = h("select", { "aria-label": "Owner", onchange: () => this.change({ owner: this.owner.value }) });
    this.chips = new Map(phaseFilters.map((phase) =>
      [phase, h("button", { type: "button", class: "chip", onclick: () => this.change({ phase }) }, phaseLabels[phase])]));
    const body = h("tbody");
    this.table = h("table", { class: "jobs-table", "aria-label": "Jobs" },
      h("thead", null, h("tr", { "aria-rowindex": "1" }, heads.map(([column, label, className, explanation]) => {
        const header = h("th", { scope: "col", class: className, title: explanation },
          h("button", { type: "button", class: "sort", onclick: () => this.sort(column) }, label));
        this.headers.set(column, header);
        return header;
      }))), body);
    this.box = h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "List of jobs" }, this.table, this.nothing);
    this.rows = new VirtualRows(this.box, body, rowHeight, (job) => job.index, () => jobRow(app.state, () => now(app)));
    this.element = h("div", { class: "jobs" },
      h("div", { class: "toolbar" }, h("h1", null, "Jobs"), this.search,
        h("div", { class: "chips", role: "group", "aria-label": "Phase" }, [...this.chips.values()]), this.owner, this.nodeChip, this.total),
      this.box);
    this.show();
  }

  update(changed: Changed): void {
    if (changed.jobs || changed.nodes || changed.groups) this.show();
  }

  // Ages, waits and costs grow.
  tick(): void {
    this.rows.redraw();
  }

  readdress(address: Address): boolean {
    this.list = readList(address.query);
    if (this.search.value !== this.list.search) this.search.value = this.list.search;
    this.show();
    return true;
  }

  close(): void {
    this.rows.close();
  }

  private sort(column: Column): void {
    const { sort, down } = this.list;
    this.change({ sort: column, down: sort === column ? !down : downFirst.has(column) });
    this.box.scrollTop = 0;
  }

  // Typing does not fill the browser's history: the address is replaced.
  private change(part: Partial<ListState>): void {
    this.list = { ...this.list, ...part };
    history.replaceState(null, "", formatAddress(["jobs"], writeList(this.list)));
    this.show();
  }

  private show(): void {
    const { state } = this.app;
    const { list } = this;
    let node: number | null = null;
    if (list.node) for (const each of state.nodes.values()) if (each.name === list.node) node = each.index;
    const jobs = sortJobs(filterJobs(state.jobs.values(), list, node), list.sort, list.down);
    for (const [phase, chip] of this.chips) {
      mark(chip, "aria-pressed", String(phase === list.phase));
      say(chip, phaseLabels[phase]);
    }
    for (const [column, header] of this.headers)
      mark(header, "aria-sort", column === list.sort ? (list.down ? "descending" : "ascending") : null);
    this.nodeChip.hidden = !list.node;
    say(this.nodeChip, `on ${list.node} ✕`);
    mark(this.nodeChip, "aria-label", `Only jobs on ${list.node}; remove this filter`);
    this.showOwners();
    const all = state.jobs.size;
    say(this.total, (jobs.length === all ? plural(all, "job") : `${count(jobs.length)} of ${plural(all, "job")}`) +
      (state.omitted ? `; ${count(state.omitted)} older ones that ended are left out` : ""));
    this.table.classList.toggle("priced", state.priced());
    mark(this.table, "aria-rowcount", String(jobs.length + 1));
    this.table.hidden = jobs.length === 0;
    this.nothing.hidden = jobs.length > 0;
    if (!jobs.length) refill(this.nothing, String(all === 0), () => all === 0
      ? ["No jobs yet: ", h("code", null, "pollux submit train.py"), maySubmit(this.app) && [" or ", h("a", { href: "#/submit" }, "submit one here"), "."]]
      : ["No job matches. ", h("button", { type: "button", class: "link", onclick: () => this.reset() }, "Show all jobs")]);
    this.rows.set(jobs);
  }

  private reset(): void {
    this.search.value = "";
    this.change({ ...defaultList });
  }

  private showOwners(): void {
    const owners = [...new Set([...this.app.state.jobs.values()].map((job) => job.owner ?? ""))].filter(Boolean).sort();
    if (this.list.owner && !owners.includes(this.list.owner)) owners.push(this.list.owner);
    const key = owners.join("\n");
    if (this.owner.dataset["key"] !== key) {
      this.owner.dataset["key"] = key;
      fill(this.owner, h("option", { value: "" }, "All owners"), owners.map((owner) => h("option", { value: owner }, owner)));
    }
    if (this.owner.value !== this.list.owner) this.owner.value = this.list.owner;
  }
}
