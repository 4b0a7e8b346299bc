// SPDX-License-Identifier: Apache-2.0
// Numbers, durations and times as text.  Unknown values (null, undefined, NaN) are a dash.

export type Maybe = number | null | undefined;

export const unknown = "–";

export function known(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 15, useGrouping: true });

// A count: 12,345
export function count(value: Maybe): string {
  return known(value) ? whole.format(value) : unknown;
}

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

// A mean of counts over a time: 3, 0.9, 12.5, 1,235
export function meanCount(value: Maybe): string {
  if (!known(value)) return unknown;
  if (value > 0 && value < 0.05) return "under 0.1";
  return (value < 100 ? tenths : whole).format(value);
}

// A number that people compare: three digits, from 1000 on whole, then k, M, G, T.
export function number(value: Maybe): string {
  if (!known(value)) return unknown;
  const size = Math.abs(value);
  if (size !== 0 && size < 0.0001) return value.toExponential(1).replace("e-", "e−");
  if (size < 999.5) return three.format(value);
  if (size < 99999.5) return whole.format(value);
  for (const [limit, unit] of [[1e6, "k"], [1e9, "M"], [1e12, "G"]] as const)
    if (size < limit * 0.9995) return `${three.format((value / limit) * 1000)} ${unit}`;
  return size < 1e15 ? `${three.format(value / 1e12)} T` : value.toExponential(2);
}

// The price of a slot.  What is left of one by rounding is none.
export function slotPrice(value: Maybe): string {
  return known(value) && Math.abs(value) < 1e-6 ? "0" : number(value);
}

// A number with all its digits, for titles.
export function precise(value: Maybe): string {
  return known(value) ? exact.format(value) : "unknown";
}

const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

// An amount of money, in the unit of the groups' prices: 1,234.50
export function money(value: Maybe): string {
  return known(value) ? cents.format(value) : unknown;
}

// A share of one as per cent.
export function percent(value: Maybe, digits = 0): string {
  return known(value) ? `${(value * 100).toFixed(digits)} %` : unknown;
}

// A change relative to 1: +10 %, −20.3 %
export function change(factor: Maybe): string {
  if (!known(factor)) return unknown;
  const share = (factor - 1) * 100;
  const digits = Math.abs(share) < 10 ? 1 : 0;
  const text = Math.abs(share).toFixed(digits);
  if (Number(text) === 0) return "±0 %";
  return `${share < 0 ? "−" : "+"}${text} %`;
}

// A duration in at most two units: 45 s, 12 min, 3 h 20 min, 2 d 4 h.
export function duration(seconds: Maybe): string {
  if (!known(seconds)) return unknown;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.0009995) return `${three.format(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${three.format(seconds * 1e3)} ms`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  const rounded = Math.round(seconds);
  if (rounded < 60) return `${rounded} s`;
  if (rounded < 600) return two(rounded, 60, "min", 1, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return two(minutes, 60, "h", 1, "min");
  const hours = Math.round(seconds / 3600);
  if (hours < 24 * 100) return two(hours, 24, "d", 1, "h");
  return `${count(hours / 24)} d`;
}

function two(value: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((value % large) / small);
  return `${Math.floor(value / large)} ${largeUnit}${rest ? ` ${rest} ${smallUnit}` : ""}`;
}

// Simulations count time from 0.  Dates before 1973 are taken as such a time.
export function isElapsed(at: number): boolean {
  return at < 1e8;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat("en-GB", {
  weekday: "short", day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

// A time in the reader's zone: 12:03 today, 3 Nov 12:03 otherwise; elapsed time of a simulation: 3 h 20 min.
export function time(at: Maybe, now: number, seconds = false): string {
  if (!known(at)) return unknown;
  if (isElapsed(at)) return duration(at);
  const date = new Date(at * 1000), today = new Date(now * 1000);
  const text = (seconds ? clockSeconds : clock).format(date);
  if (date.toDateString() === today.toDateString()) return text;
  return `${(date.getFullYear() === today.getFullYear() ? day : dayYear).format(date)} ${text}`;
}

// The exact time, for titles.
export function exactTime(at: Maybe): string {
  if (!known(at)) return "unknown";
  if (isElapsed(at)) return `${precise(at)} s after the start`;
  return full.format(new Date(at * 1000));
}

// 1 job, 2 jobs.
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

// The start of a long text, with a mark that it goes on.
export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`;
}
