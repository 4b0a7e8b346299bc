// SPDX-License-Identifier: Apache-2.0
// A small square in the colour of a job.  It follows the theme because it knows its job.
import { jobColour } from "./colours.ts";
import { h } from "./dom.ts";
import { isDark } from "./theme.ts";

export function swatch(index: number): HTMLElement {
  const element = h("i", { class: "swatch", "aria-hidden": "true" });
  paintSwatch(element, index);
  return element;
}

// Give it the colour of another job.
export function paintSwatch(element: HTMLElement, index: number): void {
  const text = String(index);
  if (element.dataset["job"] === text) return;
  element.dataset["job"] = text;
  element.style.background = jobColour(index, isDark());
}

// After a change of the theme.
export function repaintSwatches(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLElement>(".swatch[data-job]"))
    element.style.background = jobColour(Number(element.dataset["job"]), isDark());
}
