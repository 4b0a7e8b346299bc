// SPDX-License-Identifier: Apache-2.0
// Every view of a live daemon with real jobs: what it shows is what the commands print, it changes without a reload, and it can
// be used with the keyboard and a screen reader.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { axe, begin, command, join, until } from "./lib.mjs";

const tests = await begin("views");
const daemon = await tests.daemon("--node", "left:4:fast", "--node", "right:4", "--interval", "2");

// What a job may print: elements, escape sequences of terminals, and bytes that are no text.
const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const loud = String.raw`trap 'exit 143' TERM
printf '%s\n' '${hostile}' 'a & b &amp; <b>bold</b>'
printf '\033[31mred\033[0m \033]0;title\007 \033[2Jcleared \377\376 end\n'
n=0; while :; do n=$((n + 1)); echo "line $n"; sleep 0.3; done`;
await daemon.train("alice", 100000);
await daemon.train("bob", 100000, "--max", "2");
await daemon.script("loud", loud, "--env", `NOTE=${hostile}`);
await daemon.script("huge", "exit 0", "--replicas", "100");
await daemon.script("broken", `echo '${hostile}' >&2; exit 3`, "--max-failures", "0");
await daemon.script("quick", "echo done");
await until("alice trains and has a model", async () => {
  const job = await daemon.job("alice");
  return job.phase === "running" && job.goodput > 0 && job.progress > 0;
});
await until("broken has failed", async () => (await daemon.job("broken")).phase === "failed");
await until("quick is done", async () => (await daemon.job("quick")).phase === "finished");

const names = ["alice", "bob", "loud", "huge", "broken", "quick"];
const row = (page, name) => page.locator(`tr[data-job="${name}"]`);
const tile = (page, label) => page.locator(".tile", { has: page.locator("dt", { hasText: new RegExp(`^${label}$`) }) }).locator(".tile-value");
const seconds = (text) => [...text.matchAll(/([\d.,]+) (d|h|min|s|ms)\b/g)].reduce((sum, [, value, unit]) => sum + value.replaceAll(",", "") * { d: 86400, h: 3600, min: 60, s: 1, ms: 0.001 }[unit], 0);
// A text of the page has two units, and may be two seconds older.
const sameDuration = (text, value) => (value === null ? text === "–" : text !== "–" && Math.abs(seconds(text) - value) <= 3 + (value >= 86400 ? 3600 : value >= 600 ? 60 : 0) + 0.01 * value);
const isLive = (page) => page.locator(".state-text").filter({ hasText: /^live$/ }).waitFor();

// ---- Cluster ------------------------------------------------------------------------------------

await tests.test("cluster: nodes, slots and numbers are those of pollux status", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  for (const node of ["left", "right"]) await page.getByRole("link", { name: new RegExp(`^${node}, .*4 slots: `) }).waitFor();
  await until("utilisation and waiting jobs", async () => {
    const status = await daemon.json(["status"]);
    const shown = [await tile(page, "Utilisation").innerText(), await tile(page, "Running").innerText(), await tile(page, "Waiting").innerText()];
    const wanted = [`${Math.round((100 * status.used_slots) / status.slots)} %`, String(status.jobs.running), String(status.jobs.pending)];
    return JSON.stringify(shown.map((text) => text.replace(/\s+/g, " "))) === JSON.stringify(wanted);
  });
  await page.getByText(/jobs? changed: |job .*->/).first().waitFor();
  await page.getByRole("link", { name: "huge" }).first().waitFor();
  assert.match(await page.getByRole("region", { name: "Waiting longest" }).innerText(), /100/);
});

await tests.test("cluster: a drained node is shown as drained at once, without a reload", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  await daemon.command(["drain", "right"]);
  await page.getByRole("link", { name: /^right, .*drained/ }).waitFor();
  await daemon.command(["resume", "right"]);
  await page.getByRole("link", { name: /^right, (?!.*drained)/ }).waitFor();
});

await tests.test("cluster: slots of a drained node whose job runs count everywhere", async () => {
  const small = await tests.daemon("--node", "a:2", "--node", "b:2", "--interval", "0.5");
  for (const name of ["one", "two"]) await small.script(name, "sleep 1000", "--replicas", "2", "--no-preemptible");
  await until("all slots are used", async () => (await small.json(["status"])).used_slots === 4);
  await small.command(["drain", "a"]);
  const page = await tests.open(small, "#/");
  await isLive(page);
  await page.getByText("2 nodes · 4 of 4 slots used · 1 drained").waitFor();
  assert.equal((await tile(page, "Utilisation").innerText()).replace(/\s+/g, " "), "100 %");
  await page.getByText("4 of 4 slots", { exact: true }).waitFor();
  assert.match(await small.command(["status"]), /4 of 4 slots in use/);
  await small.stop();
});

// ---- Jobs ---------------------------------------------------------------------------------------

await tests.test("jobs: every number is that of pollux list", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  await isLive(page);
  for (const name of names) await row(page, name).waitFor();
  await until("all numbers agree", async () => {
    const { jobs } = await daemon.json(["list", "--all"]);
    const rows = await page.locator("tr[data-job]").evaluateAll((all) => all.map((tr) => ({
      name: tr.dataset.job,
      phase: tr.querySelector("[data-phase]").dataset.phase,
      cells: [...tr.children].map((cell) => cell.innerText),
      titles: [...tr.children].map((cell) => cell.title || (cell.querySelector("[title]")?.title ?? "")),
    })));
    if (rows.length !== jobs.length) throw new Error(`${rows.length} rows, ${jobs.length} jobs`);
    for (const job of jobs) {
      const shown = rows.find((one) => one.name === job.name);
      const number = (at) => (shown.titles[at] ? Number.parseFloat(shown.titles[at].replaceAll(",", "")) : null);
      const close = (a, b) => (a === null || b === null ? a === b : Math.abs(a - b) <= 1e-4 * Math.abs(b));
      if (shown.phase !== job.phase) throw new Error(`${job.name} is ${job.phase}, shown as ${shown.phase}`);
      if (Number(/^\d+/.exec(shown.cells[2])?.[0] ?? 0) !== job.replicas) throw new Error(`${job.name} has ${job.replicas} replicas, shown: ${shown.cells[2]}`);
      for (const [at, value] of [[4, job.throughput], [5, job.efficiency], [6, job.goodput]])
        if (!close(number(at), value)) throw new Error(`${job.name}: ${value}, shown: ${shown.titles[at]}`);
      if (job.phase === "running" && job.batch?.total && !shown.cells[3].includes(`= ${job.batch.total.toLocaleString("en")}`)) throw new Error(`${job.name}: batch ${job.batch.total}, shown: ${shown.cells[3]}`);
      if (Number(shown.cells[9].split("\n")[0]) !== job.restarts) throw new Error(`${job.name}: ${job.restarts} restarts, shown: ${shown.cells[9]}`);
      const share = job.phase === "finished" ? 1 : job.progress !== null && job.total ? Math.min(1, job.progress / job.total) : null;
      if (shown.cells[7] !== (share === null ? "–" : `${Math.floor(share * 100)} %`)) throw new Error(`${job.name}: ${job.progress} of ${job.total}, shown: ${shown.cells[7]}`);
      const live = ["pending", "running", "cancelling"].includes(job.phase), end = live ? job.eta_s : null;
      if (!sameDuration(shown.cells[8].split("\n")[0], end)) throw new Error(`${job.name} ends in ${end} s, shown: ${shown.cells[8]}`);
      if (!shown.cells[0].includes(job.owner)) throw new Error(`${job.name} is of ${job.owner}, shown: ${shown.cells[0]}`);
      if (!shown.cells[10].endsWith(new Date(job.submitted_at * 1000).toISOString().slice(11, 16))) throw new Error(`${job.name}: submitted at ${job.submitted_at}, shown: ${shown.cells[10]}`);
      const waits = job.retry_at ? "waits to start again" : job.waits_for?.slice(0, 20);
      if (waits && !shown.cells[12].includes(waits)) throw new Error(`${job.name} waits: ${job.waits_for}, shown: ${shown.cells[12]}`);
    }
    return true;
  });
});

await tests.test("jobs: every number is that of pollux top", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=live&sort=submitted&order=up");
  await isLive(page);
  await until("all numbers agree", async () => {
    const lines = (await daemon.command(["top", "--once"], { environment: { COLUMNS: "200" } })).split("\n");
    const shown = await page.locator("tr[data-job]").evaluateAll((all) => all.map((tr) => ({ name: tr.dataset.job, phase: tr.querySelector("[data-phase]").dataset.phase, cells: [...tr.children].map((cell) => cell.innerText) })));
    const titles = lines.findIndex((line) => /^ +job +phase +repl +batch/.test(line));
    const phase = lines[titles].indexOf("phase");
    const printed = lines.slice(titles + 1, titles + 1 + shown.length).map((line) => {
      const field = (from, to) => line.slice(phase + from, phase + to).trim();
      return { name: line.slice(2, phase).trim(), phase: field(0, 10), replicas: field(10, 15), batch: field(15, 23), goodput: field(23, 32), efficiency: field(32, 40), restarts: field(48, 53) };
    });
    const number = (text) => Number.parseFloat(text.replaceAll(",", "")) || 0;
    for (const job of printed) {
      const found = shown.find((one) => one.name === job.name);
      if (!found || found.phase !== job.phase) throw new Error(`${job.name} is ${job.phase}, shown: ${found?.phase}`);
      const first = (at) => found.cells[at].split("\n")[0];
      const near = (a, b) => Math.abs(number(a) - number(b)) <= 0.006 * number(b) + 0.6;
      if (number(first(2)) !== number(job.replicas)) throw new Error(`${job.name}: ${job.replicas} replicas, shown: ${found.cells[2]}`);
      if (job.phase === "running" && number(job.batch) && !found.cells[3].replaceAll(",", "").includes(`= ${number(job.batch)}`)) throw new Error(`${job.name}: batch ${job.batch}, shown: ${found.cells[3]}`);
      if (!near(first(6), job.goodput) || !near(first(5), job.efficiency)) throw new Error(`${job.name}: goodput ${job.goodput}, efficiency ${job.efficiency}, shown: ${found.cells[6]}, ${found.cells[5]}`);
      if (number(first(9)) !== number(job.restarts)) throw new Error(`${job.name}: ${job.restarts} restarts, shown: ${found.cells[9]}`);
    }
    return printed.length >= 4 && printed.some((job) => number(job.goodput) > 0);
  });
});

await tests.test("jobs: search, filter and sort are in the address", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  await row(page, "alice").waitFor();
  const shown = () => page.locator("tr[data-job]").evaluateAll((all) => all.map((tr) => tr.dataset.job));
  await page.getByRole("searchbox").fill("al");
  await row(page, "bob").waitFor({ state: "detached" });
  assert.deepEqual(await shown(), ["alice"]);
  await page.reload();
  await row(page, "alice").waitFor();
  assert.deepEqual(await shown(), ["alice"], "after a reload");
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: "Waiting", exact: true }).click();
  await row(page, "alice").waitFor({ state: "detached" });
  assert.deepEqual(await shown(), ["huge"]);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByRole("button", { name: "Job", exact: true }).click();
  const order = async () => (await page.getByRole("columnheader", { name: "Job" }).first().getAttribute("aria-sort"));
  const sorted = [...names].sort();
  assert.deepEqual(await shown(), (await order()) === "ascending" ? sorted : sorted.reverse());
  await page.getByRole("searchbox").fill("nothing matches this");
  await page.getByText("No job matches").waitFor();
});

await tests.test("jobs: a new job appears by itself, and its end, too", async () => {
  const page = await tests.open(daemon, "#/jobs?phase=all");
  await row(page, "alice").waitFor();
  let loads = 0;
  page.on("load", () => loads++);
  await daemon.script("newcomer", "echo hello");
  await row(page, "newcomer").waitFor();
  await row(page, "newcomer").locator('[data-phase="finished"]').waitFor();
  assert.equal(loads, 0);
});

await tests.test("jobs: ages and waits grow while nothing happens", async () => {
  const quiet = await tests.daemon("--backend", "fake", "--node", "n0:1", "--interval", "3600");
  await quiet.script("runs", "anything");
  await quiet.script("waits", "anything", "--replicas", "9");
  await until("it runs", async () => (await quiet.job("runs")).phase === "running");
  const page = await tests.open(quiet, "#/jobs?phase=all");
  const age = async (name) => Number.parseFloat(await row(page, name).locator(".phase-cell .small").innerText());
  for (const name of ["runs", "waits"]) {
    const first = await age(name);
    await until(`the age of ${name} grows`, async () => (await age(name)) >= first + 3);
  }
});

// ---- A job --------------------------------------------------------------------------------------

await tests.test("job: explanation, charts, generations, model and log", async () => {
  const page = await tests.open(daemon, "#/jobs/alice");
  await page.getByRole("heading", { name: "alice" }).waitFor();
  await until("the sentences of pollux explain", async () => {
    const { sentences } = await daemon.json(["explain", "alice"]);
    const text = await page.getByRole("main").innerText();
    return sentences.length > 0 && text.includes(sentences[0].replace(/\s+/g, " ").slice(0, 40));
  });
  await until("charts are drawn", async () => (await page.locator("canvas").count()) >= 4);
  for (const title of ["Goodput by replicas, useful samples/s", "Learning-rate factor", "Noise scale, samples"])
    await page.getByRole("group", { name: title }).locator("canvas").waitFor();
  const table = page.getByRole("region", { name: "One replica more or less" });
  await until("one replica more or less", async () => {
    const { current, one_more: more, one_less: less } = await daemon.json(["explain", "alice"]);
    const cells = await table.locator("tbody tr:not(.narrow-row)").evaluateAll((rows) => rows.map((tr) => [...tr.children].map((cell) => cell.innerText)));
    const shown = (label) => cells.find((row) => row[0] === label);
    if (Number(shown("Now")[1]) !== current.replicas) throw new Error(JSON.stringify(cells));
    for (const [label, change, replicas] of [["One more", more, current.replicas + 1], ["One less", less, current.replicas - 1]]) {
      const row = shown(label);
      if (!change.possible ? !row[5].includes(change.why.slice(0, 20)) : Number(row[1]) !== (change.replicas ?? replicas) || !/^[+−±]/.test(row[3])) throw new Error(`${JSON.stringify(change)}, shown: ${row}`);
    }
    return true;
  });
  await page.getByRole("region", { name: "Generations" }).getByText("1", { exact: true }).first().waitFor();
  await until("the log is shown", async () => (await page.getByRole("region", { name: "Log", exact: true }).innerText()).length > 10);
});

await tests.test("job: one that failed says how, and one that waits says why", async () => {
  const page = await tests.open(daemon, "#/jobs/broken");
  await page.locator('h1 ~ [data-phase="failed"]').waitFor();
  await page.getByText(/exit(ed)?.*3|status 3/i).first().waitFor();
  await page.goto(`${daemon.url}/#/jobs/huge`);
  await page.getByText(/100/).first().waitFor();
  await page.getByText(/wait/i).first().waitFor();
  page.allowed.push(/status of 404/);
  await page.goto(`${daemon.url}/#/jobs/nosuchjob`);
  await page.getByText(/nosuchjob/).filter({ visible: true }).first().waitFor();
});

// The daemon's address with a stream of its own, which leaves a job out, as that of polluxd leaves out jobs that ended long ago.
async function without(name) {
  let rows = 0;
  const server = createServer(async (request, response) => {
    const { host, connection, ...headers } = request.headers;
    const answer = await fetch(daemon.url + request.url, { method: request.method, headers: { ...headers, "accept-encoding": "identity" } });
    response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([key]) => !/^(content-length|transfer-encoding|connection)$/.test(key))));
    if (!request.url.startsWith("/v1/watch")) return response.end(Buffer.from(await answer.arrayBuffer()));
    let text = "";
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const [, head, data] = /^(.*\n)data: (.*)$/s.exec(text.slice(0, end));
        const message = JSON.parse(data);
        if (message.jobs) message.jobs = message.jobs.filter((job) => job[1] !== name);
        if (message.omitted !== undefined) message.omitted++;
        rows += message.jobs?.length ?? 0;
        response.write(`${head}data: ${JSON.stringify(message)}\n\n`);
      }
    }
    response.end();
  });
  server.on("clientError", () => {});
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}`, adminToken: daemon.adminToken, rows: () => rows };
}

await tests.test("job: one that ended long ago is not asked for again and again", async () => {
  const proxy = await without("quick");
  const page = await tests.open(proxy, "#/");
  page.allowed.push(/ERR_/, /Failed to fetch/);
  await isLive(page);
  await page.clock.install();
  await page.goto(`${proxy.url}/#/jobs/quick`);
  await page.locator('h1 ~ [data-phase="finished"]').waitFor();
  await page.getByText("only live jobs are explained").waitFor({ state: "attached" });
  const asked = () => page.requests.filter((url) => /\/v1\/jobs\/quick$/.test(url)).length;
  const before = asked();
  // The numbers of jobs that train change; details may be asked for again after 4 s.
  for (let i = 0; i < 4; i++) {
    const rows = proxy.rows();
    await until("rows of other jobs come", () => proxy.rows() > rows);
    await page.clock.runFor(5000);
  }
  assert.equal(asked(), before);
});

await tests.test("job: the log follows, rank by rank", async () => {
  await daemon.script("ranks", 'echo "this is rank $RANK of $WORLD_SIZE"; trap "exit 143" TERM; while :; do sleep 0.1; done', "--replicas", "2");
  const page = await tests.open(daemon, "#/jobs/ranks");
  const log = page.getByRole("region", { name: "Log", exact: true });
  await log.getByText("this is rank 0 of 2").waitFor();
  await until("rank 1 can be chosen", async () => (await page.getByLabel("Rank").locator("option").count()) >= 2);
  await page.getByLabel("Rank").selectOption("1");
  await log.getByText("this is rank 1 of 2").waitFor();
  assert.ok(!(await log.innerText()).includes("rank 0"), "only that rank");
  await daemon.command(["cancel", "ranks"]);
  await page.goto(`${daemon.url}/#/jobs/loud`);
  const line = async () => Number(/.*line (\d+)/s.exec(await log.innerText())?.[1] ?? 0);
  const first = await until("lines", line);
  await until("more lines", async () => (await line()) > first);
});

await tests.test("text of jobs is text: HTML and escape sequences in logs, commands and environments", async () => {
  for (const name of ["loud", "broken"]) {
    const page = await tests.open(daemon, `#/jobs/${name}`);
    const log = page.getByRole("region", { name: "Log", exact: true });
    await until("the log is shown", async () => (await log.innerText()).includes(hostile));
    assert.equal(await page.locator("main img, main script, main b:text-is('bold')").count(), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    if (name === "loud") {
      const text = await log.innerText();
      assert.match(text, /a & b &amp; <b>bold<\/b>/);
      assert.match(text, /red/);
      assert.ok(!text.includes("\u001b") && !text.includes("\u0007"), "no escape sequence is left");
      assert.equal(await page.title(), "loud · Pollux");
    }
  }
});

await tests.test("job: scale and cancel, each after a question", async () => {
  await daemon.script("victim", "trap 'exit 143' TERM; while :; do sleep 0.1; done", "--max", "1");
  const page = await tests.open(daemon, "#/jobs/victim");
  await page.getByRole("button", { name: "Scale…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Most replicas").fill("3");
  await dialog.getByRole("button", { name: "Set the limits" }).click();
  await dialog.waitFor({ state: "detached" });
  await until("the limit is set", async () => (await daemon.job("victim")).max_replicas === 3);
  await page.getByRole("button", { name: "Scale…" }).click();
  page.allowed.push(/status of 400/);
  await dialog.getByLabel("Least replicas").fill("9");
  await dialog.getByRole("button", { name: "Set the limits" }).click();
  await until("a refusal is shown in the dialog", async () => (await dialog.getByRole("alert").innerText()).length > 10);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await dialog.getByRole("button", { name: "Back" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(["pending", "running"].includes((await daemon.job("victim")).phase), "Back changes nothing");
  await page.getByRole("button", { name: "Cancel…" }).click();
  await dialog.getByRole("button", { name: "Cancel the job" }).click();
  await page.locator('h1 ~ [data-phase="cancelled"]').waitFor();
  assert.equal((await daemon.job("victim")).phase, "cancelled");
});

// ---- Rounds -------------------------------------------------------------------------------------

await tests.test("rounds: the list, and a round before and after", async () => {
  const page = await tests.open(daemon, "#/rounds");
  const table = page.getByRole("table", { name: "Rounds" });
  await until("rounds are listed", async () => (await table.locator("tbody tr:not(.spacer)").count()) >= 2);
  await daemon.script("another", "exit 0");
  const started = table.locator("tr", { hasText: "another starts with 1" });
  await started.waitFor();
  const { rounds } = await (await daemon.get("/v1/rounds?limit=1000")).json();
  const start = rounds.find((round) => round.text?.includes("another starts with 1"));
  assert.equal(await started.locator("td").first().innerText(), start.round.toLocaleString("en"));
  assert.equal(await started.locator("td").nth(5).innerText(), String(start.changed), "jobs that start count, too");
  // A round that started alice.
  const found = await until("a round that changed something", async () => {
    for (const round of [...rounds].reverse()) {
      const details = await (await daemon.get(`/v1/rounds/${round.round}`)).json();
      if (details.changes?.some((change) => change.job === "alice")) return details;
    }
    return null;
  });
  await page.goto(`${daemon.url}/#/rounds/${found.round}`);
  await page.getByRole("heading", { name: `Round ${found.round.toLocaleString("en")}` }).waitFor();
  await page.getByRole("region", { name: "Changes" }).getByRole("link", { name: "alice" }).waitFor();
  const picture = page.getByRole("region", { name: "Before and after" });
  const change = found.changes.find((one) => one.job === "alice");
  const [node, replicas] = Object.entries(change.to)[0] ?? Object.entries(change.from)[0];
  await picture.getByRole("link", { name: new RegExp(`^${node}, .*alice ${replicas}`) }).first().waitFor();
  // A later round appears while one is looked at.
  const newest = (await (await daemon.get("/v1/rounds?limit=1")).json()).rounds[0].round;
  await page.goto(`${daemon.url}/#/rounds/${newest}`);
  await until("the round after it", async () => {
    const { next } = await (await daemon.get(`/v1/rounds/${newest}`)).json();
    return next !== null && (await page.getByRole("link", { name: "later →" }).getAttribute("href")) === `#/rounds/${next}`;
  });
  page.allowed.push(/status of 404/);
  await page.goto(`${daemon.url}/#/rounds/999999`);
  await page.getByText("All rounds").waitFor();
});

// ---- Submit -------------------------------------------------------------------------------------

await tests.test("submit: the form makes a job file with the problems of the command, and submits it", async () => {
  const page = await tests.open(daemon, "#/submit");
  await page.getByRole("textbox", { name: /^Command/ }).fill("echo made by the page");
  await page.getByRole("textbox", { name: /^Name/ }).fill("made");
  page.allowed.push(/status of 400/, /status of 409.*\/explain/); // 409: it ends between two requests
  await page.getByText("More fields").click();
  await page.getByRole("textbox", { name: /^Grace/ }).fill("-7");
  await page.locator(".problem").first().waitFor();
  const yaml = (await page.locator(".yaml code").allInnerTexts()).join("\n");
  const file = join(tests.folder, "made.yaml");
  writeFileSync(file, `${yaml}\n`);
  const refusal = await daemon.command(["submit", file]).then(() => "", (error) => error.stderr);
  const problem = (await page.locator(".problem").first().innerText()).replace(/^\d+:\d+\s*/, "").trim();
  assert.ok(problem.length > 5 && refusal.includes(problem), `the page says: ${problem}\nthe command says: ${refusal}`);
  const line = /:(\d+):\d+: /.exec(refusal)?.[1];
  assert.ok((await page.locator(`.yaml li:nth-child(${line})`).innerText()).includes(problem), "at the same line");
  await page.getByRole("textbox", { name: /^Grace/ }).fill("7");
  await page.getByText("No problems.").waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.getByRole("heading", { name: "made" }).waitFor();
  await page.locator('h1 ~ [data-phase="finished"]').waitFor();
  assert.equal((await daemon.job("made")).grace_s, 7);
});

await tests.test("submit: once, also if the answer is late, which disturbs no other view", async () => {
  const page = await tests.open(daemon, "#/submit");
  const answers = [];
  await page.route(/\/v1\/jobs$/, (route) => answers.push(route));
  const command = page.getByRole("textbox", { name: /^Command/ }), submit = page.getByRole("button", { name: "Submit", exact: true });
  await command.fill("echo late");
  await page.getByRole("textbox", { name: /^Name/ }).fill("late");
  await page.getByText("No problems.").waitFor();
  await submit.click();
  await until("the job is on its way", () => answers.length === 1);
  await command.fill("echo late, too");
  assert.ok(await submit.isDisabled(), "no second time");
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  const answered = page.waitForEvent("requestfinished", (request) => request === answers[0].request());
  await answers[0].continue();
  await answered;
  await row(page, "late").locator('[data-phase="finished"]').waitFor();
  assert.ok(page.url().endsWith("#/jobs"), page.url());
  await page.getByRole("link", { name: "Submit", exact: true }).click();
  assert.equal(await command.inputValue(), "echo late, too", "what was typed later is kept");
});

// ---- Moving around ------------------------------------------------------------------------------

await tests.test("each view has an address: back and forward, links, titles", async () => {
  const page = await tests.open(daemon, "#/");
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await row(page, "alice").waitFor();
  await row(page, "alice").getByRole("link").click();
  await page.getByRole("heading", { name: "alice" }).waitFor();
  assert.ok(page.url().endsWith("#/jobs/alice"));
  assert.equal(await page.title(), "alice · Pollux");
  await page.goBack();
  await row(page, "bob").waitFor();
  await page.goBack();
  await tile(page, "Utilisation").waitFor();
  await page.goForward();
  await row(page, "bob").waitFor();
  await page.goto(`${daemon.url}/#/no/such/view`);
  await page.getByText("There is no such view").waitFor();
  const back = page.getByRole("link", { name: "To the cluster" });
  await back.focus();
  const other = await tests.open(daemon, "#/jobs?phase=all");
  await daemon.script("passes", "exit 0");
  await row(other, "passes").locator('[data-phase="finished"]').waitFor();
  assert.ok(await back.evaluate((link) => document.activeElement === link), "changes of the cluster leave the focus there");
});

await tests.test("the keyboard reaches everything", async () => {
  const page = await tests.open(daemon, "#/");
  await isLive(page);
  const focused = () => page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent}`);
  await page.keyboard.press("Tab");
  assert.match(await focused(), /Skip to the content/);
  await page.keyboard.press("Enter");
  assert.match(await focused(), /^MAIN/);
  const left = page.getByRole("link", { name: /^left, / });
  await left.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await focused(), /right, /);
  // From the navigation to a job, by Tab and Enter only.
  await page.getByRole("link", { name: "Jobs", exact: true }).focus();
  await page.keyboard.press("Enter");
  await row(page, "alice").waitFor();
  for (let i = 0; i < 60 && !/^A (alice|bob|huge|loud)/.test(await focused()); i++) await page.keyboard.press("Tab");
  const name = /^A (\w+)/.exec(await focused())[1];
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name }).waitFor();
  // What has the focus can be seen.
  await page.getByRole("button", { name: "Scale…" }).focus();
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => { const { outlineStyle, boxShadow } = getComputedStyle(document.activeElement); return outlineStyle === "none" && boxShadow === "none" ? "none" : "seen"; }), "none");
});

await tests.test("a read-only token sees everything but logs, and can change nothing", async () => {
  const token = await daemon.token("reader", "read-only");
  const page = await tests.open(daemon, "#/jobs/loud", { token });
  page.allowed.push(/status of 403/);
  await page.getByRole("heading", { name: "loud" }).waitFor();
  await until("the explanation is there", async () => (await page.getByRole("main").innerText()).length > 200);
  assert.equal(await page.getByRole("region", { name: "Log", exact: true }).count(), 0);
  assert.equal(await page.getByRole("button", { name: /Scale|Cancel/ }).filter({ visible: true }).count(), 0);
  assert.equal(await page.getByRole("link", { name: "Submit", exact: true }).filter({ visible: true }).count(), 0);
  assert.ok(!(await page.content()).includes("line 1"), "no line of the log");
  assert.ok(!(await page.content()).includes("NOTE="), "nothing of the environment");
  assert.equal((await daemon.get("/v1/jobs/loud/logs", { token })).status, 403);
  const other = await daemon.token("ann", "user");
  assert.equal((await daemon.get("/v1/jobs/loud/logs", { token: other })).status, 403);
  await page.goto(`${daemon.url}/#/submit`);
  await page.getByText("This token may look only").waitFor();
});

// ---- Accessibility ------------------------------------------------------------------------------

const round = (await (await daemon.get("/v1/rounds?limit=1")).json()).rounds[0].round;
for (const [address, ready] of [["#/", ".tile"], ["#/jobs?phase=all", "tr[data-job]"], ["#/jobs/alice", "canvas"], ["#/jobs/broken", "h1"], ["#/rounds", "tbody tr:not(.spacer)"], [`#/rounds/${round}`, ".tile"], ["#/submit", ".yaml"]])
  for (const width of [1280, 400])
    await tests.test(`axe finds nothing serious in both themes: ${address.replace(/\d+$/, "N")}, ${width} px`, async () => {
      const page = await tests.open(daemon, address, { width });
      await page.locator(ready).first().waitFor();
      await axe(page);
      await page.emulateMedia({ colorScheme: "dark" });
      assert.ok(await page.evaluate(() => { const [r] = getComputedStyle(document.body).backgroundColor.match(/\d+/g); return Number(r) < 64; }), "dark");
      await axe(page);
      // Only tables may scroll sideways, in boxes of their own.
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(beyond <= 0, `the page is ${beyond} px wider than the window`);
    });
await tests.test("axe finds nothing serious: sign in, and a dialog", async () => {
  for (const theme of ["light", "dark"]) {
    const page = await tests.open(daemon, "#/", { theme, token: null });
    await page.getByLabel("Token").waitFor();
    await axe(page);
    const job = await tests.open(daemon, "#/jobs/alice", { theme });
    await job.getByRole("button", { name: "Scale…" }).click();
    await axe(job);
  }
});

// ---- Empty --------------------------------------------------------------------------------------

await tests.test("without jobs each view says what to do next", async () => {
  const empty = await tests.daemon("--backend", "fake", "--node", "n0:4");
  const page = await tests.open(empty, "#/");
  await page.getByText("pollux submit train.py").first().waitFor();
  await page.goto(`${empty.url}/#/jobs`);
  await page.getByText("pollux submit train.py").first().waitFor();
  await page.goto(`${empty.url}/#/rounds`);
  await page.getByText("pollux submit train.py").first().waitFor();
  await axe(page);
});

await tests.test("nothing was ever asked of another machine, and the log of polluxd has no token", async () => {
  const { readFileSync } = await import("node:fs");
  assert.ok(!readFileSync(daemon.log, "utf8").includes(daemon.adminToken));
  assert.equal((await command(["--version"])).length > 0, true);
});

await tests.end();
