// SPDX-License-Identifier: Apache-2.0
// One of the large numbers on top of a view: what it is, the value, a note below it.
import { h } from "./dom.ts";

export function tile(label: string, explanation: string) {
  const value = h("dd", { class: "tile-value" }), note = h("dd", { class: "tile-note clip" });
  return { element: h("div", { class: "tile", title: explanation }, h("dt", null, label), value, note), value, note };
}
