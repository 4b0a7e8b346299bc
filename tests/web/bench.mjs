// SPDX-License-Identifier: Apache-2.0
// The measurements of bench/web.sh, which describes them.
import { connect, createServer } from "node:net";
import { request } from "node:http";
import { readFileSync } from "node:fs";
import { begin, TOKEN_KEY, until } from "./lib.mjs";
import { nodesFile, populate, report } from "./populate.mjs";

const option = (name, value) => Number(process.env[`BENCH_${name}`] ?? value);
const jobs = option("JOBS", 5000), nodes = option("NODES", 1000), pages = option("PAGES", 50), seconds = option("SECONDS", 60);
const print = (name, value, unit) => console.log(`${name} ${value.toPrecision(4)} ${unit}`);
const target = (name, value, limit) => console.log(`target ${name} ${value.toPrecision(4)} ${limit} ${value <= limit ? "met" : "missed"}`);
const pause = (s) => new Promise((done) => setTimeout(done, 1000 * s));

const tests = await begin("bench");
const daemon = await tests.daemon("--config", nodesFile(tests.folder, nodes), "--log-level", "warning");
const running = await populate(daemon, jobs);
// After a full round with all models nothing moves any more.
const rounds = async () => (await (await daemon.get("/v1/status")).json()).next_round_at;
const first = await rounds();
await until("a full round", async () => (await rounds()) > first + 1, 200_000);
let events = "";
await until("its restarts are over", async () => {
  const before = events;
  await pause(2);
  events = /^pollux_events_total .*$/m.exec(await (await daemon.get("/metrics")).text())[0];
  return events === before;
}, 200_000);

// ---- Bytes on the wire, counted by a proxy --------------------------------------------------------

let received = 0;
const daemonPort = Number(new URL(daemon.url).port);
const proxy = createServer((client) => {
  const server = connect(daemonPort, "127.0.0.1");
  server.on("data", (bytes) => (received += bytes.length));
  client.pipe(server).pipe(client);
  for (const socket of [client, server]) socket.on("error", () => { client.destroy(); server.destroy(); });
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const address = `http://127.0.0.1:${proxy.address().port}`;

const page = await tests.context(address, { width: 1600, height: 1000 });
await page.addInitScript(([key, text]) => sessionStorage.setItem(key, text), [TOKEN_KEY, daemon.adminToken]);
await page.goto(`${address}/#/`);
const drawn = await page.waitForFunction((wanted) => (document.querySelectorAll(".node").length >= wanted ? performance.now() : null), nodes, { polling: "raf" });
const picture_s = (await drawn.jsonValue()) / 1000;
await page.locator("canvas").first().waitFor(); // the history has come, too
print("first_load_kb", received / 1000, "kB");
target("first_load_kb", received / 1000, 300);
print("first_picture_s", picture_s, "s");

const began = performance.now();
await page.getByRole("link", { name: "Jobs", exact: true }).click();
await page.locator("tr[data-job]").first().waitFor();
print("jobs_view_s", (performance.now() - began) / 1000, "s");
await page.getByRole("link", { name: "Cluster", exact: true }).click();

received = 0;
await pause(seconds);
print("quiet_minute_kb", (received / 1000) * (60 / seconds), "kB");

const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
const heap = (await session.send("Runtime.getHeapUsage")).usedSize;
print("tab_heap_mb", heap / 1e6, "MB");
const { processInfo } = await (await tests.browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
print("tab_resident_mb", Math.max(...processInfo.filter((one) => one.type === "renderer").map((one) => resident(one.id))) / 1e6, "MB");
await page.context().close();
proxy.close();

// ---- The daemon, with and without pages -----------------------------------------------------------

// Seconds of processor time of polluxd so far.
const spent = () => {
  const fields = readFileSync(`/proc/${daemon.process.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

let bytes = 0;
// A client that reads /v1/watch, compressed.
function watch() {
  const client = request(`${daemon.url}/v1/watch`, { headers: { authorization: `Bearer ${daemon.adminToken}`, "accept-encoding": "gzip" } }, (answer) => {
    if (answer.statusCode !== 200) throw new Error(`/v1/watch: ${answer.statusCode}`);
    answer.on("data", (part) => (bytes += part.length));
    answer.on("error", () => {});
  });
  client.on("error", () => {});
  client.end();
  return client;
}
const one = watch();
await pause(3);
one.destroy();
print("snapshot_kb", bytes / 1000, "kB");

// All running jobs report every 30 s, one after the other.
let reporting = true;
const reporter = (async () => {
  for (let share = 0; reporting; share += 0.001) {
    const from = Date.now();
    for (let i = 0; i < 30 && reporting; i++) {
      await report(daemon, running.slice(Math.floor((i * running.length) / 30), Math.floor(((i + 1) * running.length) / 30)), share);
      const early = from + 1000 * (i + 1) - Date.now();
      if (early > 0) await pause(early / 1000);
    }
  }
})();

async function measure() {
  const from = spent(), began_ms = performance.now();
  await pause(seconds);
  return (spent() - from) / ((performance.now() - began_ms) / 1000);
}

const base = await measure();
print("daemon_base_share", base, "cores");
bytes = 0;
const clients = Array.from({ length: pages }, watch);
// The snapshots are not part of it.
await until("all pages have their snapshot", async () => bytes > 0);
await pause(3);
bytes = 0;
const share = Math.max(0, (await measure()) - base);
print("daemon_pages_share", share, "cores");
target("daemon_pages_share", share, 0.05);
print("page_busy_minute_kb", (bytes / pages / 1000) * (60 / seconds), "kB");
reporting = false;
for (const client of clients) client.destroy();
await reporter;
await tests.end();
