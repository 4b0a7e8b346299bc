// SPDX-License-Identifier: Apache-2.0
// The report of `pollux report` in a browser, opened from disk: it shows the numbers of the simulation, and loads nothing.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { axe, begin, command, join } from "./lib.mjs";

const tests = await begin("report");
const hostile = '<img src=x onerror=alert(1)></script><b>"\'';
const workload = join(tests.folder, "day.csv"), other = join(tests.folder, "night.csv");
writeFileSync(workload, `name,time,application,num_replicas,batch_size
a,0,cifar10,2,256
b,90,ncf,1,32768
"${hostile.replaceAll('"', '""')}",600,cifar10,1,128
d,600,bert,4,48
`);
writeFileSync(other, "name,time,application,num_replicas,batch_size\nx,5,cifar10,2,256\n");
const runs = join(tests.folder, "runs"), result = join(tests.folder, "result.json");
await command(["sim", workload, other, "--nodes", "2", "--policy", "pollux,tiresias", "--record", runs, "--json", result]);
const results = JSON.parse(readFileSync(result, "utf8")).policies;

// A report of these files, opened from disk.
async function open(files, options = {}) {
  const path = join(tests.folder, `${options.name ?? "report"}.html`);
  await command(["report", ...files, "-o", path]);
  const page = await tests.context("file://", options);
  await page.goto(`file://${path}`);
  await page.getByRole("heading", { name: "Numbers" }).waitFor();
  return page;
}
const day = ["pollux", "tiresias"].map((policy) => join(runs, `${policy}-day.db`));
const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

await tests.test("the numbers are those of pollux sim --json", async () => {
  const page = await open(day);
  for (const policy of ["pollux", "tiresias"]) {
    const row = page.getByRole("region", { name: "Numbers" }).getByRole("row", { name: new RegExp(`^${policy}`) });
    const exact = await row.getByRole("cell").nth(1).getAttribute("title");
    const was = results[policy].workloads.day.avg_jct;
    assert.ok(Math.abs(Number(exact.replaceAll(",", "")) - was) < 1e-9 * was, `${exact} is not ${was}`);
  }
  assert.match(await page.getByRole("heading", { level: 1 }).innerText(), /completes the average job in/);
  assert.equal(await page.locator(".timeline canvas").count(), 2);
  assert.equal(await page.locator(".chart canvas").count(), 4);
  for (const name of ["Jobs completed within", "Slots in use", "Jobs waiting", "Jobs with rho up to"])
    assert.match(await page.getByRole("group", { name }).locator("figcaption").innerText(), /pollux\s*tiresias/, `${name} has a legend`);
  assert.match(await page.getByText("How it was made").locator("..").innerText(), /pollux sim .*--policy pollux,tiresias/);
});

await tests.test("on a narrow page the numbers are not cut off", async () => {
  const page = await open(day, { width: 400 });
  const region = page.getByRole("region", { name: "Numbers" });
  await region.getByRole("row", { name: /^Mean JCT/ }).waitFor();
  assert.equal(await region.getByRole("row", { name: /^pollux/ }).count(), 0);
  assert.ok(await region.evaluate((box) => box.scrollWidth <= box.clientWidth), "nothing is beside the box");
});

await tests.test("names full of HTML are text", async () => {
  const page = await open(day);
  await page.getByText("All jobs").click();
  await page.getByRole("cell", { name: hostile, exact: true }).waitFor();
  assert.equal(await page.locator("main img, main b:has-text('\"')").count(), 0);
  assert.equal(page.requests.length, 1, "only the file itself is loaded");
});

await tests.test("the table of jobs is searched and sorted", async () => {
  const page = await open(day);
  await page.getByText("All jobs").click();
  const rows = page.getByRole("region", { name: "All jobs" }).locator("tbody tr");
  await rows.nth(3).waitFor();
  assert.equal(await rows.count(), 4);
  await page.getByRole("button", { name: "JCT pollux" }).click();
  const times = results.pollux.workloads.day.jct;
  assert.equal(await rows.first().getByRole("cell").first().innerText(), Object.keys(times).sort((a, b) => times[a] - times[b])[0]);
  await page.getByLabel("Search jobs").fill("NCF");
  assert.equal(await rows.count(), 1);
});

await tests.test("a job under the pointer is named", async () => {
  const page = await open(day);
  await page.locator(".timeline canvas").first().hover({ position: { x: 5, y: 5 } });
  assert.match(await page.locator(".tip").innerText(), /^a\n/);
});

await tests.test("several workloads are chosen by buttons", async () => {
  const page = await open([...day, join(runs, "pollux-night.db"), join(runs, "tiresias-night.db")], { name: "several" });
  await page.getByRole("region", { name: "Mean JCT of all workloads" }).waitFor();
  await page.getByRole("button", { name: "night" }).click();
  assert.equal(await page.getByRole("button", { name: "night" }).getAttribute("aria-pressed"), "true");
  assert.match(await page.locator(".subtitle").innerText(), /1 job .*workload night/);
});

await tests.test("eleven journals have keys that differ, and lines as their keys", async () => {
  const files = Array.from({ length: 11 }, (_, i) => join(tests.folder, `copy-${i}.db`));
  for (const file of files) copyFileSync(day[0], file);
  const page = await open(files, { name: "eleven" });
  const looks = (keys) => keys.evaluateAll((all) => all.map((key) => `${getComputedStyle(key).background} ${key.className}`));
  const keys = await looks(page.locator("table.beside tbody .key"));
  assert.equal(new Set(keys).size, 11, keys.join("\n"));
  assert.equal(keys.filter((key) => key.endsWith("broken")).length, 3);
  assert.equal(new Set(await looks(page.getByRole("group", { name: "Slots in use" }).locator(".key"))).size, 11);
});

await tests.test("a second run of a policy and workload counts in the table of all workloads", async () => {
  const again = join(tests.folder, "again.db");
  await command(["sim", workload, "--nodes", "2", "--policy", "tiresias", "--seed", "7", "--record", join(tests.folder, "again")]);
  copyFileSync(join(tests.folder, "again", "tiresias-day.db"), again);
  const page = await open([day[1], again, join(runs, "tiresias-night.db")], { name: "again" });
  const table = page.getByRole("region", { name: "Mean JCT of all workloads" });
  await table.getByRole("cell", { name: /mean of 2 runs/ }).waitFor();
  assert.equal(await table.getByText(/mean of/).count(), 1);
});

await tests.test("a RESULT.json gives tables and completion times, and the report says what is missing", async () => {
  const page = await open([result], { name: "result" });
  assert.equal(await page.locator(".timeline").count(), 0);
  const text = await page.getByRole("main").innerText();
  assert.match(text, /Not known: a RESULT\.json has no timelines/);
  assert.match(text, /Not known: a RESULT\.json has no usage over time/);
  assert.match(text, /completion times and numbers only/);
});

for (const theme of ["light", "dark"])
  for (const width of [1280, 400])
    await tests.test(`${theme}, ${width} px: axe finds nothing serious, nothing is cut off`, async () => {
      const page = await open(day, { theme, width });
      await page.getByText("All jobs").click();
      await axe(page);
      assert.ok((await wide(page)) <= 0, `the page is ${await wide(page)} px wider than the window`);
    });

await tests.test("960 jobs of two policies take less than 2 MB", async () => {
  const large = join(tests.folder, "large.csv"), path = join(tests.folder, "large.html");
  writeFileSync(large, await command(["workload", "--jobs", "960"]));
  await command(["sim", large, "--nodes", "48", "--policy", "tiresias,optimus", "--report", path]);
  assert.ok(statSync(path).size < 2e6, `${statSync(path).size} bytes`);
  const page = await tests.context("file://");
  await page.goto(`file://${path}`);
  await page.getByText("2 policies · 960 jobs · 192 slots · workload large").waitFor();
});

await tests.end();
