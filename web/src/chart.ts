// SPDX-License-Identifier: Apache-2.0
// Line charts over time or over a number, drawn by uPlot.  A chart has a title, the values under the cursor (or the last
// ones) as text, and follows the width of its place and the theme.  Charts of the same group share their cursor.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { fill, h, type Child } from "./dom.ts";
import { duration, isElapsed, known, number, time, unknown, type Maybe } from "./format.ts";
import { dashLengths, lineKey, lineStyle, type Dash } from "./line_style.ts";
import { colour, onTheme } from "./theme.ts";

export type Values = readonly (number | null)[];

export interface Line {
  label: string;
  values: Values;
  colour?: string; // a custom property or a colour; that of its place by default
  step?: boolean; // a value holds until the next one
  area?: boolean; // fill the area below it
  dash?: Dash;
  points?: boolean; // show each point
  format?: (value: Maybe) => string;
}

export interface Mark {
  x: number;
  label?: string;
  colour?: string;
}

export interface Spot {
  x: number;
  y: number;
  label: string;
  place?: "above" | "left" | "right"; // of the label; left and right are a little lower
  colour?: string;
}

export interface ChartOptions {
  title: string;
  note?: string; // what is shown, in a sentence; read by screen readers
  axis?: "time" | "number"; // of x
  xLabel?: (x: number) => string; // the x value in the text above the chart
  ticks?: readonly number[]; // where the x axis has labels, which xLabel writes
  lastValues?: boolean; // false: no values above the chart without a cursor
  least_s?: number; // of a time axis
  height?: number;
  group?: string;
  zero?: boolean; // the y axis starts at 0 (true)
  top?: number; // the y axis reaches at least to this
  format?: (value: Maybe) => string;
  marks?: Mark[]; // vertical lines
  spots?: Spot[]; // points with a label
  empty?: string; // shown instead of a chart without values
}

const elapsedSteps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000];

export class Chart {
  readonly element: HTMLElement;
  private readonly readout = h("span", { class: "readout" });
  private readonly place = h("div", { class: "plot" });
  private plot: uPlot | null = null;
  private x: readonly number[] = [];
  private lines: Line[] = [];
  private shape = "";
  private readonly resize: ResizeObserver;
  private readonly endTheme: () => void;

  constructor(private options: ChartOptions) {
    this.element = h(
      "figure",
      { class: "chart", role: "group", "aria-label": options.title },
      h("figcaption", null, h("span", { class: "chart-title" }, options.title), this.readout),
      this.place,
    );
    this.place.style.height = `${this.height()}px`;
    this.resize = new ResizeObserver(() => {
      const width = this.place.clientWidth;
      if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: this.height() });
      else if (!this.plot) this.draw();
    });
    this.resize.observe(this.place);
    this.endTheme = onTheme(() => this.redraw());
  }

  // Show other values.  Marks and spots replace the former ones.
  set(x: readonly number[], lines: Line[], changes: Pick<ChartOptions, "marks" | "spots" | "note" | "empty"> = {}): void {
    this.options = { ...this.options, ...changes };
    this.x = x;
    this.lines = lines;
    const shape = JSON.stringify(lines.map((line) => [line.label, line.colour, line.step, line.area, line.dash, line.points])) +
      (x.length ? isElapsed(x[0] as number) : "");
    if (this.plot && shape === this.shape && this.hasValues()) {
      this.plot.setData(this.data());
      this.tell(null);
    } else {
      this.shape = shape;
      this.redraw();
    }
  }

  close(): void {
    this.resize.disconnect();
    this.endTheme();
    this.plot?.destroy();
    this.plot = null;
  }

  private height(): number {
    return this.options.height ?? 120;
  }

  private hasValues(): boolean {
    return this.x.length > 0 && this.lines.some((line) => line.values.some(known));
  }

  private data(): uPlot.AlignedData {
    return [this.x as number[], ...this.lines.map((line) => line.values as (number | null)[])] as uPlot.AlignedData;
  }

  private redraw(): void {
    this.plot?.destroy();
    this.plot = null;
    this.draw();
  }

  private draw(): void {
    const width = this.place.clientWidth;
    if (!this.hasValues()) {
      fill(this.place, h("p", { class: "empty" }, this.options.empty ?? "No values yet."));
      fill(this.readout);
      return;
    }
    if (!width) return; // not yet in the page; the observer calls again
    fill(this.place);
    this.plot = new uPlot(this.configuration(width), this.data(), this.place);
    const canvas = this.place.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    this.tell(null);
  }

  private formatOf(line: Line): (value: Maybe) => string {
    return line.format ?? this.options.format ?? number;
  }

  private lineColour(line: Line, position: number): string {
    return colour(line.colour ?? lineStyle(position).colour);
  }

  // The values at an index, or the last ones, as text.
  private tell(index: number | null): void {
    const parts: Child[] = [];
    const at = index ?? lastKnown(this.lines);
    const x = this.x[at];
    if (index !== null && x !== undefined) parts.push(h("span", { class: "readout-x" }, this.xText(x)));
    this.lines.forEach((line, position) => {
      const value = line.values[at];
      const key = lineKey(this.lineColour(line, position), line.dash);
      const hidden = index === null && this.options.lastValues === false;
      parts.push(h("span", null, this.lines.length > 1 && key, this.lines.length > 1 && `${line.label} `,
        !hidden && h("b", null, known(value) ? this.formatOf(line)(value) : unknown)));
    });
    const empty = this.options.axis === "number" && index === null && this.options.lastValues !== false;
    fill(this.readout, empty ? [] : parts);
    if (index === null) {
      const text = this.lines.map((line) => summary(line, this.formatOf(line))).join(" ");
      this.place.querySelector("canvas")?.setAttribute("aria-label", `${this.options.note ?? this.options.title}. ${text}`);
    }
  }

  private xText(x: number): string {
    if (this.options.xLabel) return this.options.xLabel(x);
    return this.options.axis === "number" ? number(x) : time(x, Date.now() / 1000);
  }

  private configuration(width: number): uPlot.Options {
    const ink = colour("--faint"), grid = colour("--grid"), surface = colour("--surface");
    const numeric = this.options.axis === "number";
    const elapsed = !numeric && isElapsed(this.x[0] ?? 0);
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: ink, font, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const { zero = true, top } = this.options;
    return {
      width,
      height: this.height(),
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { size: 7 },
        ...(this.options.group ? { sync: { key: this.options.group } } : {}),
      },
      scales: {
        x: {
          time: !numeric && !elapsed,
          range: (_plot: uPlot, low: number, high: number) => {
            if (!numeric) return timeRange(this.x, this.options.least_s);
            return this.options.ticks ? [low, high] : [0, high * 1.03];
          },
        },
        y: {
          range: (_plot, low, high) => {
            const bottom = zero ? Math.min(0, low ?? 0) : (low ?? 0);
            const upper = Math.max(high ?? 0, top ?? -Infinity);
            const span = upper - bottom || Math.abs(upper) || 1;
            return [zero ? bottom : bottom - span * 0.08, top !== undefined && upper === top ? upper : upper + span * 0.08];
          },
        },
      },
      axes: [
        {
          ...axis,
          size: 24,
          space: (_plot: uPlot, _axis: number, low: number, high: number) => (elapsed || high - low < 600 ? 76 : 60),
          ...(elapsed ? { incrs: elapsedSteps, values: (plot: uPlot, values: number[]) => values.map((value) => (fits(plot, value, 30) ? duration(value) : "")) } : {}),
          ...(this.options.ticks ? { splits: () => this.visibleTicks(), values: (_plot: uPlot, values: number[]) => values.map((value) => this.xText(value)) }
            : numeric ? { values: (_plot: uPlot, values: number[]) => values.map((value) => (Number.isInteger(value) ? number(value) : "")) } : {}),
          ...(!numeric && !elapsed ? { values: dateLabels } : {}),
        },
        {
          ...axis,
          space: 28,
          size: (plot, values) => Math.max(34, ...(values ?? []).map((value) => textWidth(plot, value, font) + 12)),
          values: (_plot, values) => values.map((value) => axisNumber(value, this.lines[0], this.options)),
        },
      ],
      series: [
        {},
        ...this.lines.map((line, position): uPlot.Series => {
          const stroke = this.lineColour(line, position), dash = dashLengths[line.dash ?? "solid"];
          return {
            label: line.label,
            stroke,
            width: 1.5,
            spanGaps: false,
            ...(dash ? { dash } : {}),
            ...(line.area ? { fill: transparent(stroke, 0.14) } : {}),
            ...(line.step && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
            points: line.points ? { show: true, size: 5, fill: surface } : { show: line.values.filter(known).length === 1, size: 5 },
          };
        }),
      ],
      hooks: {
        setCursor: [(plot) => this.tell(plot.cursor.idx ?? null)],
        drawClear: [(plot) => this.drawMarks(plot)],
        draw: [(plot) => this.drawSpots(plot)],
      },
    };
  }

  // Those that leave room for their labels.
  private visibleTicks(): number[] {
    const first = this.x[0] ?? 0, last = this.x[this.x.length - 1] ?? 0;
    const space = (64 * (last - first)) / Math.max(1, this.place.clientWidth);
    let before = -Infinity;
    return (this.options.ticks ?? []).filter((tick) => {
      const fits = tick >= first && tick <= last && tick - before >= space;
      if (fits) before = tick;
      return fits;
    });
  }

  private drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const mark of this.options.marks ?? []) {
      const x = Math.round(plot.valToPos(mark.x, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = colour(mark.colour ?? "--mark");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  private drawSpots(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    ctx.save();
    ctx.textAlign = "left"; // the axes leave theirs behind
    ctx.textBaseline = "alphabetic";
    ctx.font = `600 ${11 * scale}px ${getComputedStyle(document.body).fontFamily}`;
    for (const spot of this.options.spots ?? []) {
      const x = plot.valToPos(spot.x, "x", true), y = plot.valToPos(spot.y, "y", true);
      const width = ctx.measureText(spot.label).width;
      ctx.fillStyle = colour(spot.colour ?? "--accent");
      ctx.strokeStyle = colour("--surface");
      ctx.lineWidth = 2 * scale;
      ctx.beginPath();
      ctx.arc(x, y, 5 * scale, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
      const wanted = { above: x - width / 2, left: x - width - 7 * scale, right: x + 7 * scale }[spot.place ?? "above"];
      const left = Math.min(Math.max(wanted, bbox.left + 2 * scale), bbox.left + bbox.width - width - 2 * scale);
      const top = bbox.top + 12 * scale, bottom = bbox.top + bbox.height - 3 * scale;
      const base = Math.min(bottom, Math.max(top, (spot.place ?? "above") === "above" ? y - 10 * scale : y + 16 * scale));
      ctx.lineWidth = 3 * scale;
      ctx.strokeText(spot.label, left, base);
      ctx.fillText(spot.label, left, base);
    }
    ctx.restore();
  }
}

function lastKnown(lines: Line[]): number {
  let last = 0;
  for (const line of lines)
    for (let at = line.values.length - 1; at > last; at--)
      if (known(line.values[at])) last = at;
  return last;
}

// The range and the last value of a line in words.
export function summary(line: Line, format: (value: Maybe) => string = number): string {
  let low = Infinity, high = -Infinity, last: number | null = null;
  for (const value of line.values)
    if (known(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
      last = value;
    }
  if (last === null) return `${line.label}: no values.`;
  return `${line.label}: now ${format(last)}, between ${format(low)} and ${format(high)}.`;
}

function axisNumber(value: number, line: Line | undefined, options: ChartOptions): string {
  if (value === 0) return "0";
  const format = line?.format ?? options.format;
  return format ? format(value) : number(value);
}

function textWidth(plot: uPlot, text: string, font: string): number {
  plot.ctx.save();
  plot.ctx.font = font;
  const width = plot.ctx.measureText(text ?? "").width;
  plot.ctx.restore();
  return width;
}

// rgb(1, 2, 3) or #rrggbb with another opacity.
export function transparent(colour: string, opacity: number): string {
  const share = Math.round(opacity * 100);
  return `color-mix(in srgb, ${colour} ${share}%, transparent)`;
}

// From the first time to the last one.  A chart of one point, or of milliseconds, shows at least so many seconds.  What uPlot would take
// for one point is years.
export function timeRange(x: readonly number[], least_s = 10): [number, number] {
  const low = x[0] ?? 0, high = x[x.length - 1] ?? low;
  const missing = Math.max(0, least_s - (high - low)) / 2;
  return [low - missing, high + missing];
}

// Is there room for a label of this half width, in pixels, right of its place?
function fits(plot: uPlot, at: number, half: number): boolean {
  const { min, max } = plot.scales["x"] ?? {};
  if (min === null || min === undefined || max === null || max === undefined || max === min) return true;
  return ((max - at) / (max - min)) * (plot.width - 60) + 10 >= half;
}

const dayLabel = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clockLabel = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const secondsLabel = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

// Labels of a time axis in the reader's zone: the day at midnight, else the clock.
function dateLabels(plot: uPlot, splits: number[], _axis: number, _space: number, step: number): string[] {
  return splits.map((at) => {
    const date = new Date(at * 1000);
    if (!fits(plot, at, step < 60 ? 28 : 18)) return "";
    if (step >= 86400 || (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0)) return dayLabel.format(date);
    return (step < 60 ? secondsLabel : clockLabel).format(date);
  }).map((label, at, labels) => (label === labels[at - 1] ? "" : label)); // steps below a second
}

