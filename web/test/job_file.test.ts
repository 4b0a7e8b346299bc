// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyForm, jobFile } from "../src/job_file.ts";
import { document, scalar } from "../src/yaml.ts";

test("texts are quoted where YAML would read something else", () => {
  for (const plain of ["resnet", "python train.py --epochs 90", "/home/ann", "a:b", "x<b>", "it's"]) assert.equal(scalar(plain), plain);
  for (const text of ["", "true", "No", "null", "~", "12", "1e3", "0x1F", ".5", ".inf", "-x", "- x", "a: b", "a #b", "#x", "*a", "&a", "!t", "{a}", "[a]", "'x", "\"x", "a\nb", "ü", "x ", " x", "%a", "@a", "`a", "a:", "?"])
    assert.equal(scalar(text), JSON.stringify(text), text);
  assert.equal(scalar("\u0085"), "\"\\u0085\"");
});

test("documents", () => {
  assert.equal(document([["a", 1], ["b", true], ["c", ["x", "y, z", 2]], ["d", { k: "v", "l m": "1" }]]), "a: 1\nb: true\nc: [x, \"y, z\", 2]\nd: {k: v, l m: \"1\"}\n");
  assert.equal(document([["command", "one\n\n  two\n"]]), "command: |\n  one\n\n    two\n");
  assert.equal(document([["command", "one\ntwo"]]), "command: |-\n  one\n  two\n");
  assert.equal(document([["command", " one\ntwo"]]), "command: \" one\\ntwo\"\n");
  assert.equal(document([["e", { a: "1", b: "2", c: "3", d: "x\ny" }]]), "e:\n  a: \"1\"\n  b: \"2\"\n  c: \"3\"\n  d: |-\n    x\n    y\n");
});

test("the form makes a job file", () => {
  assert.equal(jobFile(emptyForm), "");
  assert.equal(jobFile({
    ...emptyForm, name: "resnet", command: "python train.py", environment: "DATA=/data\n\nLR = 1e-3\nFLAG", adaptive: true, minReplicas: "1", maxReplicas: "many",
    allowed: "pow2", types: "a100, v100", preemptible: "false", launcher: "mpi", weight: "2.5", more: "speeds: {t4: 1}\n",
  }), `name: resnet
command: python train.py
environment: {DATA: /data, LR: "1e-3", FLAG: ""}
adaptive: true
min_replicas: 1
max_replicas: many
allowed: pow2
types: [a100, v100]
weight: 2.5
preemptible: false
launcher: mpi
speeds: {t4: 1}
`);
  for (const [text, yaml] of [["4", "[4]"], [" 4, ", "[4]"], ["1 2,4", "[1, 2, 4]"], ["any", "any"], ["multiple 4", "{multiple_of: 4}"]])
    assert.equal(jobFile({ ...emptyForm, allowed: text as string }), `allowed: ${yaml}\n`, text);
  assert.equal(jobFile({ ...emptyForm, environment: "__proto__=1" }), "environment: {__proto__: \"1\"}\n");
  assert.equal(jobFile({ ...emptyForm, allowed: "1, 2 4" }), "allowed: [1, 2, 4]\n");
  assert.equal(jobFile({ ...emptyForm, allowed: "multiple of 4" }), "allowed: {multiple_of: 4}\n");
});
