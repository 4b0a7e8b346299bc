// SPDX-License-Identifier: Apache-2.0
// The page: token, connection, navigation, and the view of the present address.
import "./page.css";
import { parseAddress, type Address } from "./address.ts";
import { ClusterView } from "./cluster_view.ts";
import { connectionText } from "./connection_text.ts";
import { fill, h, mark, say } from "./dom.ts";
import { onHidden } from "./hidden.ts";
import { JobView } from "./job_view.ts";
import { JobsView } from "./jobs_view.ts";
import { MissingView } from "./missing_view.ts";
import { PlaybackBar } from "./playback_bar.ts";
import { RoundView } from "./round_view.ts";
import { RoundsView } from "./rounds_view.ts";
import { acceptOffer, dropOffer, forgetToken, isOffered, keepToken, takeTokenFromAddress, token } from "./session.ts";
import { signIn } from "./sign_in.ts";
import { allChanged, State, type Changed } from "./state.ts";
import { forgetForm, SubmitView } from "./submit_view.ts";
import { repaintSwatches } from "./swatch.ts";
import { chooseTheme, isDark, onTheme, startTheme, themeChoice } from "./theme.ts";
import { hideTip } from "./tip.ts";
import { maySubmit, type App, type View } from "./view.ts";
import { clock, Watch, type Connection } from "./watch.ts";

const app: App = { state: new State(), connected: false };
let watch: Watch | null = null;
let connection: Connection = { kind: "connecting" };
let view: View | null = null;
let viewName = "";
let pending: Changed | null = null; // changes that are not shown yet
let refused: string | null = null;

// ---- The frame ----------------------------------------------------------------------------------------------

const links: [string, string, string][] = [["", "Cluster", "#/"], ["jobs", "Jobs", "#/jobs"], ["rounds", "Rounds", "#/rounds"], ["submit", "Submit", "#/submit"]];
const anchors = new Map(links.map(([name, label, address]) => [name, h("a", { href: address }, label)]));
const stateDot = h("i", { class: "dot", "aria-hidden": "true" });
const stateText = h("span", { class: "state-text", "aria-hidden": "true" });
const stateSpoken = h("span", { class: "hidden-text", role: "status", "aria-live": "polite" });
const themeButton = h("button", { type: "button", class: "quiet", onclick: nextTheme });
const signOut = h("button", { type: "button", class: "quiet", onclick: leave }, "Sign out");
const who = h("span", { class: "faint clip who" });
const playback = new PlaybackBar();
const main = h("main", { id: "main", tabindex: "-1" });
const header = h("header", { class: "bar" },
  h("a", { class: "brand", href: "#/", "aria-label": "Pollux" }, h("i", { class: "logo", "aria-hidden": "true" }), "Pollux"),
  h("nav", { "aria-label": "Views" }, [...anchors.values()]),
  h("div", { class: "state" }, stateDot, stateText, stateSpoken),
  h("div", { class: "bar-end" }, who, themeButton, signOut));

function nextTheme(): void {
  const choices = ["auto", "light", "dark"] as const;
  chooseTheme(choices[(choices.indexOf(themeChoice()) + 1) % 3] ?? "auto");
}

function showTheme(): void {
  const choice = themeChoice();
  say(themeButton, { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[choice]);
  mark(themeButton, "aria-label", `Colours: ${choice}${choice === "auto" ? `, now ${isDark() ? "dark" : "light"}` : ""}. Change`);
  repaintSwatches(document);
}

function showConnection(): void {
  const { mood, text, spoken } = connectionText(connection, app.state.age(clock()), clock(), app.state.playback !== null);
  mark(header, "data-mood", mood);
  say(stateText, text);
  mark(stateText, "title", connection.kind === "lost" ? connection.reason : null);
  say(stateSpoken, spoken);
}

function showFrame(): void {
  const { state } = app;
  const signedIn = token() !== null && refused === null;
  (header.querySelector("nav") as HTMLElement).hidden = !signedIn;
  (header.querySelector(".state") as HTMLElement).hidden = !signedIn;
  signOut.hidden = !signedIn || state.playback !== null;
  who.hidden = !signedIn;
  say(who, state.you.name ? (state.you.role === state.you.name ? state.you.name : `${state.you.name}, ${state.you.role}`) : "");
  (anchors.get("submit") as HTMLElement).hidden = state.ready && !maySubmit(app);
  playback.set(signedIn ? state.playback : null);
}

// ---- Views ---------------------------------------------------------------------------------------------------

type Maker = (address: Address) => View;

function makerOf(path: string[]): [string, Maker] {
  const [first = "", second] = path;
  if (path.length === 0) return ["", () => new ClusterView(app)];
  if (first === "jobs" && second === undefined) return ["jobs", (address) => new JobsView(app, address)];
  if (first === "jobs" && second !== undefined && path.length === 2) return [`jobs/${second}`, () => new JobView(app, second)];
  if (first === "rounds" && path.length === 1) return ["rounds", () => new RoundsView(app)];
  if (first === "rounds" && second !== undefined && /^\d{1,15}$/.test(second) && path.length === 2) return [`rounds/${second}`, () => new RoundView(app, Number(second))];
  if (first === "submit" && path.length === 1) return ["submit", () => new SubmitView(app)];
  return ["missing", () => new MissingView()];
}

function closeView(): void {
  view?.close?.();
  view = null;
  viewName = "";
  hideTip();
}

function show(title: string, element: HTMLElement): void {
  fill(main, element);
  document.title = title ? `${title} · Pollux` : "Pollux";
}

function navigate(): void {
  if (token() === null || refused !== null) {
    closeView();
    show("Sign in", signIn(refused, enter));
    return;
  }
  if (!app.state.ready) {
    closeView();
    show("", h("p", { class: "waiting-note" }, "Waiting for polluxd…"));
    return;
  }
  const address = parseAddress(location.hash);
  for (const [name, anchor] of anchors) mark(anchor, "aria-current", (address.path[0] ?? "") === name ? "page" : null);
  const found = makerOf(address.path);
  if (view && found[0] === viewName && view.readdress?.(address)) return;
  const first = view === null;
  closeView();
  [viewName] = found;
  view = found[1](address);
  show(view.title, view.element);
  view.update(allChanged);
  view.tick?.();
  if (!first) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

// ---- Connection ----------------------------------------------------------------------------------------------

function connect(): void {
  watch?.close();
  const mine = new Watch({
    message(kind, update, receivedAt) {
      if (watch !== mine) return;
      if (kind === "snapshot" && isOffered()) {
        if (!update.playback) return refuseOffer("A token in an address opens recorded runs only. Type it here.");
        acceptOffer();
      }
      const changed = app.state.apply(kind, update, receivedAt);
      if (!pending) requestAnimationFrame(draw);
      pending = pending ? merge(pending, changed) : changed;
    },
    connection(next) {
      if (watch !== mine) return;
      const former = connection.kind;
      connection = next;
      app.connected = next.kind === "open";
      if (former === "lost" && next.kind === "open") view?.reconnected?.();
      if (next.kind === "refused") {
        const sentence = `The token was refused: ${next.reason}`;
        if (isOffered()) refuseOffer(sentence);
        else askAgain(sentence);
      }
      showConnection();
    },
  });
  watch = mine;
  void mine.run();
}

function merge(one: Changed, other: Changed): Changed {
  const result = { ...one };
  for (const name of Object.keys(other) as (keyof Changed)[]) result[name] ||= other[name];
  return result;
}

// Show all changes since the last frame.  A hidden tab has no frames: its changes are shown when it is seen again.
function draw(): void {
  const changed = pending;
  pending = null;
  if (!changed || !app.state.ready) return;
  showFrame();
  showConnection();
  if (view) view.update(changed);
  else navigate();
}

// Ask for a token, because of the sentence.
function askAgain(sentence: string): void {
  refused = sentence;
  forgetToken();
  app.state = new State();
  showFrame();
  navigate();
}

// An offered token does not count: go on with the kept one, or ask.
function refuseOffer(sentence: string): void {
  watch?.close();
  watch = null;
  dropOffer();
  if (token() === null) askAgain(sentence);
  else begin();
}

// Begin with the token that is there.
function begin(): void {
  refused = null;
  app.state = new State();
  showFrame();
  navigate();
  connect();
}

function enter(text: string): void {
  keepToken(text);
  begin();
}

function leave(): void {
  watch?.close();
  watch = null;
  forgetToken();
  forgetForm();
  app.state = new State();
  refused = null;
  showFrame();
  navigate();
}

// ---- Start -----------------------------------------------------------------------------------------------------

function start(): void {
  takeTokenFromAddress();
  startTheme();
  onTheme(showTheme);
  document.body.append(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
    header, playback.element, main);
  showTheme();
  showFrame();
  showConnection();
  addEventListener("hashchange", () => {
    if (takeTokenFromAddress()) begin();
    else navigate();
  });
  addEventListener("online", () => watch?.retry());
  onHidden((hidden) => hidden ? watch?.rest() : watch?.resume());
  setInterval(() => {
    showConnection();
    if (!document.hidden) view?.tick?.();
  }, 1000);
  navigate();
  if (token() !== null) connect();
}

start();
