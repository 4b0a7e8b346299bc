// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import css from "../src/base.css";
import { contrast } from "../src/colours.ts";
import { lineStyle } from "../src/line_style.ts";

const styles = Array.from({ length: 24 }, (_, place) => lineStyle(place));

// The colours of a custom property in the light and the dark theme.
function themes(name: string): string[] {
  return new RegExp(`${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css)?.slice(1) ?? [];
}

// The distance of two colours as an eye sees it: Oklab (Ottosson 2020), 0 to about 1.
function distance(one: string, other: string): number {
  const [a, b] = [oklab(one), oklab(other)];
  return Math.hypot(...a.map((value, i) => value - (b[i] as number)));
}

function oklab(colour: string): number[] {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

test("24 lines differ in colour or dashes", () => {
  assert.equal(new Set(styles.map(({ colour, dash }) => `${colour} ${dash}`)).size, styles.length);
});

test("their colours are seen, and differ, in both themes", () => {
  const names = [...new Set(styles.map((style) => style.colour))];
  assert.equal(names.length, 8);
  for (const [theme, surface] of themes("--surface").entries()) {
    const colours = names.map((name) => themes(name)[theme] ?? "");
    for (const [i, colour] of colours.entries()) {
      assert.ok(contrast(colour, surface) >= 3, `${names[i]} on ${surface}: ${colour}`);
      for (const other of colours.slice(i + 1)) assert.ok(distance(colour, other) > 0.1, `${colour} and ${other}`);
    }
  }
});
