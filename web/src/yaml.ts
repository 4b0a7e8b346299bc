// SPDX-License-Identifier: Apache-2.0
// Writes job files: the subset of YAML that polluxd reads (docs/formats.md).

export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

// A text that YAML reads as itself without quotes: no number, truth value, null, comment or punctuation of YAML.
function isPlain(text: string): boolean {
  if (!/^[A-Za-z0-9_./][A-Za-z0-9 _./@%+=,()~^:$*&!?;<>|'"\\-]*$/.test(text)) return false;
  if (/: |:$| #| $/.test(text)) return false;
  if (/^(null|Null|NULL|true|True|TRUE|false|False|FALSE|yes|no|on|off|y|n)$/i.test(text)) return false;
  return !/^[-+]?(\.?[0-9]|\.(inf|nan)$|0x|0o)/i.test(text);
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// A text on one line.
export function scalar(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return isPlain(value) ? value : quoted(value);
}

function inFlow(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(inFlow).join(", ")}]`;
  if (typeof value === "object" && value !== null) return `{${Object.entries(value).map(([key, each]) => `${flowScalar(key)}: ${inFlow(each)}`).join(", ")}}`;
  return flowScalar(value);
}

function flowScalar(value: string | number | boolean | null): string {
  return typeof value === "string" && /[,[\]{}]/.test(value) ? quoted(value) : scalar(value);
}

// A text of several lines can be a literal block if YAML keeps it as it is.
function isBlock(text: string): boolean {
  return text.includes("\n") && !/^[\s]|[\t\r\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]|\n\n+$/.test(text) && text.trim() !== "";
}

// A mapping as a document.  Texts of several lines become blocks, lists and inner mappings stay on one line, except
// mappings with a text of several lines or more than three entries.
export function document(fields: [string, Value][]): string {
  return fields.map(([key, value]) => entry(key, value, "")).join("");
}

function entry(key: string, value: Value, indent: string): string {
  const name = scalar(key);
  if (typeof value === "string" && isBlock(value)) {
    const keep = value.endsWith("\n") ? "" : "-";
    const lines = value.replace(/\n$/, "").split("\n").map((line) => (line ? `${indent}  ${line}` : ""));
    return `${indent}${name}: |${keep}\n${lines.join("\n")}\n`;
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value);
    if (entries.length > 3 || entries.some(([, each]) => typeof each === "string" && each.includes("\n")))
      return `${indent}${name}:\n${entries.map(([inner, each]) => entry(inner, each, `${indent}  `)).join("")}`;
  }
  return `${indent}${name}: ${inFlow(value)}\n`;
}
