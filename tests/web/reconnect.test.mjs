// SPDX-License-Identifier: Apache-2.0
// The page survives its daemon: after kill -9 it says since when there is no answer, and after a restart it goes on by itself,
// with everything that happened in between.
import assert from "node:assert/strict";
import { copyFileSync, existsSync } from "node:fs";
import { begin, join, until } from "./lib.mjs";

const tests = await begin("reconnect");
const daemon = await tests.daemon("--node", "a:4", "--interval", "1");
await daemon.train("alice", 100000, "--max", "2");
// It is grown to two replicas first: then no round moves it.
await until("alice trains", async () => {
  const job = await daemon.job("alice");
  return job.goodput > 0 && job.replicas === 2;
});
const { generation } = await daemon.job("alice");
const row = (page, name) => page.locator(`tr[data-job="${name}"]`);
const state = (page) => page.locator(".state-text");

await tests.test("kill -9 of polluxd: the page says so, keeps its numbers, and goes on after the restart", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  let loads = 0;
  page.on("load", () => loads++);
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await row(page, "alice").waitFor();
  await daemon.stop("SIGKILL");
  await state(page).filter({ hasText: /no answer since/ }).waitFor();
  assert.equal(await row(page, "alice").count(), 1, "what was known stays");
  await daemon.start();
  await daemon.script("later", "exit 0");
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await row(page, "later").waitFor();
  await row(page, "later").locator('[data-phase="finished"]').waitFor();
  await until("alice trains again, in the same generation", async () => {
    const job = await daemon.job("alice");
    return job.phase === "running" && job.generation === generation && job.goodput > 0;
  });
  assert.equal(loads, 0, "without a reload");
  assert.ok(page.requests.some((url) => /\/v1\/watch\?after=\d+/.test(url)), "it continued after its last number");
});

await tests.test("what was asked for without a connection is asked for again", async () => {
  const { rounds } = await (await daemon.get("/v1/rounds?limit=1")).json();
  const page = await tests.open(daemon, "#/rounds");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await daemon.stop("SIGKILL");
  await state(page).filter({ hasText: /no answer since/ }).waitFor();
  await page.goto(`${daemon.url}/#/rounds/${rounds[0].round}`);
  await page.getByText("polluxd does not answer").waitFor();
  await daemon.start();
  await page.getByText("Decided in").waitFor();
  assert.equal(await page.getByText("polluxd does not answer").count(), 0);
});

await tests.test("a connection that is lost for a moment: no event is missed", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await page.context().setOffline(true);
  // Offline cuts new requests only; a restart cuts the stream.
  await daemon.stop("SIGTERM");
  await daemon.start();
  await daemon.script("unseen", "exit 0");
  await until("the job is over before the page is back", async () => (await daemon.job("unseen")).phase === "finished");
  await state(page).filter({ hasText: /no answer since/ }).waitFor();
  await page.context().setOffline(false);
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await row(page, "unseen").locator('[data-phase="finished"]').waitFor();
});

await tests.test("a daemon that hangs: requests are given up, none is sent meanwhile, and the page goes on", async () => {
  const page = await tests.open(daemon, "#/");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await page.clock.install();
  const asked = new Set(), open = new Set();
  const isPoll = (request) => /\/v1\/(?!watch|.*\/logs)/.test(request.url()); // a log is tried again all the time
  page.on("request", (request) => isPoll(request) && asked.add(request) && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  daemon.process.kill("SIGSTOP");
  let size;
  try {
    // A job's view asks for the job at once; the stream is given up after 30 s of silence.
    await page.goto(`${daemon.url}/#/jobs/alice`);
    await until("a request hangs", () => asked.size > 0);
    await until("the stream is lost", async () => {
      await page.clock.runFor(5000);
      return /no answer since/.test(await state(page).innerText());
    });
    await until("requests are given up", async () => {
      await page.clock.runFor(5000);
      return open.size === 0;
    });
    ({ size } = asked);
    for (let i = 0; i < 6; i++) await page.clock.runFor(20_000);
    assert.equal(asked.size, size, "no request is sent without a connection");
  } finally {
    daemon.process.kill("SIGCONT");
  }
  await until("the page goes on", async () => {
    await page.clock.runFor(5000);
    return (await state(page).innerText()) === "live";
  });
  await until("it asks again", async () => asked.size > size);
});

const log = (page) => page.getByRole("region", { name: "Log", exact: true });
const note = (page, text) => page.getByRole("region", { name: "Logs", exact: true }).getByRole("status").filter({ hasText: text });
// It counts lines for ever.
await daemon.script("counter", "trap 'exit 143' TERM; n=0; while :; do n=$((n + 1)); echo \"process $$, line $n\"; sleep 0.2; done");
const line = async (page) => Number(/.*line (\d+)/s.exec(await log(page).innerText())?.[1] ?? 0);

await tests.test("eight tabs of a job: hidden ones give their connections back, and go on when they are seen", async () => {
  const first = await tests.open(daemon, "#/jobs/counter");
  const pages = [first];
  const follows = async (page) => {
    await state(page).filter({ hasText: /^live$/ }).waitFor();
    const before = await until("the log has lines", () => line(page));
    await until("it follows", async () => (await line(page)) > before);
  };
  await follows(first);
  while (pages.length < 8) {
    // A tab in sight has two streams, and a browser opens six connections: the fourth tab needs those of a hidden one.
    await tests.hide(pages[pages.length - 1]);
    const page = await tests.tab(first.context(), daemon.url);
    await page.goto(`${daemon.url}/#/jobs/counter`);
    pages.push(page);
    await follows(page);
  }
  const last = pages.pop();
  await tests.hide(last);
  await daemon.script("meanwhile", "exit 0");
  for (const page of [first, pages[4]]) {
    const asked = page.requests.length;
    await tests.hide(page, false);
    await follows(page);
    assert.ok(page.requests.slice(asked).some((url) => /\/v1\/watch\?after=\d+/.test(url)), "it continued after its last number");
    await page.goto(`${daemon.url}/#/jobs?phase=all`);
    await row(page, "meanwhile").locator('[data-phase="finished"]').waitFor();
  }
});

await tests.test("SIGTERM and a restart: the log of a job that lives goes on, and ends with the job", async () => {
  const page = await tests.open(daemon, "#/jobs/counter");
  page.allowed.push(/ERR_/, /Failed to fetch/, /status of 50/);
  const process = async () => /.*process (\d+)/s.exec(await log(page).innerText())?.[1];
  const before = await until("the log has lines", process);
  await daemon.stop("SIGTERM"); // the stream ends as that of a complete log
  await daemon.start(); // and starts the job again
  await until("the log goes on", async () => (await process()) !== before);
  await note(page, /^Following/).waitFor();
  await daemon.command(["cancel", "counter"]);
  await note(page, /^The log has ended/).waitFor();
});

await tests.test("a daemon of another journal, at the same address and with the same tokens: the page begins again", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  await row(page, "alice").waitFor();
  const events = async (which) => Number(/^pollux_journal_events (\d+)/m.exec(await (await which.get("/metrics")).text())[1]);
  const before = await events(daemon);
  await daemon.stop("SIGTERM");
  const other = await tests.daemon("--backend", "fake", "--node", "b:1", "--interval", "1");
  // Its journal has more events than the page has seen of the first one: the number alone does not tell them apart.
  await until("a longer journal", async () => {
    await Promise.all(Array.from({ length: 10 }, () => other.command(["submit", "--", "true"])));
    return (await events(other)) > before + 10;
  });
  await other.stop();
  for (const file of ["admin.token", "tokens"]) if (existsSync(join(daemon.state, file))) copyFileSync(join(daemon.state, file), join(other.state, file));
  other.listen = daemon.listen;
  await other.start();
  await state(page).filter({ hasText: /^live$/ }).waitFor();
  await row(page, "alice").waitFor({ state: "detached" });
});

await tests.end();
