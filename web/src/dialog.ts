// SPDX-License-Identifier: Apache-2.0
// A dialog that asks before something is done.  The action runs while it is open: a refusal is shown in it.
import { h, say, type Child } from "./dom.ts";

export interface Question {
  title: string;
  content: Child;
  action: string; // the text of the button
  danger?: boolean;
  run(): Promise<unknown>;
}

export function ask(question: Question): void {
  const message = h("p", { class: "bad", role: "alert" });
  const act = h("button", { type: "submit", class: question.danger ? "danger" : "primary" }, question.action);
  const back = h("button", { type: "button", onclick: () => dialog.close() }, "Back");
  const titleId = "dialog-title";
  const form = h("form", {
    onsubmit: async (event: SubmitEvent) => {
      event.preventDefault();
      act.disabled = true;
      say(message, "");
      try {
        await question.run();
        dialog.close();
      } catch (error) {
        say(message, (error as Error).message);
        act.disabled = false;
      }
    },
  }, h("h2", { id: titleId }, question.title), question.content, message, h("div", { class: "dialog-buttons" }, back, act));
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": titleId, onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
  if (question.danger) back.focus();
}
