// SPDX-License-Identifier: Apache-2.0
// The timeline of every job on a canvas: a row per job in order of submission, coloured by the number of replicas.
//
//   waits ----|##1##|####4####|--|##2##|
//
// The job under the pointer is marked in all timelines of its group, and a box tells its numbers.
import { oklch } from "./colours.ts";
import { h } from "./dom.ts";
import { duration, isElapsed, known, percent, plural, shorten, time } from "./format.ts";
import { cancelled, failed, finished, ticks, type Outcome, type Shown } from "./report_data.ts";
import { colour, isDark, onTheme } from "./theme.ts";
import { hideTip, showTip } from "./tip.ts";

const axisHeight = 20, gap = 1;

// The colour of a number of replicas: lighter for few, in a dark theme darker.
export function replicaColour(replicas: number, most: number, dark: boolean): string {
  const share = most > 1 ? Math.log2(replicas) / Math.log2(most) : 1;
  return dark ? oklch(0.42 + 0.46 * share, 0.07 + 0.06 * share, 262 - 70 * share) : oklch(0.86 - 0.46 * share, 0.06 + 0.1 * share, 230 + 35 * share);
}

export function mostReplicas(shown: Shown[]): number {
  let most = 1;
  for (const { outcome } of shown)
    for (const changes of outcome.jobs.changes ?? []) for (let i = 1; i < changes.length; i += 2) most = Math.max(most, changes[i] as number);
  return most;
}

function compared(rho: number): string {
  return rho > 1.005 ? "slower than" : rho < 0.995 ? "faster than" : "as fast as";
}

export class Timeline {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly place: HTMLElement;
  private marked = -1;
  private readonly outcome: Outcome;
  private readonly stops: (() => void)[] = [];

  constructor(
    private readonly shown: Shown,
    private readonly span: [number, number],
    private readonly origin: number, // where the outcome's clock begins on the common axis
    private readonly most: number, // replicas of any job, for the colours
    private readonly onMark: (name: string | null) => void,
  ) {
    this.outcome = shown.outcome;
    this.canvas = h("canvas", { role: "img", "aria-label": this.describe() });
    this.place = h("div", { class: "timeline-place" }, this.canvas);
    this.element = h("figure", { class: "timeline" }, h("figcaption", null, h("h3", null, shown.label), h("span", { class: "faint small" }, this.caption())), this.place);
    this.place.style.height = `${this.height()}px`;
    const resize = new ResizeObserver(() => this.draw());
    resize.observe(this.place);
    this.stops.push(() => resize.disconnect(), onTheme(() => this.draw()));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
  }

  close(): void {
    for (const stop of this.stops) stop();
  }

  // Mark the job of that name, or none.
  mark(name: string | null): void {
    const row = name === null ? -1 : this.outcome.jobs.name.indexOf(name);
    if (row === this.marked) return;
    this.marked = row;
    this.draw();
  }

  private rows(): number {
    return this.outcome.jobs.name.length;
  }

  // Rows are 14 pixels high, or what is left for them.
  private height(): number {
    return Math.min(Math.max(this.rows() * 14, 60), 560) + axisHeight;
  }

  private caption(): string {
    const { mean_jct, utilisation } = this.outcome.numbers;
    return `mean ${duration(mean_jct)}, ${percent(utilisation)} of the slots in use`;
  }

  private describe(): string {
    return `${this.shown.label}: replicas of ${plural(this.rows(), "job")} over time. The table of jobs has the numbers.`;
  }

  private draw(): void {
    const width = this.place.clientWidth, height = this.height(), scale = devicePixelRatio || 1;
    if (!width) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    this.drawAxis(context, width, height);
    const rowHeight = (height - axisHeight) / Math.max(1, this.rows());
    const wait = colour("--slot"), bad = colour("--bad"), faint = colour("--mark");
    const dark = isDark();
    const palette = new Map<number, string>();
    const replicasColour = (replicas: number) => {
      let found = palette.get(replicas);
      if (!found) palette.set(replicas, (found = replicaColour(replicas, this.most, dark)));
      return found;
    };
    for (let row = 0; row < this.rows(); row++) this.drawRow(context, row, rowHeight, width, wait, bad, faint, replicasColour);
    if (rowHeight >= 12) this.drawNames(context, rowHeight, width);
    if (this.marked >= 0) {
      context.strokeStyle = colour("--ink");
      context.lineWidth = 1.5;
      context.strokeRect(0.75, this.marked * rowHeight - 1, width - 1.5, Math.max(rowHeight, 2) + 2);
    }
  }

  private clock(at: number): string {
    return isElapsed(at) ? duration(at) : time(at, this.span[1], this.span[1] - this.span[0] < 900);
  }

  private x(at: number, width: number): number {
    const [from, until] = this.span;
    return ((at - from) / (until - from)) * width;
  }

  private drawAxis(context: CanvasRenderingContext2D, width: number, height: number): void {
    const bottom = height - axisHeight;
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = colour("--faint");
    context.strokeStyle = colour("--grid");
    context.textBaseline = "middle";
    for (const at of ticks(this.span[0], this.span[1], Math.max(2, Math.floor(width / 84)))) {
      const x = Math.round(this.x(at, width)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, bottom);
      context.stroke();
      const text = this.clock(at);
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(Math.max(0, x - wide / 2), width - wide), height - axisHeight / 2 + 2);
    }
  }

  private drawRow(context: CanvasRenderingContext2D, row: number, rowHeight: number, width: number, wait: string, bad: string, faint: string, replicasColour: (replicas: number) => string): void {
    const jobs = this.outcome.jobs, changes = jobs.changes?.[row] ?? [];
    const submit = (jobs.submit?.[row] ?? 0) - this.origin;
    const end = known(jobs.end?.[row]) ? (jobs.end?.[row] as number) - this.origin : (this.outcome.until ?? 0) - this.origin;
    const space = rowHeight > 4 ? gap : 0, top = row * rowHeight, thick = Math.max(0.8, rowHeight - space);
    const begin = Math.max(submit, this.span[0]);
    context.fillStyle = wait;
    const thin = Math.max(0.6, thick * 0.25);
    context.fillRect(this.x(begin, width), top + (thick - thin) / 2, Math.max(0.5, this.x(end, width) - this.x(begin, width)), thin);
    for (let i = 0; i < changes.length; i += 2) {
      const replicas = changes[i + 1] as number;
      if (replicas === 0) continue;
      const from = submit + (changes[i] as number);
      const until = i + 2 < changes.length ? submit + (changes[i + 2] as number) : end;
      context.fillStyle = replicasColour(replicas);
      context.fillRect(this.x(from, width), top, Math.max(0.6, this.x(until, width) - this.x(from, width)), thick);
    }
    const phase = jobs.phase?.[row];
    if (phase === failed || phase === cancelled) {
      context.fillStyle = phase === failed ? bad : faint;
      context.fillRect(this.x(end, width) - 1, top, 3, thick);
    }
  }

  // Behind the job, or before it where there is no room.
  private drawNames(context: CanvasRenderingContext2D, rowHeight: number, width: number): void {
    const jobs = this.outcome.jobs;
    context.fillStyle = colour("--faint");
    context.textBaseline = "middle";
    jobs.name.forEach((name, row) => {
      const text = shorten(name, 32), wide = context.measureText(text).width, end = jobs.end?.[row];
      const right = this.x((known(end) ? end : (this.outcome.until ?? 0)) - this.origin, width) + 6;
      const left = this.x((jobs.submit?.[row] ?? 0) - this.origin, width) - wide - 6;
      if (right + wide <= width) context.fillText(text, right, (row + 0.5) * rowHeight);
      else if (left >= 0) context.fillText(text, left, (row + 0.5) * rowHeight);
    });
  }

  private point(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const height = this.height() - axisHeight;
    const row = Math.floor(((event.clientY - box.top) / height) * this.rows());
    const name = this.outcome.jobs.name[row];
    if (name === undefined) return this.leave();
    this.onMark(name);
    const [from, until] = this.span;
    showTip(event.clientX, event.clientY, this.tipOf(row, from + ((event.clientX - box.left) / box.width) * (until - from)));
  }

  private leave(): void {
    hideTip();
    this.onMark(null);
  }

  private tipOf(row: number, at: number): Node[] {
    const jobs = this.outcome.jobs, jct = jobs.jct[row], rho = jobs.rho?.[row];
    const line = (text: string) => h("div", null, text);
    return [
      h("b", null, jobs.name[row] ?? ""),
      ...(jobs.application?.[row] && jobs.application[row] !== jobs.name[row] ? [line(jobs.application[row] ?? "")] : []),
      line(`at ${this.clock(Math.max(0, at))}: ${this.stateAt(row, at)}`),
      ...(known(jct) ? [line(`completed in ${duration(jct)}`)] : [line(jobs.phase?.[row] === failed ? "failed" : jobs.phase?.[row] === cancelled ? "cancelled" : "not ended")]),
      ...(known(rho) ? [line(`rho ${rho.toFixed(2)}: ${compared(rho)} alone on its share`)] : []),
      ...(jobs.restarts ? [line(plural(jobs.restarts[row] ?? 0, "restart"))] : []),
    ];
  }

  private stateAt(row: number, at: number): string {
    const jobs = this.outcome.jobs, changes = jobs.changes?.[row] ?? [];
    const since = at - ((jobs.submit?.[row] ?? 0) - this.origin);
    const end = jobs.end?.[row];
    if (since < 0) return "not submitted";
    if (known(end) && at > end - this.origin) return jobs.phase?.[row] === finished ? "done" : "ended";
    let replicas = 0;
    for (let i = 0; i < changes.length && (changes[i] as number) <= since; i += 2) replicas = changes[i + 1] as number;
    return replicas > 0 ? plural(replicas, "replica") : "waits";
  }
}
