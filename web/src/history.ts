// SPDX-License-Identifier: Apache-2.0
// The cluster's history of GET /v1/history: columns per minute and per hour.

export interface Series {
  at: number[];
  slots: (number | null)[];
  used: (number | null)[];
  running: (number | null)[];
  waiting: (number | null)[];
  goodput: (number | null)[];
  price: (number | null)[];
}

export interface History {
  minutes: Series;
  hours: Series;
}

export const ranges = { "1 h": 3600, "6 h": 6 * 3600, "1 day": 86400, "1 month": 31 * 86400, all: Infinity } as const;
export type Range = keyof typeof ranges;

const names = ["at", "slots", "used", "running", "waiting", "goodput", "price"] as const;

// The last `range` seconds: hours where there are no minutes, then minutes.  More than a day is shown by hours.
export function choose(history: History, range_s: number, now: number): Series {
  const from = now - range_s;
  const { minutes, hours } = history;
  const minutesFrom = range_s > 86400 && hours.at.length >= 48 ? Infinity : (minutes.at[0] ?? Infinity);
  const result: Series = { at: [], slots: [], used: [], running: [], waiting: [], goodput: [], price: [] };
  take(result, hours, (at) => at >= from && at + 3600 <= minutesFrom); // whole hours only
  take(result, minutes, (at) => at >= from && at >= minutesFrom);
  return result;
}

// From which time on rows must be asked for again: the last hour and minute were not over.
export function sinceOf(history: History): number | null {
  const hour = history.hours.at[history.hours.at.length - 1], minute = history.minutes.at[history.minutes.at.length - 1];
  const since = Math.min(hour ?? Infinity, minute ?? Infinity);
  return Number.isFinite(since) && since >= 0 ? Math.floor(since) : null;
}

const longest = { minutes: 1500, hours: 9000 }; // a little more than polluxd keeps

// The history with the rows of a later answer, which begins at `since`.
export function extend(history: History, later: History, since: number): History {
  const join = (old: Series, rows: Series, limit: number) => {
    const result: Series = { at: [], slots: [], used: [], running: [], waiting: [], goodput: [], price: [] };
    take(result, old, (at) => at < since);
    take(result, rows, () => true);
    for (const name of names) (result[name] as (number | null)[]).splice(0, Math.max(0, result[name].length - limit));
    return result;
  };
  return { minutes: join(history.minutes, later.minutes, longest.minutes), hours: join(history.hours, later.hours, longest.hours) };
}

function take(result: Series, series: Series, keep: (at: number) => boolean): void {
  series.at.forEach((at, row) => {
    if (!keep(at)) return;
    for (const name of names) (result[name] as (number | null)[]).push(series[name][row] ?? null);
  });
}

// Used slots relative to all slots.
export function utilisation(series: Series): (number | null)[] {
  return series.used.map((used, at) => {
    const slots = series.slots[at];
    return used !== null && slots ? used / slots : null;
  });
}
