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

// Send a request with the token.  An answer other than 2xx, and no answer, throw a Refusal.
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  headers.set("Authorization", `Bearer ${headerText(token() ?? "")}`);
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, noAnswer);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  const response = await send(path, body === undefined
    ? { method: "POST" }
    : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  return (await response.json()) as T;
}

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
