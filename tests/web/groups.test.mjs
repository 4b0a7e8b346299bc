// SPDX-License-Identifier: Apache-2.0
// Groups of nodes on the page: nodes that start, come up, leave and are off; sizes, prices and costs, as pollux groups prints them.
// Without prices the page says nothing about costs.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { axe, begin, join, until } from "./lib.mjs";

const tests = await begin("groups");
const file = join(tests.folder, "cluster.yaml");
// The command that orders nodes does nothing: here the test says when they exist.
writeFileSync(file, `groups:
  - {name: spot, type: a100, gpus_per_node: 4, nodes: 3, min: 0, max: 8, boot_s: 60, price_per_node_hour: 360, revocable: true, notice_s: 120}
  - {name: rack, type: t4, gpus_per_node: 2, nodes: 0, min: 0, max: 2, price_per_node_hour: 36}
`);
const daemon = await tests.daemon("--cluster", file, "--goal", "fixed", "--grow", "true", "--shrink", "true", "--interval", "1");
const state = async (name) => (await daemon.json(["nodes"])).nodes.find((node) => node.name === name)?.power;
const isLive = (page) => page.locator(".state-text").filter({ hasText: /^live$/ }).waitFor();
await until("three nodes are ordered", async () => (await state("spot-2")) === "starting");

await tests.test("the cluster: nodes come, are marked in words, and leave without a reload", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  const card = page.getByRole("region", { name: "Groups", exact: true });
  await card.getByText("0 of 3 wanted").waitFor();
  await card.getByText("3 starting").waitFor();
  await card.getByText("goal fixed").waitFor();
  await page.getByRole("link", { name: /^spot-0, a100, 0 slots: starting, must come until/ }).waitFor();
  await daemon.command(["nodes", "up", "spot-0:4"]);
  await page.getByRole("link", { name: /^spot-0, a100, 4 slots: 4 idle$/ }).waitFor();
  await daemon.command(["nodes", "up", "spot-1:4"]);
  await card.getByText("2 of 3 wanted").waitFor();
  await card.getByText(/720\.00 per hour/).waitFor();
  await daemon.script("keeps", "exec sleep 1000", "--replicas", "4", "--no-preemptible");
  await until("it runs", async () => (await daemon.job("keeps")).replicas === 4);
  const [node] = Object.keys((await daemon.job("keeps")).placement);
  await daemon.command(["drain", node, "--leaving", "3600"]);
  await page.getByRole("link", { name: new RegExp(`^${node}, a100, 4 slots: keeps 4, draining, leaves at `) }).waitFor();
  assert.equal(await page.getByRole("link", { name: /^spot-7|^gpu/ }).count(), 0);
});

await tests.test("costs: of the cluster, of the list and of a job", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  const card = page.getByRole("region", { name: "Groups", exact: true });
  const cost = async () => Number(/([0-9,.]+) so far/.exec(await card.innerText())?.[1].replaceAll(",", ""));
  const first = await until("something was paid", cost);
  await until("the cost grows while the page is open", async () => (await cost()) > first);
  const shown = await cost();
  assert.ok(shown <= (await daemon.json(["groups"])).cost + 1, "it is that of pollux groups");
  await page.goto(`${daemon.url}/#/jobs`);
  await page.getByRole("columnheader", { name: "Cost" }).waitFor();
  await page.locator('tr[data-job="keeps"] td.cost').getByText("360.00/h").waitFor();
  await until("its cost is that of pollux list", async () => {
    const { jobs } = await daemon.json(["list", "--all"]);
    const text = await page.locator('tr[data-job="keeps"] td.cost div').first().innerText();
    return Math.abs(Number(text.replaceAll(",", "")) - jobs.find((job) => job.name === "keeps").cost) <= 0.3; // three seconds
  });
  await page.goto(`${daemon.url}/#/jobs/keeps`);
  await page.getByText(/so far, 360\.00 per hour now/).waitFor();
});

await tests.test("a node that is off is not drawn", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  const link = page.getByRole("link", { name: /^spot-2, / });
  await link.waitFor();
  await daemon.command(["drain", "spot-2", "--leaving", "0"]); // its order is cancelled, and another node is ordered
  await until("it is off", async () => (await state("spot-2")) === "off");
  await link.waitFor({ state: "detached" });
  await page.getByRole("link", { name: /^spot-3, .*starting/ }).waitFor();
});

for (const width of [1280, 400])
  await tests.test(`axe finds nothing serious in both themes, ${width} px, and nothing is wider than the page`, async () => {
    const page = await tests.open(daemon, "#/", { width });
    await isLive(page);
    await page.getByRole("region", { name: "Groups", exact: true }).waitFor();
    await axe(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await axe(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
    if (process.env.WEB_PICTURES)
      for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.screenshot({ path: join(process.env.WEB_PICTURES, `groups-${theme}-${width}.png`), fullPage: true });
      }
  });

await tests.test("without groups and prices there is neither a card nor a column", async () => {
  const plain = await tests.daemon("--node", "n0:2", "--interval", "1");
  await plain.script("one", "exec sleep 1000");
  const page = await tests.open(plain, "#/");
  await isLive(page);
  await page.getByRole("link", { name: /^n0, / }).waitFor();
  assert.equal(await page.getByRole("region", { name: "Groups", exact: true }).count(), 0);
  await page.goto(`${plain.url}/#/jobs`);
  await page.locator('tr[data-job="one"]').waitFor();
  assert.equal(await page.getByRole("columnheader", { name: "Cost" }).count(), 0);
});

await tests.end();
