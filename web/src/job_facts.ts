// SPDX-License-Identifier: Apache-2.0
// The facts of a job that are not numbers over time: as submitted, and how it has run.
import { h, type Child } from "./dom.ts";
import { count, duration, exactTime, known, money, number, plural, time } from "./format.ts";
import type { JobDetails } from "./job_types.ts";
import { cleanLine } from "./log_text.ts";

export function factsList(details: JobDetails, now: number): Child {
  const rows: [string, Child][] = [];
  const add = (label: string, value: Child) => {
    if (value !== null && value !== undefined && value !== "" && value !== false) rows.push([label, value]);
  };
  const moment = (at: number | null) => known(at) && h("span", { title: exactTime(at) }, time(at, now, true));
  add("Submitted", moment(details.submitted_at));
  add(details.phase === "running" ? "Runs since" : "Last started", moment(details.started_at));
  add("Ended", moment(details.ended_at));
  add("Time with slots", known(details.run_s) && duration(details.run_s));
  add("Cost", costText(details));
  add("Generations", `${count(details.generation)}: ${plural(details.restarts, "restart")} by the scheduler, ${plural(details.failures, "failure")}`);
  add("Exit code", known(details.exit_code) && String(details.exit_code));
  add("Noise scale", known(details.noise_scale) && `${number(details.noise_scale)} samples`);
  add("Limits", limitsText(details));
  add("Types of nodes", typesText(details.types));
  add("Weight", details.weight !== 1 && number(details.weight));
  add("Kind", [details.adaptive ? "adaptive" : "not adaptive", details.preemptible ? "preemptible" : "not preemptible", details.launcher && `launcher ${details.launcher}`].filter(Boolean).join(", "));
  add("Fixed batch", known(details.fixed_batch) && count(details.fixed_batch));
  const command = commandText(details.command); // a simulated job has none
  add("Command", command && longText("Command", command));
  add("Directory", details.directory && h("code", null, details.directory));
  add("Checkpoints", details.checkpoint_dir && h("code", null, details.checkpoint_dir));
  const environment = Object.entries(details.environment ?? {});
  add("Environment", environment.length > 0 && h("details", null, h("summary", null, plural(environment.length, "variable")),
    longText("Environment", environment.map(([name, value]) => `${name}=${value}`).join("\n"))));
  add("Stop", known(details.grace_s) && command && `${signalName(details.stop_signal)}, then ${duration(details.grace_s)} to save`);
  return h("dl", { class: "facts" }, rows.map(([label, value]) => h("div", null, h("dt", null, label), h("dd", null, value))));
}

// A text that may be long enough to scroll, so the keyboard must reach it.
function longText(label: string, text: string): HTMLElement {
  const long = text.length > 300 || text.split("\n").length > 6;
  return h("code", { class: "command", ...(long ? { tabindex: "0", role: "region", "aria-label": label } : {}) }, text);
}

// What went wrong: the refused report and the last lines of the replica that failed.
export function troubles(details: JobDetails): Child {
  const lines = Array.isArray(details.last_lines) ? details.last_lines : (details.last_lines ?? "").split("\n");
  const shown = lines.map(cleanLine).join("\n").trim();
  return [
    details.warning && h("p", { class: "notice" }, details.warning),
    details.refused_report && h("p", { class: "notice" }, `Its last report was refused: ${details.refused_report}`),
    shown && h("div", { class: "card" }, h("h2", null, "Last lines of the replica that failed"), h("pre", { class: "last-lines", tabindex: "0", role: "region", "aria-label": "Last lines" }, shown)),
  ];
}

function commandText(command: unknown): string {
  if (Array.isArray(command)) return command.map((word) => (/^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`)).join(" ");
  return typeof command === "string" ? command.trimEnd() : "";
}

// Nothing without prices.
export function costText(details: { cost?: number | null; price_per_hour?: number | null }): string {
  const { cost = null, price_per_hour: price = null } = details;
  if (known(price) && price > 0) return `${money(cost)} so far, ${money(price)} per hour now`;
  return known(cost) && cost > 0 ? money(cost) : "";
}

const noLimit = 1048576;

function limitsText(details: JobDetails): string {
  const { min_replicas: least, max_replicas: most } = details;
  const range = most >= noLimit ? (least > 1 ? `at least ${plural(least, "replica")}` : "any number of replicas")
    : least === most ? plural(most, "replica") : `${count(least)} to ${plural(most, "replica")}`;
  return range + allowedText(details.allowed);
}

const signals: Record<number, string> = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 10: "SIGUSR1", 12: "SIGUSR2", 15: "SIGTERM" };

function signalName(signal: string | number | null | undefined): string {
  if (typeof signal === "number") return signals[signal] ?? `signal ${signal}`;
  return signal ?? "SIGTERM";
}

function allowedText(allowed: unknown): string {
  if (allowed === "pow2") return ", powers of two";
  if (Array.isArray(allowed)) return `, of ${allowed.join(", ")}`;
  if (typeof allowed === "object" && allowed !== null && "multiple_of" in allowed) return `, multiples of ${String(allowed.multiple_of)}`;
  return "";
}

function typesText(types: unknown): string {
  if (Array.isArray(types)) return types.join(", ");
  if (typeof types === "object" && types !== null && "except" in types && Array.isArray(types.except)) return `all except ${types.except.join(", ")}`;
  return "";
}
