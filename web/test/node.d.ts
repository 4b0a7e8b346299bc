// SPDX-License-Identifier: Apache-2.0
// The parts of Node that the tests use; all of @types/node is not needed for them.
declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
}
declare module "node:assert/strict" {
  const assert: {
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    ok(value: unknown, message?: string): void;
  };
  export default assert;
}
// web/test.mjs gives style sheets as text.
declare module "*.css" {
  const text: string;
  export default text;
}
