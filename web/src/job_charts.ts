// SPDX-License-Identifier: Apache-2.0
// The charts of one job over time.
import { Chart, type Line } from "./chart.ts";
import { h, say } from "./dom.ts";
import { known } from "./format.ts";
import { isLive, type Job } from "./job.ts";
import type { JobHistory } from "./job_types.ts";

type Column = Exclude<keyof JobHistory["points"], "at">;

const charts: { column: Column; title: string; line: Partial<Line> }[] = [
  { column: "replicas", title: "Replicas", line: { area: true } },
  { column: "batch", title: "Batch, samples per update", line: { colour: "--line-2" } },
  { column: "goodput", title: "Goodput, useful samples/s", line: { colour: "--line-3", area: true } },
  { column: "progress", title: "Progress, iterations", line: { step: false } },
  { column: "noise_scale", title: "Noise scale, samples", line: { colour: "--line-4" } },
  { column: "rate_factor", title: "Learning-rate factor", line: { colour: "--line-2" } },
];

export class JobCharts {
  readonly element: HTMLElement;
  private readonly missing = h("p", { class: "small faint" });
  private readonly charts: { column: Column; line: Partial<Line>; chart: Chart }[];

  constructor() {
    this.charts = charts.map(({ column, title, line }) => ({ column, line, chart: new Chart({ title, axis: "time", group: "job", height: 116 }) }));
    this.element = h("div", null, h("div", { class: "charts" }, this.charts.map(({ chart }) => chart.element)), this.missing);
  }

  // A point holds until the next one, so the last one is repeated at the end of the job, or now.
  set(history: JobHistory, job: Job, now: number): void {
    const { points } = history;
    const last = points.at.length - 1;
    const end = isLive(job) ? now : (job.endedAt ?? now);
    const extended = last >= 0 && end > (points.at[last] as number);
    const at = extended ? [...points.at, end] : points.at;
    const marks = history.generations.flatMap((generation) => (generation.started_at === null ? [] : [{ x: generation.started_at }]));
    const missing: string[] = [];
    for (const { column, line, chart } of this.charts) {
      const values = points[column] ?? [];
      const empty = column !== "replicas" && !values.some((value) => known(value) && value !== 0);
      chart.element.hidden = empty;
      if (empty) missing.push(column.replace("_", " ").replace("rate factor", "learning-rate factor"));
      const held = hold(at, extended ? [...values, values[last] ?? null] : values);
      chart.set(held.at, [{ label: column.replace("_", " "), values: held.values, step: true, ...line }], { marks, empty: "It has not started yet." });
    }
    say(this.missing, missing.length ? `Not reported${isLive(job) ? " yet" : ""}: ${missing.join(", ")}.` : "");
  }

  // Say why there are none.
  fail(sentence: string): void {
    for (const { chart } of this.charts) chart.element.hidden = true;
    say(this.missing, sentence);
  }

  close(): void {
    for (const { chart } of this.charts) chart.close();
  }
}

// A value holds until the next point, also if that one is unknown: it is repeated there, so that its line reaches that far.
export function hold(at: readonly number[], values: readonly (number | null)[]): { at: number[]; values: (number | null)[] } {
  const result: { at: number[]; values: (number | null)[] } = { at: [], values: [] };
  at.forEach((x, row) => {
    const value = values[row] ?? null, former = row > 0 ? (values[row - 1] ?? null) : null;
    if (value === null && former !== null) {
      result.at.push(x);
      result.values.push(former);
    }
    result.at.push(x);
    result.values.push(value);
  });
  return result;
}
