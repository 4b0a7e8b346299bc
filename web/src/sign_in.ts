// SPDX-License-Identifier: Apache-2.0
// The form that asks for the token.
import { h } from "./dom.ts";

// `reason`: why it is asked for again, as a sentence, or null.
export function signIn(reason: string | null, take: (token: string) => void): HTMLElement {
  const input = h("input", { type: "password", id: "token", name: "token", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help" });
  const form = h("form", {
    class: "card sign-in",
    onsubmit: (event: SubmitEvent) => {
      event.preventDefault();
      const token = input.value.trim();
      if (token) take(token);
    },
  },
    h("h1", null, "Pollux"),
    reason && h("p", { class: "notice bad-notice", role: "alert" }, reason),
    h("p", null, "Each request needs a token. The page asks for it once and keeps it for this tab only."),
    h("label", { for: "token" }, "Token"),
    h("div", { class: "line" }, input, h("button", { type: "submit", class: "primary" }, "Open")),
    h("div", { id: "token-help", class: "small soft" },
      h("p", null, "The admin's token is in the state directory of polluxd:"),
      h("pre", null, "cat STATE/admin.token"),
      h("p", null, "For others, an admin makes one that may look only, or one that may also submit jobs:"),
      h("pre", null, "pollux token new --role read-only NAME\npollux token new NAME")));
  queueMicrotask(() => input.focus());
  return form;
}
