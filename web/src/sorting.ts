// SPDX-License-Identifier: Apache-2.0
// The order of rows in tables.

export type Key = string | number | null; // null: unknown

const collator = new Intl.Collator("en", { numeric: true });

// Compare two rows by their keys, as Array.sort wants it.  Unknown keys come last in both directions.
export function compareKeys(a: Key, b: Key, down: boolean): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  const difference = typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  return down ? -difference : difference;
}
