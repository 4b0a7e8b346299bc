// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareKeys } from "../src/sorting.ts";

test("unknown keys are last in both directions", () => {
  const sorted = (keys: (string | number | null)[], down: boolean) => [...keys].sort((a, b) => compareKeys(a, b, down));
  assert.deepEqual(sorted([3, null, 1, 2], false), [1, 2, 3, null]);
  assert.deepEqual(sorted([3, null, 1, 2], true), [3, 2, 1, null]);
  assert.deepEqual(sorted(["job-10", null, "job-9"], false), ["job-9", "job-10", null]);
  assert.deepEqual(sorted(["job-9", null, "job-10"], true), ["job-10", "job-9", null]);
});
