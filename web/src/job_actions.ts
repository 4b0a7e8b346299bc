// SPDX-License-Identifier: Apache-2.0
// Scale and cancel, each after a question.
import { jobPath } from "./address.ts";
import { ask } from "./dialog.ts";
import { h } from "./dom.ts";
import type { Job } from "./job.ts";
import { post } from "./request.ts";

export function askCancel(job: Job, done: () => void): void {
  ask({
    title: `Cancel ${job.name}?`,
    content: h("p", null, job.replicas
      ? "Its replicas get the stop signal, and time to save. It is not started again."
      : "It leaves the queue and is not started."),
    action: "Cancel the job",
    danger: true,
    run: () => post(`${jobPath(job.name)}/cancel`).then(done),
  });
}

export function askScale(job: Job, weight: number | null, done: () => void): void {
  const field = (value: number | null, label: string, least: string, step: string) =>
    h("input", { type: "number", min: least, step, value: value ?? "", "aria-label": label });
  const min = field(job.minReplicas, "Least replicas", "0", "1");
  const max = field(job.maxReplicas, "Most replicas", "1", "1");
  const heavy = field(weight, "Weight", "0", "any");
  ask({
    title: `Scale ${job.name}`,
    content: [
      h("p", { class: "soft" }, "The scheduler chooses the number of replicas within these limits, from the next round on."),
      h("div", { class: "fields" },
        h("label", null, "Least replicas", min), h("label", null, "Most replicas", max), h("label", null, "Weight", heavy)),
    ],
    action: "Set the limits",
    async run() {
      const limits: Record<string, number> = {};
      for (const [name, input, old] of [["min_replicas", min, job.minReplicas], ["max_replicas", max, job.maxReplicas], ["weight", heavy, weight]] as const)
        if (input.value !== "" && Number(input.value) !== old) limits[name] = Number(input.value);
      if (Object.keys(limits).length) await post(`${jobPath(job.name)}/limits`, limits);
      done();
    },
  });
}
