// SPDX-License-Identifier: Apache-2.0
// A small box of text beside the pointer or the focused element.  What it says is also in the element's label, so screen
// readers ignore it.
import { fill, h, type Child } from "./dom.ts";

const box = h("div", { class: "tip", "aria-hidden": "true", hidden: true });

export function showTip(x: number, y: number, ...content: Child[]): void {
  if (!box.isConnected) document.body.append(box);
  fill(box, content);
  box.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = Math.max(4, Math.min(x + 12, document.documentElement.clientWidth - width - 4));
  const above = y + 16 + height > document.documentElement.clientHeight;
  box.style.left = `${left}px`;
  box.style.top = `${above ? Math.max(4, y - height - 10) : y + 16}px`;
}

export function hideTip(): void {
  box.hidden = true;
}
