// SPDX-License-Identifier: Apache-2.0
// The bar of a recorded run: play, pause, speed, and a slider over its time.
import { h, mark, say } from "./dom.ts";
import { duration, exactTime, isElapsed, time } from "./format.ts";
import { post } from "./request.ts";
import type { Playback } from "./state.ts";

const speeds = [1, 10, 60, 300, 1000, 3600, 10000];

export class PlaybackBar {
  readonly element: HTMLElement;
  private readonly play = h("button", { type: "button", class: "play", onclick: () => this.toggle() });
  private readonly speed: HTMLSelectElement;
  private readonly slider: HTMLInputElement;
  private readonly at = h("span", { class: "nowrap" });
  private readonly name = h("span", { class: "faint clip" });
  private readonly message = h("p", { class: "bad small", role: "alert" });
  private last: Playback | null = null;
  private dragging = false; // the slider does not follow the run
  private held = false; // by the reader
  private moves = 0; // of the slider, by the reader
  private timer = 0;

  constructor() {
    this.speed = h("select", { "aria-label": "Speed", onchange: () => this.ask({ speed: Number(this.speed.value) }) },
      speeds.map((speed) => h("option", { value: speed }, `${speed.toLocaleString("en")} ×`)));
    this.slider = h("input", {
      type: "range", "aria-label": "Time", min: "0", max: "1", step: "any",
      oninput: () => this.drag(),
      onchange: () => this.drop(),
      onkeyup: () => this.drop(),
      onblur: () => this.drop(),
    });
    this.element = h("section", { class: "playback", "aria-label": "Recorded run", hidden: true },
      this.play, this.speed, this.slider, this.at, this.name, this.message);
    // A drag that ends where it began changes nothing, and the pointer may be elsewhere when it ends.
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => this.drop());
  }

  set(playback: Playback | null): void {
    this.element.hidden = playback === null;
    this.last = playback;
    if (!playback) return;
    const ended = playback.ended || playback.at >= playback.until_at;
    say(this.play, playback.playing && !ended ? "❚❚" : "▶");
    mark(this.play, "aria-label", playback.playing && !ended ? "Pause" : "Play");
    mark(this.slider, "min", String(playback.from_at));
    mark(this.slider, "max", String(playback.until_at));
    if (!this.dragging) {
      this.slider.value = String(playback.at);
      this.showTime(playback.at, ended);
    }
    if (!speeds.includes(playback.speed) && !this.speed.querySelector(`[value="${playback.speed}"]`))
      this.speed.append(h("option", { value: playback.speed }, `${playback.speed} ×`));
    this.speed.value = String(playback.speed);
    const compacted = playback.history_until_at;
    say(this.name, playback.name + (compacted !== null && compacted !== undefined ? `; before ${this.text(compacted)} only the charts are known` : ""));
    mark(this.name, "title", this.name.textContent);
  }

  private text(at: number): string {
    return isElapsed(at) ? duration(at) : time(at, this.last?.until_at ?? at, true);
  }

  private showTime(at: number, ended: boolean): void {
    if (!this.last) return;
    const text = `${this.text(at)} of ${this.text(this.last.until_at)}${ended ? ", the end" : ""}`;
    say(this.at, text);
    mark(this.at, "title", exactTime(at));
    mark(this.slider, "aria-valuetext", text);
  }

  private toggle(): void {
    const { last } = this;
    if (!last) return;
    if (last.ended || last.at >= last.until_at) void this.ask({ at: last.from_at, playing: true });
    else void this.ask({ playing: !last.playing });
  }

  // While the slider moves, jump at most five times per second.
  private drag(): void {
    this.dragging = this.held = true;
    this.moves++;
    const at = Number(this.slider.value);
    this.showTime(at, false);
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.ask({ at: Number(this.slider.value) });
    }, 200);
  }

  private drop(): void {
    if (!this.held) return;
    this.held = false;
    clearTimeout(this.timer);
    this.timer = 0;
    void this.ask({ at: Number(this.slider.value) });
  }

  private async ask(what: { at?: number; speed?: number; playing?: boolean }): Promise<void> {
    const { moves } = this;
    let playback: Playback | null = null;
    try {
      playback = await post<Playback>("/v1/playback", what);
      say(this.message, "");
    } catch (error) {
      say(this.message, (error as Error).message);
    }
    // The answer to an earlier move does not end a later drag.
    if (!this.held && moves === this.moves) this.dragging = false;
    if (!this.dragging) this.set(playback ?? this.last);
  }
}
