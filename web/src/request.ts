// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon that serves the page.
import { token } from "./session.ts";

export interface Problem {
  line: number | null;
  column: number | null;
  path: string | null;
  message: string;
}

// A refusal, or no answer (status 0), with the sentence to show.
export class Refusal extends Error {
  constructor(readonly status: number, sentence: string, readonly problems: Problem[] = []) {
    super(sentence);
  }
}

const noAnswer = "polluxd does not answer; it may be stopped.";

const lateAnswer = (limit_s: number): string => `polluxd has not answered for ${limit_s} s.`;

// Browsers have six connections to a server: a request on one that hangs is given up, so that others do not wait behind it.
const patience_s = 20;

// Open a stream: send a request with the token.  The answer has to begin in time; it may go on for ever.  An answer other than 2xx,
// and no answer, throw a Refusal.
export async function open(path: string, options: RequestInit = {}, limit_s = patience_s): Promise<Response> {
  const headers = new Headers(options.headers), { signal } = options;
  headers.set("Authorization", `Bearer ${headerText(token() ?? "")}`);
  const stop = new AbortController(), end = () => stop.abort();
  const timer = setTimeout(end, limit_s * 1000);
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  let response: Response;
  try {
    response = await fetch(path, { ...options, signal: stop.signal, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, stop.signal.aborted ? lateAnswer(limit_s) : noAnswer);
  } finally {
    clearTimeout(timer);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

// Send a request and read its answer, all of it in time.
export async function ask<T>(path: string, options: RequestInit = {}, limit_s = patience_s): Promise<T> {
  const stop = new AbortController(), { signal } = options;
  const end = () => stop.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end();
  }, limit_s * 1000);
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  try {
    const response = await open(path, { ...options, signal: stop.signal }, limit_s);
    return (await response.json()) as T;
  } catch (error) {
    if (!late || signal?.aborted) throw error;
    throw new Refusal(0, `${lateAnswer(limit_s)}${options.method === "POST" ? " It may do later what was asked." : ""}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => ask<T>(path, signal ? { signal } : {});

export const post = <T>(path: string, body?: unknown): Promise<T> => ask<T>(path, body === undefined
  ? { method: "POST" }
  : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

async function refusal(response: Response): Promise<Refusal> {
  let sentence = `polluxd answered ${response.status} ${response.statusText}`.trim();
  let problems: Problem[] = [];
  try {
    const body = (await response.json()) as { error?: unknown; problems?: unknown };
    if (typeof body.error === "string") sentence = body.error;
    if (Array.isArray(body.problems)) problems = body.problems as Problem[];
  } catch {
    // not JSON: the status is all there is
  }
  return new Refusal(response.status, sentence, problems);
}

// A header takes visible ASCII only.  A wrong token must be refused by the daemon, not by the browser.
function headerText(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, "?");
}
