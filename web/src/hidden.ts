// SPDX-License-Identifier: Apache-2.0
// Whether this tab has been hidden for some seconds.  All tabs of a browser share six connections to a server, so a hidden tab gives
// its streams back.

const patience_ms = 4000; // a look at another tab closes nothing

type Listener = (hidden: boolean) => void;
const listeners = new Set<Listener>();
let timer = 0;

function tell(hidden: boolean): void {
  for (const listener of [...listeners]) listener(hidden);
}

function look(): void {
  clearTimeout(timer);
  if (document.visibilityState === "hidden") timer = window.setTimeout(() => tell(true), patience_ms);
  else tell(false);
}

// Call the listener with true when the tab has been hidden for a while, and with false when it is seen again.  The result ends this.
export function onHidden(listener: Listener): () => void {
  if (!listeners.size) document.addEventListener("visibilitychange", look);
  listeners.add(listener);
  if (document.visibilityState === "hidden") look();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) document.removeEventListener("visibilitychange", look);
  };
}
