// SPDX-License-Identifier: Apache-2.0
// The log of one replica, live.
import { jobPath } from "./address.ts";
import { fill, h, say } from "./dom.ts";
import { count } from "./format.ts";
import { onHidden } from "./hidden.ts";
import { LogLines } from "./log_text.ts";
import { open } from "./request.ts";

const lineLimit = 2000, firstLines = 500;
const again_ms = 4000, draw_ms = 120;

export class JobLogs {
  readonly element: HTMLElement;
  private readonly rank: HTMLSelectElement;
  private readonly generation: HTMLSelectElement;
  private readonly follow: HTMLInputElement;
  private readonly text = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "Log" });
  private readonly note = h("p", { class: "small faint", role: "status" });
  private lines = new LogLines(lineLimit);
  private stop: AbortController | null = null;
  private timer = 0;
  private retry = 0;
  private resting = false;
  private failed = false;
  private readonly endHidden: () => void;

  // grows: may a log of this choice of generations still grow?
  constructor(private readonly name: string, private readonly grows: (generation: string) => boolean) {
    const open = () => {
      this.lines = new LogLines(lineLimit);
      this.text.textContent = "";
      void this.open();
    };
    this.rank = h("select", { onchange: open }, h("option", { value: "0" }, "0"));
    this.generation = h("select", { onchange: open }, h("option", { value: "last" }, "last"), h("option", { value: "all" }, "all"));
    this.follow = h("input", { type: "checkbox", checked: true, onchange: open });
    this.element = h("section", { class: "card", "aria-label": "Logs" },
      h("div", { class: "card-head" }, h("h2", null, "Logs"),
        h("div", { class: "log-controls small" }, h("label", null, "Rank ", this.rank), h("label", null, "Generation ", this.generation), h("label", null, this.follow, " Follow"))),
      this.text, this.note);
    open();
    this.endHidden = onHidden((hidden) => hidden ? this.rest() : this.resume());
  }

  // The ranks and generations that can be chosen.
  choices(ranks: number, generations: number[]): void {
    options(this.rank, Array.from({ length: Math.max(1, Math.min(ranks, 4096)) }, (_, rank) => String(rank)));
    options(this.generation, ["last", "all", ...[...generations].reverse().slice(0, 100).map(String)]);
  }

  reconnected(): void {
    if (this.failed) void this.open();
  }

  close(): void {
    this.endHidden();
    this.end();
  }

  // End the stream and all that waits.  True: there was something to end.
  private end(): boolean {
    const busy = this.stop !== null || this.retry !== 0;
    this.stop?.abort();
    this.stop = null;
    clearTimeout(this.timer);
    clearTimeout(this.retry);
    this.timer = this.retry = 0;
    return busy;
  }

  // A hidden tab does not follow.
  private rest(): void {
    if (this.follow.checked && this.end()) this.resting = true;
  }

  private resume(): void {
    if (this.resting) void this.open();
  }

  private async open(): Promise<void> {
    this.end();
    this.resting = this.failed = false;
    const stop = new AbortController();
    this.stop = stop;
    say(this.note, "Waiting for the log…");
    let sentence = "";
    try {
      await this.read(stop.signal);
    } catch (error) {
      sentence = (error as Error).message;
    }
    if (stop.signal.aborted) return;
    this.end();
    this.draw();
    this.settle(sentence);
  }

  // Show the log as it comes.  The former text stays until then.
  private async read(signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ rank: this.rank.value, generation: this.generation.value, tail: String(firstLines) });
    if (this.follow.checked) query.set("follow", "1");
    const response = await open(`${jobPath(this.name)}/logs?${query}`, { signal });
    if (signal.aborted) return;
    say(this.note, this.follow.checked ? "Following." : "");
    this.lines = new LogLines(lineLimit);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || signal.aborted) return;
      this.lines.add(value ?? "");
      this.later();
    }
  }

  // The stream has ended, with a sentence if it was cut off.  It is opened again if the log may grow: polluxd may have been stopped.
  private settle(sentence: string): void {
    this.failed = sentence !== "";
    const ended = this.lines.lines.length ? "The log has ended." : "The log is empty.";
    const again = () => this.follow.checked && this.grows(sentence ? "last" : this.generation.value);
    if (!again()) return say(this.note, sentence || this.tail(ended));
    say(this.note, sentence || "The stream has ended; it is opened again.");
    this.retry = window.setTimeout(() => {
      this.retry = 0;
      if (again()) void this.open();
      else this.settle(sentence);
    }, again_ms);
  }

  private later(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.draw();
      if (this.follow.checked) say(this.note, this.tail("Following."));
    }, draw_ms);
  }

  private tail(text: string): string {
    return this.lines.dropped ? `${text} Only the last ${count(lineLimit)} lines are shown; \`pollux logs ${this.name}\` prints all.` : text;
  }

  private draw(): void {
    const { text } = this;
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 30;
    text.textContent = this.lines.text();
    if (atEnd) text.scrollTop = text.scrollHeight;
  }
}

// Offer these values.  The chosen one stays, also if it is no longer among them.
function options(select: HTMLSelectElement, values: string[]): void {
  const { value } = select;
  const all = values.includes(value) ? values : [...values, value];
  const key = all.join();
  if (select.dataset["key"] === key) return;
  select.dataset["key"] = key;
  fill(select, all.map((each) => h("option", { value: each }, each)));
  select.value = value;
}
