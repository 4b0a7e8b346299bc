// SPDX-License-Identifier: Apache-2.0
// Bundles the page: `node build.mjs FOLDER` writes what polluxd embeds into the folder.
//
//   index.html page.js page.css favicon.svg     the page; polluxd serves them
//   report.html                                 the report: script and styles inlined, a mark where `pollux report` puts the data
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}
const source = join(dirname(fileURLToPath(import.meta.url)), "src");

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(source, entry)],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "inline",
    write: false,
    outdir: folder,
  });
  const text = (suffix) => result.outputFiles.find((file) => file.path.endsWith(suffix))?.text ?? "";
  return { script: text(".js"), style: text(".css") };
}

// Inside <script> and <style> elements the text must not end them.
const inline = (text, element) => text.replaceAll(`</${element}`, `<\\/${element}`);

const page = await bundle("page.ts");
const report = await bundle("report.ts");
const shell = await readFile(join(source, "report.html"), "utf8");
await mkdir(folder, { recursive: true });
await writeFile(join(folder, "page.js"), page.script);
await writeFile(join(folder, "page.css"), page.style);
for (const name of ["index.html", "favicon.svg"])
  await writeFile(join(folder, name), await readFile(join(source, name)));
await writeFile(
  join(folder, "report.html"),
  shell
    .replace("/* STYLE */", () => inline(report.style, "style"))
    .replace("/* SCRIPT */", () => inline(report.script, "script")),
);
