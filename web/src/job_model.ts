// SPDX-License-Identifier: Apache-2.0
// The fitted model against the measured step times: one row per configuration, a bar for the measurement and a mark for the model.
import { h, type Child } from "./dom.ts";
import { change, count, duration, known, precise } from "./format.ts";
import type { Measured } from "./job_types.ts";

const shownRows = 40;

export function modelCard(measured: Measured[]): Child {
  if (!measured.length) return h("p", { class: "empty" }, "No step times yet. Jobs that report with libpollux measure them.");
  const rows = [...measured].sort((a, b) => a.replicas - b.replicas || a.nodes - b.nodes || a.m - b.m).slice(0, shownRows);
  const longest = Math.max(...rows.flatMap((row) => [row.step_s, row.predicted_s ?? 0]));
  const types = new Set(measured.map((row) => row.type)).size > 1;
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Step times" }, h("table", { class: "compact model" },
    h("thead", null, h("tr", null, h("th", { scope: "col", class: "num" }, "Replicas"), h("th", { scope: "col", class: "num" }, "Nodes"), types && h("th", { scope: "col" }, "Type"),
      h("th", { scope: "col", class: "num" }, "m"), h("th", { scope: "col", class: "num" }, "Measured"), h("th", { scope: "col", class: "num" }, "Model"),
      h("th", { scope: "col", class: "num" }, "Error"), h("th", { scope: "col", class: "model-bar" }, h("span", { class: "hidden-text" }, "Picture")))),
    h("tbody", null, rows.map((row) => {
      const bar = h("i", { class: "measured" }), tick = h("i", { class: "predicted", hidden: !known(row.predicted_s) });
      bar.style.width = `${(row.step_s / longest) * 100}%`;
      if (known(row.predicted_s)) tick.style.left = `${(row.predicted_s / longest) * 100}%`;
      return h("tr", null,
        h("td", { class: "num" }, count(row.replicas)), h("td", { class: "num" }, count(row.nodes)), types && h("td", null, row.type ?? ""),
        h("td", { class: "num" }, count(row.m)),
        h("td", { class: "num", title: `${precise(row.step_s)} s` }, duration(row.step_s)),
        h("td", { class: "num", title: known(row.predicted_s) ? `${precise(row.predicted_s)} s` : null }, duration(row.predicted_s)),
        h("td", { class: "num" }, known(row.predicted_s) ? change(row.predicted_s / row.step_s) : "–"),
        h("td", { class: "model-bar", "aria-hidden": "true" }, h("div", { class: "dumbbell" }, bar, tick)));
    }))),
    measured.length > rows.length && h("p", { class: "small faint" }, `${measured.length - rows.length} more are not shown.`));
}
