// SPDX-License-Identifier: Apache-2.0
// How the lines of a chart differ, and the keys of its legend: eight colours, then the same dashed, then dotted.
import { h } from "./dom.ts";

export type Dash = "solid" | "dashed" | "dotted";

export interface LineStyle {
  colour: string; // a custom property
  dash: Dash;
}

const colours = 8; // --line-1 to --line-8 in base.css
const dashes: Dash[] = ["solid", "dashed", "dotted"];

// Pixels with ink and without.
export const dashLengths: Record<Dash, [number, number] | null> = { solid: null, dashed: [5, 4], dotted: [1.5, 3] };

// The style of a line by its place in the list.
export function lineStyle(place: number): LineStyle {
  return { colour: `--line-${(place % colours) + 1}`, dash: dashes[Math.floor(place / colours) % dashes.length] ?? "solid" };
}

// A key in a colour as CSS writes it: a square, or a piece of a line with dashes.
export function lineKey(colour: string, dash: Dash = "solid"): HTMLElement {
  const lengths = dashLengths[dash], element = h("i", { class: lengths ? "key broken" : "key", "aria-hidden": "true" });
  element.style.background = lengths
    ? `repeating-linear-gradient(90deg, ${colour} 0 ${lengths[0]}px, transparent ${lengths[0]}px ${lengths[0] + lengths[1]}px)` : colour;
  return element;
}
