// SPDX-License-Identifier: Apache-2.0
// A recorded run of a generated workload with 960 jobs, played on the page to its end: the numbers are those of
// `pollux sim --json`.  Names of jobs come from a file, so they may be full of HTML.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { axe, begin, command, join, until } from "./lib.mjs";

const tests = await begin("recorded");
const path = (name) => join(tests.folder, name);
// The API's paths cannot contain slashes: the second name is in lists only.
const hostile = ['<img src=x onerror="hacked=1"><b>', "</script><script>hacked=1</script>"];

await command(["workload", "--jobs", "960", "--seed", "7"]).then((text) => {
  // The first jobs get other names.
  const lines = text.split("\n");
  hostile.forEach((name, i) => (lines[i + 1] = lines[i + 1].replace(/^[^,]*/, `"${name.replaceAll('"', '""')}"`)));
  writeFileSync(path("day.csv"), lines.join("\n"));
});
await command(["sim", path("day.csv"), "--policy", "pollux", "--nodes", "100", "--interval", "120", "--record", path("day.db"), "--json", path("day.json")]);
const result = JSON.parse(readFileSync(path("day.json"), "utf8")).policies.pollux.workloads.day;
const sum = () => createHash("sha256").update(readFileSync(path("day.db"))).digest("hex");
const before = sum();
const view = await tests.view(path("day.db"), "--paused");

const slider = (page) => page.getByRole("slider", { name: "Time" });
const status = async () => (await fetch(`${view.address}/v1/status`, { headers: { authorization: `Bearer ${view.token}` } })).json();
const close = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));

await tests.test("every request needs the token of the printed address", async () => {
  assert.equal((await fetch(`${view.address}/v1/status`)).status, 401);
  assert.equal((await fetch(`${view.address}/v1/playback`)).status, 401);
  assert.equal((await fetch(`${view.address}/v1/status`, { headers: { authorization: "Bearer wrong" } })).status, 401);
  assert.equal((await fetch(`${view.address}/`)).status, 200);
});

await tests.test("the printed address opens the page; the token leaves the address at once", async () => {
  const page = await tests.context(view.address, { token: null });
  await page.goto(view.url);
  await slider(page).waitFor();
  assert.ok(!page.url().includes(view.token), page.url());
  assert.ok(!page.requests.some((url) => url.includes(view.token)));
  await page.getByText("recorded run").first().waitFor();
  assert.equal(await page.getByRole("link", { name: "Submit", exact: true }).filter({ visible: true }).count(), 0, "nothing can be submitted");
});

await tests.test("the slider jumps, also back", async () => {
  const page = await tests.open(view, "#/");
  const jump = async (share) => {
    const at = await slider(page).evaluate((input, part) => {
      input.value = String(Number(input.min) + (Number(input.max) - Number(input.min)) * part);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      input.dispatchEvent(new Event("change", { bubbles: true }));
      return Number(input.value);
    }, share);
    await until("the run is there", async () => Math.abs((await status()).now_at - at) < 1);
  };
  const running = () => page.locator(".tile", { has: page.locator("dt", { hasText: /^Running$/ }) }).locator(".tile-value").innerText();
  const agree = () => until("the page shows the jobs of that time", async () => (await running()) === String((await status()).jobs.running));
  await jump(0.3);
  await agree();
  const early = await status();
  assert.ok(early.jobs.running > 0 && early.jobs.finished < 960);
  await jump(0.5);
  await agree();
  assert.ok((await status()).jobs.finished > early.jobs.finished);
  await jump(0.3);
  await agree();
  assert.deepEqual((await status()).jobs, early.jobs, "the same state again");
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await axe(page);
  }
});

await tests.test("the slider follows the run again after a drag back to where it began", async () => {
  const page = await tests.open(view, "#/");
  const { x, y, width, height } = await slider(page).boundingBox();
  const to = (at) => page.mouse.move(x + at, y + height / 2, { steps: 5 });
  const value = async () => Number(await slider(page).inputValue());
  const changes = await slider(page).evaluateHandle((input) => {
    const seen = { count: 0 };
    input.addEventListener("change", () => seen.count++);
    return seen;
  });
  await to(1); // the first value: other places have fractions of microseconds, and the run has not
  await page.mouse.down();
  await page.mouse.up();
  const start = await value();
  await until("the run is there", async () => Math.abs((await status()).now_at - start) < 1);
  const before = await changes.evaluate((seen) => seen.count);
  await to(6);
  await page.mouse.down();
  await to(width * 0.2);
  await until("the run follows the drag", async () => (await status()).now_at > start + 1);
  await to(-30);
  await page.mouse.up();
  await until("the slider is back", async () => (await value()) === start);
  assert.equal(await changes.evaluate((seen) => seen.count), before, "the browser calls it no change");
  await until("the run is back", async () => Math.abs((await status()).now_at - start) < 1);
  await page.getByRole("button", { name: "Play" }).click();
  await until("the slider follows the run", async () => (await value()) > start);
  await page.getByRole("button", { name: "Pause" }).click();
});

await tests.test("played to its end, it has the numbers of pollux sim --json", async () => {
  const page = await tests.open(view, "#/jobs?phase=all");
  await slider(page).waitFor();
  await page.getByLabel("Speed").selectOption("10000");
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByText(/, the end/).waitFor();
  await page.getByText("960 jobs", { exact: true }).waitFor();
  const jobs = [];
  for (let after = ""; ; ) {
    const answer = await (await fetch(`${view.address}/v1/jobs?limit=500${after}`, { headers: { authorization: `Bearer ${view.token}` } })).json();
    jobs.push(...answer.jobs);
    if (!answer.next) break;
    after = `&after=${encodeURIComponent(answer.next)}`;
  }
  assert.equal(jobs.length, 960);
  const jct = (job) => job.ended_at - job.submitted_at;
  for (const job of jobs) {
    assert.equal(job.phase, "finished", job.name);
    assert.ok(close(jct(job), result.jct[job.name]), `${job.name}: ${jct(job)}, not ${result.jct[job.name]}`);
  }
  const mean = jobs.reduce((total, job) => total + jct(job), 0) / 960;
  assert.ok(close(mean, result.avg_jct), `${mean}, not ${result.avg_jct}`);
  const restarts = jobs.reduce((total, job) => total + job.restarts, 0) / 960;
  assert.ok(close(restarts, result.restarts_per_job), `${restarts} restarts per job, not ${result.restarts_per_job}`);
  // What the page itself shows: the rows of the jobs that were moved most, and their own pages.  Durations are rounded there.
  assert.equal(await page.locator('tr[data-job] [data-phase]:not([data-phase="finished"])').count(), 0);
  await page.getByRole("button", { name: "Restarts", exact: true }).click();
  const most = Math.max(...jobs.map((job) => job.restarts));
  await until("sorted by restarts", async () => Number(await page.locator("tr[data-job]").first().locator("td").nth(8).locator("div").first().innerText()) === most);
  const rows = await page.locator("tr[data-job]").evaluateAll((all) => all.slice(0, 5).map((tr) => [tr.dataset.job, Number(tr.children[9].innerText.split("\n")[0])]));
  for (const [name, moved] of rows) assert.equal(moved, jobs.find((job) => job.name === name).restarts, name);
  const seconds = (text) => [...text.matchAll(/([\d.]+) (d|h|min|s)\b/g)].reduce((total, [, value, unit]) => total + value * { d: 86400, h: 3600, min: 60, s: 1 }[unit], 0);
  for (const [name] of rows) {
    await page.goto(`${view.address}/#/jobs/${encodeURIComponent(name)}`);
    await page.getByRole("heading", { name }).waitFor();
    const note = page.locator(".tile", { has: page.locator("dt", { hasText: /^Ended$/ }) }).locator(".tile-note");
    const shown = await until("the time to completion", async () => seconds(await note.innerText()));
    const wanted = result.jct[name], step = wanted >= 86400 ? 3600 : wanted >= 600 ? 60 : 1;
    assert.ok(Math.abs(shown - wanted) <= step, `${name}: the page says ${await note.innerText()}, the simulation ${wanted} s`);
  }
});

await tests.test("a round that the stream does not have has its neighbours", async () => {
  const { rounds } = await (await fetch(`${view.address}/v1/rounds?limit=400`, { headers: { authorization: `Bearer ${view.token}` } })).json();
  const page = await tests.open(view, `#/rounds/${rounds[300].round}`);
  const leads = (name, round) => page.locator(`a[href="#/rounds/${round}"]`, { hasText: name }).waitFor();
  await leads("earlier", rounds[301].round);
  await leads("later", rounds[299].round);
  await page.goto(`${view.address}/#/rounds/${rounds[0].round}`);
  await leads("earlier", rounds[1].round);
  assert.equal(await page.getByRole("link", { name: "later →" }).count(), 0);
});

await tests.test("a name full of HTML is text, in every view", async () => {
  const page = await tests.open(view, "#/jobs?phase=all");
  await page.getByRole("searchbox").fill("</script>");
  await page.getByRole("link", { name: hostile[1] }).waitFor();
  await page.getByRole("searchbox").fill("<img");
  await page.getByRole("link", { name: hostile[0] }).click();
  await page.getByRole("heading", { name: hostile[0] }).waitFor();
  await until("charts are drawn", async () => (await page.locator("canvas").count()) >= 1);
  for (const address of ["#/", "#/rounds", "#/rounds/1"]) {
    if (address === "#/rounds/1") page.allowed.push(/status of 404/);
    await page.goto(`${view.address}/${address}`);
    await page.locator("h1").first().waitFor({ state: "attached" });
  }
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

await tests.test("the journal is not changed", async () => {
  assert.equal(sum(), before);
});

await tests.test("a journal of a live daemon is played, too", async () => {
  const daemon = await tests.daemon("--backend", "fake", "--node", "a:4", "--interval", "1");
  await daemon.script("one", "anything");
  await until("it runs", async () => (await daemon.job("one")).phase === "running");
  await daemon.stop();
  const other = await tests.view(join(daemon.state, "journal.db"), "--at", "end", "--paused");
  const page = await tests.open(other, "#/jobs?phase=all");
  await page.locator('tr[data-job="one"]').waitFor();
  await page.goto(`${other.address}/#/jobs/one`);
  await page.getByRole("heading", { name: "one" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Scale|Cancel/ }).filter({ visible: true }).count(), 0);
});

await tests.end();
