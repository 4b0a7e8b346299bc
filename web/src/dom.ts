// SPDX-License-Identifier: Apache-2.0
// Elements in one expression: h("p", { class: "note" }, "3 jobs").
//
// Text is always put into text nodes, so names and logs cannot become markup.  The page's
// Content-Security-Policy forbids style attributes: `style` here sets properties of element.style instead.

export type Child = Node | string | number | null | undefined | false | Child[];

type Handler = (event: never) => void;
export interface Attributes {
  style?: Record<string, string>;
  [name: string]: string | number | boolean | null | undefined | Handler | Record<string, string>;
}

function append(parent: Node, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const each of child) append(parent, each);
  else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
}

// An element.  Attributes: functions are listeners ("onclick"), false, null and undefined are left out.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (typeof value === "object") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// Replace all children.
export function fill(element: Element, ...children: Child[]): void {
  element.textContent = "";
  append(element, children);
}

// Set the text, if it differs: an unchanged text keeps the reader's selection and costs no layout.
export function say(element: Element, text: string): void {
  const only = element.firstChild;
  if (only instanceof Text && only.nextSibling === null) {
    if (only.data !== text) only.data = text;
  } else if (only !== null || text !== "") element.textContent = text;
}

// Set an attribute, if it differs; null removes it.
export function mark(element: Element, name: string, value: string | null): void {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

// Replace the children, if `key` differs from that of the last call: for parts that rarely change.
const keys = new WeakMap<Element, string>();
export function refill(element: Element, key: string, make: () => Child): void {
  if (keys.get(element) === key) return;
  keys.set(element, key);
  fill(element, make());
}
