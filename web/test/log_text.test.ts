// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanLine, LogLines } from "../src/log_text.ts";

test("terminal sequences are removed, control characters are shown", () => {
  const cases: [string, string][] = [
    ["plain <b>text</b>", "plain <b>text</b>"],
    ["\x1b[1;31mred\x1b[0m", "red"],
    ["\x1b]0;title\x07after", "after"],
    ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["\x1b(Bx\x1b7y", "xy"],
    ["\x9b31mred", "red"],
    ["a\tb", "a\tb"],
    ["bell\x07 null\x00 del\x7f", "bell␇ null␀ del␡"],
    ["10 %\r50 %\r100 %", "100 %"],
    ["text\r", "text"],
    ["abc\u202Etxt", "abc\ufffdtxt"],
    ["half \x1b[3", "half ␛[3"],
  ];
  for (const [line, text] of cases) assert.equal(cleanLine(line), text, JSON.stringify(line));
});

test("lines are the same however the log is cut", () => {
  const log = "one\n\x1b[32mtwo\x1b[0m\nthree <script>\nlast";
  for (let size = 1; size < log.length; size++) {
    const lines = new LogLines(100);
    for (let at = 0; at < log.length; at += size) lines.add(log.slice(at, at + size));
    assert.equal(lines.text(), "one\ntwo\nthree <script>\nlast");
  }
});

test("the number and the length of lines are bounded", () => {
  const lines = new LogLines(10);
  for (let at = 0; at < 25; at++) lines.add(`${at}\n`);
  assert.deepEqual([lines.lines.length, lines.dropped, lines.lines[0]], [10, 15, "15"]);
  lines.add("x".repeat(1e6));
  assert.ok(lines.text().length < 5000);
});
