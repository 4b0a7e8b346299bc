// SPDX-License-Identifier: Apache-2.0
// Runs the unit tests of the page: `node test.mjs` bundles test/*.test.ts and starts Node's test runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "test");
const folder = await mkdtemp(join(tmpdir(), "pollux-page-"));
let status = 1;
try {
  const names = (await readdir(source)).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: names.map((name) => join(source, name)),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node18",
    outExtension: { ".js": ".mjs" },
    loader: { ".css": "text" },
    outdir: folder,
  });
  const files = names.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  status = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", env: { ...process.env, TZ: "Europe/Berlin" } }).status ?? 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit(status);
