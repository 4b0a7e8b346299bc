// SPDX-License-Identifier: Apache-2.0
// What each view is, and what it gets from the page.
import type { Address } from "./address.ts";
import type { Changed, State } from "./state.ts";
import { clock } from "./watch.ts";

export interface View {
  title: string;
  element: HTMLElement;
  update(changed: Changed): void; // the state has changed
  reconnected?(): void; // there is a connection again: repeat what may have failed
  tick?(): void; // each second: ages and countdowns
  readdress?(address: Address): boolean; // another address of this view; false: make a new view
  close?(): void;
}

export interface App {
  state: State;
  connected: boolean; // views ask again by themselves only then
}

// The daemon's time now.
export const now = (app: App) => app.state.now(clock());

// May the reader do something to a job of this owner?  The daemon decides; this only hides what it would refuse.
export function mayChange(app: App, owner: string | null): boolean {
  const { you, playback } = app.state;
  return !playback && (you.role === "admin" || (you.role === "user" && you.name === owner));
}

export function maySubmit(app: App): boolean {
  return !app.state.playback && (app.state.you.role === "admin" || app.state.you.role === "user");
}
