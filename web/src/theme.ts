// SPDX-License-Identifier: Apache-2.0
// Light and dark.  The system decides unless the reader has chosen; the choice is kept in localStorage.
// Colours are custom properties of base.css.  Canvases cannot use these: `colour` gives their present value.

export type Choice = "auto" | "light" | "dark";

const key = "pollux-theme";
const system = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
const listeners = new Set<() => void>();

export function themeChoice(): Choice {
  try {
    const kept = localStorage.getItem(key);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto"; // a page from disk may have no storage
  }
}

export function isDark(): boolean {
  const kept = document.documentElement.dataset["theme"];
  return kept === "dark" || (kept !== "light" && system?.matches === true);
}

export function chooseTheme(choice: Choice): void {
  try {
    if (choice === "auto") localStorage.removeItem(key);
    else localStorage.setItem(key, choice);
  } catch {
    // the choice holds until the page is closed
  }
  apply(choice);
}

function apply(choice: Choice): void {
  if (choice === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
  announce();
}

function announce(): void {
  for (const listener of listeners) listener();
}

// Apply the kept choice and follow the system from now on.
export function startTheme(): void {
  apply(themeChoice());
  system?.addEventListener("change", announce);
}

// Call the function whenever colours change.  Returns the function that ends this.
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

// The present value of a custom property such as "--ink", as a colour that a canvas takes.
let probe: HTMLElement | null = null;
export function colour(property: string): string {
  if (!property.startsWith("--")) return property;
  if (!probe?.isConnected) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${property})`;
  return getComputedStyle(probe).color;
}
