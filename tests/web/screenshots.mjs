// SPDX-License-Identifier: Apache-2.0
// Pictures of every view: `node tests/web/screenshots.mjs FOLDER [--docs] [3|300|5000]...` (tools/screenshots calls it).
//
//     3       a live daemon with three training jobs
//     300     a recorded run of a generated workload, at noon
//     5000    a live daemon with the fake backend, 1,000 nodes and 5,000 jobs
//
// Each view is drawn in both themes, 1280 and 400 px wide: FOLDER/COUNT-VIEW-THEME-WIDTH.png.  With --docs those that README.md
// and docs/web.md show are also written to docs/pictures, as far as a window shows them.
import { mkdirSync, writeFileSync } from "node:fs";
import { begin, command, join, until, PATIENCE_MS } from "./lib.mjs";
import { nodesFile, populate } from "./populate.mjs";

const [folder, ...counts] = process.argv.slice(2).filter((word) => word !== "--docs");
const docs = process.argv.includes("--docs");
const shown = { "300-cluster-light-1280": "cluster", "300-cluster-dark-1280": "cluster-dark", "300-jobs-light-1280": "jobs", "300-job-light-1280": "job", "300-round-light-1280": "round", "5000-cluster-dark-1280": "cluster-5000", "3-cluster-light-400": "narrow" };
if (!folder) {
  console.error("usage: node tests/web/screenshots.mjs FOLDER [--docs] [3|300|5000]...");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const wanted = counts.length ? counts : ["3", "300", "5000"];
const tests = await begin("screenshots");

// views: [name, address, what is drawn when it is ready]
async function draw(server, count, views) {
  for (const width of [1280, 400])
    for (const [name, address, ready] of views) {
      const page = await tests.open(server, address, { width, height: width === 400 ? 800 : name === "job" ? 1060 : count === "300" && name === "cluster" ? 730 : 860 });
      await page.locator(ready).first().waitFor();
      await page.evaluate(() => document.fonts.ready);
      await until("charts are drawn", () => page.evaluate(() => !document.body.innerText.includes("Reading")), PATIENCE_MS);
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        // Two frames: canvases follow the theme.
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await page.screenshot({ path: join(folder, `${count}-${name}-${theme}-${width}.png`), fullPage: true });
        const kept = shown[`${count}-${name}-${theme}-${width}`];
        if (docs && kept) {
          const session = await page.context().newCDPSession(page);
          const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 88 });
          mkdirSync("docs/pictures", { recursive: true });
          writeFileSync(`docs/pictures/${kept}.webp`, Buffer.from(data, "base64"));
        }
      }
      if (page.problems.length) console.log(`${count} ${name} ${width}: ${page.problems[0]}`);
      await page.context().close();
    }
  console.log(`${count}: ${views.length} views in ${folder}`);
}

// A round that changed the most.
async function interesting(get) {
  const { rounds } = await get("/v1/rounds?limit=1000");
  let best = null;
  for (const round of rounds.slice(0, 60)) {
    const details = await get(`/v1/rounds/${round.round}`).catch(() => null);
    if (details?.changes && (!best || details.changes.length > best.changes.length)) best = details;
  }
  return best.round;
}

if (wanted.includes("3")) {
  const daemon = await tests.daemon("--node", "left:4", "--node", "right:4", "--interval", "4");
  const get = async (path) => (await daemon.get(path)).json();
  await draw(daemon, "0", [["cluster", "#/", ".tile"], ["jobs", "#/jobs", ".nothing"], ["rounds", "#/rounds", ".nothing"]]);
  for (const width of [1280, 400]) {
    const page = await tests.open(daemon, "#/", { token: null, width });
    await page.getByLabel("Token").waitFor();
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      await page.screenshot({ path: join(folder, `0-sign-in-${theme}-${width}.png`), fullPage: true });
    }
    await page.context().close();
  }
  await daemon.train("alice", 9000);
  await daemon.train("bob", 9000, "--max", "4");
  await daemon.script("carol", "exit 3", "--max-failures", "0");
  await until("both have models and were moved", async () => {
    const jobs = [await daemon.job("alice"), await daemon.job("bob")];
    return jobs.every((job) => job.goodput > 0) && jobs.some((job) => job.restarts > 0);
  });
  // Three minutes of history.
  await until("there is history", async () => (await get("/v1/history")).minutes.at.length >= 3, 240_000);
  await draw(daemon, "3", [
    ["cluster", "#/", "canvas"],
    ["jobs", "#/jobs?phase=all", "tr[data-job]"],
    ["job", "#/jobs/alice", "canvas"],
    ["failed", "#/jobs/carol", "h1"],
    ["rounds", "#/rounds", "canvas"],
    ["round", `#/rounds/${await interesting(get)}`, ".tile"],
    ["submit", "#/submit", ".yaml"],
  ]);
  await daemon.stop();
}

if (wanted.includes("300")) {
  const path = (name) => join(tests.folder, name);
  writeFileSync(path("day.csv"), await command(["workload", "--jobs", "300", "--hours", "5", "--seed", "5"]));
  await command(["sim", path("day.csv"), "--policy", "pollux", "--node-group", "a100:6x8,t4:12x4", "--record", path("day.db"), "--experience", "on"]);
  const view = await tests.view(path("day.db"), "--paused", "--at", "10000");
  const get = async (path) => (await fetch(view.address + path, { headers: { authorization: `Bearer ${view.token}` } })).json();
  await until("that time has come", async () => (await get("/v1/status")).now_at >= 10000);
  const { jobs } = await get("/v1/jobs?phase=running&limit=1000");
  const job = jobs.sort((a, b) => b.restarts - a.restarts)[0].name;
  await draw(view, "300", [
    ["cluster", "#/", "canvas"],
    ["jobs", "#/jobs", "tr[data-job]"],
    ["job", `#/jobs/${encodeURIComponent(job)}`, "canvas"],
    ["rounds", "#/rounds", "canvas"],
    ["round", `#/rounds/${await interesting(get)}`, ".tile"],
  ]);
}

if (wanted.includes("5000")) {
  const daemon = await tests.daemon("--config", nodesFile(tests.folder, 1000, 30), "--log-level", "warning");
  await populate(daemon, 5000);
  const get = async (path) => (await daemon.get(path)).json();
  await until("a full round has given jobs more slots", async () => (await get("/v1/status")).used_slots > 5000, 120_000);
  await until("there is history", async () => (await get("/v1/history")).minutes.at.length >= 2, 180_000);
  const { jobs } = await get("/v1/jobs?phase=running&limit=20");
  await draw(daemon, "5000", [
    ["cluster", "#/", "canvas"],
    ["jobs", "#/jobs", "tr[data-job]"],
    ["job", `#/jobs/${jobs[10].name}`, "canvas"],
    ["rounds", "#/rounds", "canvas"],
    ["round", `#/rounds/${await interesting(get)}`, ".tile"],
    ["submit", "#/submit", ".yaml"],
  ]);
}
await tests.end();
