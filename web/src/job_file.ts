// SPDX-License-Identifier: Apache-2.0
// The form's fields as a job file.
import { document, type Value } from "./yaml.ts";

export interface JobForm {
  name: string;
  command: string;
  directory: string;
  environment: string; // lines NAME=value
  adaptive: boolean;
  minReplicas: string;
  maxReplicas: string;
  allowed: string; // "", "pow2", "multiple 4" or "1, 2, 4"
  types: string; // "", "a100, v100"
  fixedBatch: string;
  application: string;
  weight: string;
  preemptible: string; // "", "true", "false"
  launcher: string; // "", "mpi"
  grace: string;
  maxFailures: string;
  more: string; // further lines of YAML
}

export const emptyForm: JobForm = {
  name: "", command: "", directory: "", environment: "", adaptive: false, minReplicas: "", maxReplicas: "", allowed: "", types: "",
  fixedBatch: "", application: "", weight: "", preemptible: "", launcher: "", grace: "", maxFailures: "", more: "",
};

// A number as it was typed, or the text if it is none: the daemon says what is wrong with it.
function numeric(text: string): Value {
  const trimmed = text.trim();
  return trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function allowedValue(text: string): Value {
  const list = words(text);
  if (list.length === 1) {
    const only = numeric(list[0] as string);
    return typeof only === "number" ? [only] : only; // any, pow2
  }
  if (list[0] === "multiple") return { multiple_of: numeric(list[list.length - 1] as string) };
  return list.map(numeric);
}

function environmentValue(text: string): Record<string, Value> {
  const result = Object.create(null) as Record<string, Value>; // also for a variable named __proto__
  for (const line of text.split("\n")) {
    const equal = line.indexOf("=");
    const name = (equal < 0 ? line : line.slice(0, equal)).trim();
    if (name) result[name] = equal < 0 ? "" : line.slice(equal + 1).trim();
  }
  return result;
}

export function jobFile(form: JobForm): string {
  const fields: [string, Value][] = [];
  const add = (key: string, text: string, value: (text: string) => Value = (each) => each) => {
    if (text.trim() !== "") fields.push([key, value(text.trim())]);
  };
  add("name", form.name);
  add("command", form.command.replace(/[ \t]+$/gm, ""));
  add("directory", form.directory);
  add("environment", form.environment, environmentValue);
  if (form.adaptive) fields.push(["adaptive", true]);
  add("min_replicas", form.minReplicas, numeric);
  add("max_replicas", form.maxReplicas, numeric);
  add("allowed", form.allowed, allowedValue);
  add("types", form.types, (text) => (text === "any" ? text : words(text)));
  add("fixed_batch", form.fixedBatch, numeric);
  add("application", form.application);
  add("weight", form.weight, numeric);
  add("preemptible", form.preemptible, (text) => text === "true");
  add("launcher", form.launcher);
  add("grace", form.grace, numeric);
  add("max_failures", form.maxFailures, numeric);
  const more = form.more.trimEnd();
  return document(fields) + (more.trim() ? `${more}\n` : "");
}
