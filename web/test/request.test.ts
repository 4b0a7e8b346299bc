// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, get, open, Refusal } from "../src/request.ts";

// The sentence and the status of the refusal.
async function refusalOf(answer: Promise<unknown>): Promise<[number, string]> {
  const error: unknown = await answer.then(() => null, (reason: unknown) => reason);
  if (!(error instanceof Refusal)) throw new Error(`no refusal: ${String(error)}`);
  return [error.status, error.message];
}

const hung = (signal: AbortSignal) => new Promise<never>((_, reject) => {
  if (signal.aborted) reject(new Error("aborted"));
  signal.addEventListener("abort", () => reject(new Error("aborted")));
});

test("a request that gets no answer is given up", async () => {
  const signals: AbortSignal[] = [];
  globalThis.fetch = (_, options) => {
    signals.push(options?.signal as AbortSignal);
    return hung(options?.signal as AbortSignal);
  };
  assert.deepEqual(await refusalOf(ask("/v1/status", {}, 0.05)), [0, "polluxd has not answered for 0.05 s."]);
  assert.deepEqual(await refusalOf(ask("/v1/jobs", { method: "POST" }, 0.05)), [0, "polluxd has not answered for 0.05 s. It may do later what was asked."]);
  assert.ok(signals.every((signal) => signal.aborted), "they give their connections back");
});

test("so is a stream that does not begin, and one that has begun goes on", async () => {
  globalThis.fetch = (_, options) => hung(options?.signal as AbortSignal);
  assert.deepEqual(await refusalOf(open("/v1/watch", {}, 0.05)), [0, "polluxd has not answered for 0.05 s."]);
  let body: AbortSignal | undefined;
  globalThis.fetch = (_, options) => {
    body = options?.signal as AbortSignal;
    return Promise.resolve(new Response("data"));
  };
  const view = new AbortController();
  await open("/v1/watch", { signal: view.signal }, 0.01);
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(body?.aborted, false);
  view.abort();
  assert.equal(body?.aborted, true);
});

test("so is one whose answer does not end", async () => {
  globalThis.fetch = (_, options) => Promise.resolve({ ok: true, json: () => hung(options?.signal as AbortSignal) } as unknown as Response);
  assert.deepEqual(await refusalOf(ask("/v1/status", {}, 0.05)), [0, "polluxd has not answered for 0.05 s."]);
});

test("a view that closes ends its requests", async () => {
  globalThis.fetch = (_, options) => hung(options?.signal as AbortSignal);
  const view = new AbortController();
  const answer = get("/v1/status", view.signal).then(() => null, (reason: unknown) => reason as Error);
  view.abort();
  assert.equal((await answer)?.message, "aborted");
  assert.equal(await get("/v1/status", view.signal).then(() => null, (reason: Error) => reason.message), "aborted");
});

test("answers and refusals", async () => {
  globalThis.fetch = () => Promise.resolve(new Response('{"nodes": 2}'));
  assert.deepEqual(await get("/v1/status"), { nodes: 2 });
  globalThis.fetch = () => Promise.resolve(new Response('{"error": "no such job"}', { status: 404 }));
  assert.deepEqual(await refusalOf(get("/v1/jobs/x")), [404, "no such job"]);
  globalThis.fetch = () => Promise.reject(new TypeError("failed"));
  assert.deepEqual(await refusalOf(get("/v1/jobs/x")), [0, "polluxd does not answer; it may be stopped."]);
});
