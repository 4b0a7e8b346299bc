// SPDX-License-Identifier: Apache-2.0
// The token.  It is kept in sessionStorage: for this tab, until it is closed.  It is sent in a header only.
//
// `pollux view` prints an address that ends with #token=...: such a token is an offer.  It counts once the first snapshot shows a recorded
// run.  A live daemon's page drops it: otherwise a link of somebody else could sign the reader in as somebody else, and jobs
// that the reader then submits would not be the reader's.

const key = "pollux-token", offerKey = "pollux-offered-token";
const memory = new Map<string, string>(); // where storage is forbidden: until the page is loaded again

function read(name: string): string | null {
  try {
    return sessionStorage.getItem(name) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

function write(name: string, text: string | null): void {
  if (text === null) memory.delete(name);
  else memory.set(name, text);
  try {
    if (text === null) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
  } catch {
    // memory has it
  }
}

// The token to use: an offered one first.
export const token = () => read(offerKey) ?? read(key);

export const keepToken = (text: string) => write(key, text);

export const isOffered = () => read(offerKey) !== null;

export function acceptOffer(): void {
  const text = read(offerKey);
  if (text !== null) keepToken(text);
  dropOffer();
}

export const dropOffer = () => write(offerKey, null);

export function forgetToken(): void {
  write(key, null);
  dropOffer();
}

// Take an offered token out of the address, and so out of the history, before anything else happens: a fragment is not sent to the
// server.  True: there was one.
export function takeTokenFromAddress(): boolean {
  const text = tokenOfFragment(location.hash);
  if (text === null) return false;
  history.replaceState(null, "", location.pathname + location.search);
  if (text) write(offerKey, text);
  return text !== "";
}

// The token in a fragment: "" if it is empty, null if there is none.
export function tokenOfFragment(fragment: string): string | null {
  const match = /^#token=([^&/]*)/.exec(fragment);
  if (!match) return null;
  try {
    return decodeURIComponent(match[1] ?? "");
  } catch {
    return "";
  }
}
