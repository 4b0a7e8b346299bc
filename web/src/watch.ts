// SPDX-License-Identifier: Apache-2.0
// The connection to /v1/watch.  It is opened again after it was lost, later each time, and continues after the last number.
import { EventParser } from "./event_parser.ts";
import { open, Refusal } from "./request.ts";
import type { Update } from "./state.ts";

export type Connection =
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "lost"; since: number; retryAt: number; reason: string; status: number } // status: of the refusal; 0: no answer.  Times: this computer's clock in seconds
  | { kind: "refused"; reason: string } // the token is wrong
  | { kind: "closed" };

export interface Listener {
  message(kind: string, update: Update, receivedAt: number): void;
  connection(connection: Connection): void;
}

const silence_s = 30; // polluxd sends at least every 10 s
const firstWait_s = 0.5, longestWait_s = 15;

export const clock = () => Date.now() / 1000;

export class Watch {
  private number: number | null = null;
  private mark = ""; // of the event with this number: another journal may have the same numbers
  private stop: AbortController | null = null;
  private wake: (() => void) | null = null;
  private closed = false;
  private resting = false;
  private rested = false; // rest() has ended the stream
  private lostAt: number | null = null;
  private wait_s = firstWait_s;

  constructor(private readonly listener: Listener) {}

  // Run until close() or until the token is refused.
  async run(): Promise<void> {
    this.listener.connection({ kind: "connecting" });
    while (!this.closed) {
      if (this.resting) {
        await this.pause(null);
        continue;
      }
      this.rested = false;
      let reason = "polluxd ended the stream.", status = 0;
      try {
        await this.read();
      } catch (error) {
        if (this.closed) break;
        if (error instanceof Refusal && error.status === 401) {
          this.listener.connection({ kind: "refused", reason: error.message });
          return;
        }
        if (error instanceof Refusal) status = error.status;
        reason = error instanceof Error && error.message ? error.message : "The connection was lost.";
      }
      if (this.closed) break;
      if (this.rested) continue;
      this.lostAt ??= clock();
      // Pages that lost the same daemon come back at different times.
      const wait_s = this.wait_s * (0.8 + 0.4 * Math.random());
      this.wait_s = Math.min(longestWait_s, this.wait_s * 2);
      this.listener.connection({ kind: "lost", since: this.lostAt, retryAt: clock() + wait_s, reason, status });
      await this.pause(wait_s);
    }
    this.listener.connection({ kind: "closed" });
  }

  close(): void {
    this.closed = true;
    this.stop?.abort();
    this.wake?.();
  }

  // Try at once, for example when the computer is online again.
  retry(): void {
    this.wake?.();
  }

  // Close the stream for some time.
  rest(): void {
    this.resting = this.rested = true;
    this.stop?.abort();
    this.wake?.();
  }

  // Continue after the last number.
  resume(): void {
    this.resting = false;
    this.wait_s = firstWait_s;
    this.wake?.();
  }

  private async read(): Promise<void> {
    const stop = new AbortController();
    this.stop = stop;
    let timer = 0;
    const alive = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => stop.abort(), silence_s * 1000);
    };
    alive();
    try {
      const path = this.number === null ? "/v1/watch" : `/v1/watch?after=${this.number}&mark=${encodeURIComponent(this.mark)}`;
      const response = await open(path, { signal: stop.signal, headers: { Accept: "text/event-stream" } });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      if (!reader) throw new Error("This browser cannot read streams.");
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        for (const message of parser.take(value)) this.take(message.event, message.data);
      }
    } catch (error) {
      if (stop.signal.aborted && !this.closed && !this.rested) throw new Error(`polluxd has sent nothing for ${silence_s} s.`);
      throw error;
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
  }

  private take(kind: string, data: string): void {
    if (kind !== "snapshot" && kind !== "change") return;
    const update = JSON.parse(data) as Update;
    if (kind === "change" && this.number === null) return;
    this.number = update.number;
    this.mark = update.mark ?? "";
    this.listener.message(kind, update, clock());
    this.lostAt = null;
    this.wait_s = firstWait_s;
    this.listener.connection({ kind: "open" });
  }

  // Wait for so long, or until wake(); null: until wake().
  private pause(seconds: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = seconds === null ? 0 : window.setTimeout(() => this.wake?.(), seconds * 1000);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
    });
  }
}
