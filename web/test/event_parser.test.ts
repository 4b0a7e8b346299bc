// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, type Message } from "../src/event_parser.ts";

const stream = ": hello\nid: 7\nevent: snapshot\ndata: {\"a\":1}\n\nid: 8\r\nevent: change\r\ndata: x\r\ndata:y\r\n\r\ndata: z\r\rignored: 1\n\n";
const expected: Message[] = [
  { id: "7", event: "snapshot", data: "{\"a\":1}" },
  { id: "8", event: "change", data: "x\ny" },
  { id: "8", event: "message", data: "z" },
];

test("messages are the same however the stream is cut", () => {
  for (let size = 1; size <= stream.length; size++) {
    const parser = new EventParser();
    const messages: Message[] = [];
    for (let at = 0; at < stream.length; at += size) messages.push(...parser.take(stream.slice(at, at + size)));
    assert.deepEqual(messages, expected, `pieces of ${size}`);
  }
});

test("an unfinished message is not given", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.take("data: half\n"), []);
  assert.deepEqual(parser.take("\n"), [{ id: "", event: "message", data: "half" }]);
});

test("a long line in many pieces costs linear time", () => {
  const parser = new EventParser();
  const piece = "x".repeat(1000);
  parser.take("data: ");
  for (let at = 0; at < 2000; at++) parser.take(piece);
  assert.equal(parser.take("\n\n")[0]?.data.length, 2_000_000);
});
