// SPDX-License-Identifier: Apache-2.0
// The generations of a job: its placements over time as bars, and a table with their exits.
import { jobColour } from "./colours.ts";
import { h, type Child } from "./dom.ts";
import { count, duration, exactTime, known, plural, time } from "./format.ts";
import { isLive, type Job } from "./job.ts";
import { placesText, type Generation } from "./job_types.ts";

const heads: [string, string][] = [["No.", "num"], ["Started", ""], ["Ran for", "num"], ["Replicas", "num"], ["Where", "wide"], ["End", ""]];
const nodesShown = 12, generationsShown = 100;

export function generationsCard(generations: Generation[], job: Job, now: number): Child {
  if (!generations.length) return h("p", { class: "empty" }, isLive(job) ? "No generation yet: it has not started." : "No generation is known.");
  const newest = [...generations].reverse().slice(0, generationsShown);
  return [
    placements(generations, job, now),
    h("div", { class: "scroll generations", tabindex: "0", role: "region", "aria-label": "Table of generations" }, h("table", { class: "compact" },
      h("thead", null, h("tr", null, heads.map(([label, className]) => h("th", { scope: "col", class: className }, label)))),
      h("tbody", null, newest.map((generation) => h("tr", null,
        h("td", { class: "num" }, count(generation.generation)),
        h("td", { class: "nowrap", title: exactTime(generation.started_at) }, time(generation.started_at, now)),
        h("td", { class: "num" }, known(generation.started_at) ? duration((generation.ended_at ?? now) - generation.started_at) : ""),
        h("td", { class: "num" }, count(generation.replicas)),
        h("td", { class: "where wide" }, placesText(generation.placement), moreNodes(generation), generation.type && h("span", { class: "faint" }, ` ${generation.type}`)),
        h("td", null, endText(generation, job, now))))))),
    generations.length > newest.length && h("p", { class: "small faint" }, `${plural(generations.length - newest.length, "older generation")} not shown.`),
  ];
}

// The placement names the first nodes only.
function moreNodes(generation: Generation): string {
  const more = (generation.nodes ?? 0) - Object.keys(generation.placement ?? {}).length;
  return more > 0 ? ` and ${plural(more, "node")} more` : "";
}

const start_s = 120; // a simulation does not say when a generation is ready

function endText(generation: Generation, job: Job, now: number): Child {
  if (generation.ended_at === null) {
    if (!isLive(job)) return "";
    return generation.ready_at === null && now - (generation.started_at ?? now) < start_s ? h("span", { class: "warn" }, "is starting") : h("span", { class: "good" }, "runs");
  }
  const bad = generation.kind !== null && /fail|crash|lost/.test(generation.kind);
  return [generation.kind && h("span", { class: bad ? "bad" : "soft" }, generation.kind), generation.kind && generation.detail && ": ", generation.detail];
}

// One row per node, one bar per generation, with the number of replicas in it.
function placements(generations: Generation[], job: Job, now: number): Child {
  const times = generations.flatMap((generation) => [generation.started_at, generation.ended_at]).filter(known);
  const from = Math.min(...times), until = isLive(job) ? Math.max(now, ...times) : Math.max(...times);
  if (!(until > from)) return null;
  const nodes: string[] = [];
  for (const generation of [...generations].reverse())
    for (const node of Object.keys(generation.placement ?? {})) if (!nodes.includes(node)) nodes.push(node);
  const collator = new Intl.Collator("en", { numeric: true });
  const shown = nodes.slice(0, nodesShown).sort(collator.compare);
  const most = Math.max(1, ...generations.flatMap((generation) => Object.values(generation.placement ?? {})));
  const index = Math.max(0, job.index);
  return h("div", { class: "placements", role: "img", "aria-label": `Placements over time on ${plural(nodes.length, "node")}; the table below has the numbers.` },
    shown.map((node) => {
      const track = h("div", { class: "track" });
      for (const generation of generations) {
        const replicas = generation.placement?.[node];
        if (!replicas || generation.started_at === null) continue;
        const left = ((generation.started_at - from) / (until - from)) * 100;
        const end = generation.ended_at ?? until;
        const width = Math.max(0.2, ((end - generation.started_at) / (until - from)) * 100);
        const bar = h("i", { class: "run", title: `generation ${generation.generation}: ${replicas} on ${node}, ${time(generation.started_at, now)}, ${duration(end - generation.started_at)}` },
          width > 2.5 && h("span", null, replicas));
        bar.style.left = `${left}%`;
        bar.style.width = `${Math.min(width, 100 - left)}%`;
        bar.style.height = `${50 + (50 * replicas) / most}%`;
        bar.style.background = `light-dark(${jobColour(index, false)}, ${jobColour(index, true)})`; // follows the theme
        track.append(bar);
      }
      return h("div", { class: "placement-row" }, h("span", { class: "clip small faint" }, node), track);
    }),
    h("div", { class: "placement-row small faint" }, h("span", null, nodes.length > shown.length ? `${nodes.length - shown.length} more` : ""),
      h("div", { class: "spread" }, h("span", null, time(from, now)), h("span", null, isLive(job) ? "now" : time(until, now)))));
}
