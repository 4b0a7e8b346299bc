// SPDX-License-Identifier: Apache-2.0
// The rows of a long table that are in sight, between two empty rows as high as those that are not.  All rows have the same
// height.  Elements stay and show other rows, which is much faster than making them.
import { h, mark } from "./dom.ts";

export interface RowElement<T> {
  element: HTMLTableRowElement;
  show(item: T): void; // this item from now on
}

const spare = 6; // rows above and below those in sight

export class VirtualRows<T> {
  private items: T[] = [];
  private readonly rows: RowElement<T>[] = [];
  private keys: number[] = []; // of the items in the rows
  private readonly above: HTMLTableRowElement;
  private readonly below: HTMLTableRowElement;
  private readonly resize: ResizeObserver;
  private frame = 0;

  constructor(
    private readonly box: HTMLElement, // scrolls
    private readonly body: HTMLElement, // tbody
    private readonly height: () => number, // of a row now, in pixels
    private readonly key: (item: T) => number,
    private readonly make: () => RowElement<T>,
  ) {
    this.above = h("tr", { class: "spacer", "aria-hidden": "true" });
    this.below = h("tr", { class: "spacer", "aria-hidden": "true" });
    body.append(this.above, this.below);
    box.addEventListener("scroll", () => this.later(), { passive: true });
    this.resize = new ResizeObserver(() => this.later());
    this.resize.observe(box);
  }

  set(items: T[]): void {
    this.items = items;
    this.draw();
  }

  // Show the same items again: what is written about them depends on the time.
  redraw(): void {
    this.draw();
  }

  close(): void {
    this.resize.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const { items, rows } = this, height = this.height();
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - spare);
    const end = Math.min(items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + spare);
    const start = Math.min(first, Math.max(0, end - 1));
    const focused = rows.findIndex((row) => row.element.contains(document.activeElement));
    const focusedKey = focused < 0 ? null : (this.keys[focused] ?? null);
    while (rows.length > end - start) rows.pop()?.element.remove();
    while (rows.length < end - start) {
      const row = this.make();
      rows.push(row);
      this.body.insertBefore(row.element, this.below);
    }
    this.above.style.height = `${start * height}px`;
    this.below.style.height = `${Math.max(0, items.length - end) * height}px`;
    this.keys = [];
    rows.forEach((row, at) => {
      const item = items[start + at] as T;
      this.keys.push(this.key(item));
      row.show(item);
      mark(row.element, "aria-rowindex", String(start + at + 2)); // the head is row 1
    });
    if (focusedKey !== null && this.keys[focused] !== focusedKey) this.moveFocus(focusedKey);
  }

  // The focus stays with its item, not with its place.
  private moveFocus(key: number): void {
    const row = this.rows[this.keys.indexOf(key)];
    (row?.element.querySelector<HTMLElement>("a") ?? this.box).focus({ preventScroll: true });
  }
}
