// SPDX-License-Identifier: Apache-2.0
// An address without a view.
import { h } from "./dom.ts";
import type { View } from "./view.ts";

export class MissingView implements View {
  readonly title = "Not found";
  readonly element = h("div", { class: "card" }, h("h1", null, "There is no such view"), h("p", null, h("a", { href: "#/" }, "To the cluster")));

  update(): void {
    // It shows nothing of the cluster.
  }
}
