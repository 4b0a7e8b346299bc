// SPDX-License-Identifier: Apache-2.0
// Functions for tests of the page with a real browser.  A test file is tests/web/NAME.test.mjs:
//
//     const tests = await begin("NAME");
//     const daemon = await tests.daemon("--node", "a:4");
//     await tests.test("the cluster has a node", async () => {
//       const page = await tests.open(daemon, "#/");
//       await page.getByText("a").waitFor();
//     });
//     await tests.end();
//
// Every test prints one line, `ok NAME: ...` or `not ok NAME: ...`, which tools/test counts.  Besides what it examines itself, a
// test fails if a page of it wrote an error to the console, threw, or requested anything from another origin.
//
// Nothing waits for a fixed time: `until` and Playwright's own waits end when a condition holds, or after PATIENCE_MS.
// tests/web/browser.sh runs the files; POLLUX is the command to test.
import { chromium } from "playwright-core";
import { spawn, execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, openSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
process.chdir(root);
export const pollux = resolve(process.env.POLLUX ?? "build/pollux");
const polluxd = process.env.POLLUXD ?? `${pollux}d`;
export const PATIENCE_MS = 1000 * Number(process.env.WEB_PATIENCE ?? 60);

const asRoot = process.getuid?.() === 0 ? ["--allow-root"] : [];

// ---- Waiting ------------------------------------------------------------------------------------

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// The value of `read` as soon as it is true.  An exception counts as false; the last one is the reason of a failure.
export async function until(what, read, patience_ms = PATIENCE_MS) {
  const limit = Date.now() + patience_ms;
  let last;
  for (;;) {
    try {
      last = await read();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > limit) throw new Error(`did not become true: ${what} (${last instanceof Error ? last.message : JSON.stringify(last)})`);
    await pause(50);
  }
}

// ---- Commands -----------------------------------------------------------------------------------

const run = promisify(execFile);

// The output of `pollux WORD...`; throws if it fails.
export async function command(words, options = {}) {
  const environment = { ...process.env, ...options.environment };
  for (const name of ["POLLUX_SERVER", "POLLUX_TOKEN_FILE", "POLLUX_FAULT"])
    if (!options.environment?.[name]) delete environment[name];
  const { stdout } = await run(pollux, words, { env: environment, maxBuffer: 1 << 28, cwd: options.folder ?? root });
  return stdout;
}

// Starts a program, its output in a file.  `ended` is a promise of {code, signal}.
function start(program, words, log, environment = {}) {
  const file = openSync(log, "a");
  const child = spawn(program, words, { stdio: ["ignore", file, file], env: { ...process.env, ...environment } });
  closeSync(file);
  child.ended = new Promise((done) => {
    child.once("exit", (code, signal) => done({ code, signal }));
    child.once("error", (error) => done({ code: -1, signal: String(error) }));
  });
  return child;
}

// ---- The daemon ---------------------------------------------------------------------------------

// A polluxd with a state folder of its own on a free port, which it keeps after a restart.
export class Daemon {
  constructor(folder, options) {
    this.folder = folder;
    this.state = join(folder, "state");
    this.log = join(folder, "polluxd.log");
    this.options = options;
    this.listen = "127.0.0.1:0";
    this.process = null;
  }

  async start() {
    const address = join(this.state, "address");
    rmSync(address, { force: true });
    this.process = start(
      polluxd,
      ["--state", this.state, "--listen", this.listen, "--restart-delay", "1", "--stop-jobs", ...asRoot, ...this.options],
      this.log,
      { TMPDIR: this.folder },
    );
    let ended = null;
    void this.process.ended.then((how) => (ended = how));
    await until("polluxd answers", async () => {
      if (ended) return true;
      this.url = readFileSync(address, "utf8").trim();
      return (await fetch(`${this.url}/healthz`)).ok;
    });
    if (ended) throw new Error(`polluxd has ended: ${JSON.stringify(ended)}\n${readFileSync(this.log, "utf8").slice(-2000)}`);
    this.listen = new URL(this.url).host;
  }

  async stop(signal = "SIGTERM") {
    if (!this.process) return;
    this.process.kill(signal);
    await this.process.ended;
    this.process = null;
  }

  get adminToken() {
    return readFileSync(join(this.state, "admin.token"), "utf8").trim();
  }

  command(words, options = {}) {
    return command(words, { ...options, environment: { POLLUX_STATE: this.state, ...options.environment } });
  }

  async json(words) {
    return JSON.parse(await this.command([...words, "--json"]));
  }

  // The text of a new token.
  async token(name, role) {
    return (await this.command(["token", "new", name, "--role", role])).trim().split("\n").pop();
  }

  // A request with a token, as the page sends it.
  get(path, options = {}) {
    const { token = this.adminToken, ...rest } = options;
    return fetch(this.url + path, { ...rest, headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...rest.headers } });
  }

  // A job whose replicas train for real (examples/c): they compute gradients, report and save.  Only their speed is fixed.
  async train(name, updates, ...options) {
    const trainer = join(dirname(pollux), "examples/trainer");
    const words = [trainer, "mlp", "--total", String(updates), "--report", "1", "--save", "5", "--pace", "0.001", "--pace-step", "0.01", "--pace-sync", "0.005"];
    await this.command([
      ...["submit", "--name", name, "--launcher", "mpi", "--adaptive", "--grace", "6", "--backoff", "1"],
      ...["--env", "OMPI_MCA_mpi_yield_when_idle=1", ...options, "--", ...words],
    ]);
  }

  // A job of fixed size that runs a shell script.
  async script(name, text, ...options) {
    await this.command(["submit", "--name", name, ...options, "--", "sh", "-c", text]);
  }

  job(name) {
    return this.json(["show", name]);
  }
}

// ---- `pollux view` ------------------------------------------------------------------------------

// A served recorded run; `url` is the printed address, with its token in the fragment.
export class View {
  constructor(folder, words) {
    this.log = join(folder, "view.log");
    this.words = words;
  }

  async start() {
    this.process = start(pollux, ["view", ...this.words], this.log);
    let ended = null;
    void this.process.ended.then((how) => (ended = how));
    this.url = await until("pollux view prints its address", () => {
      if (ended) throw new Error(`pollux view has ended: ${JSON.stringify(ended)} ${readFileSync(this.log, "utf8")}`);
      return /http:\/\/\S+#token=\S+/.exec(readFileSync(this.log, "utf8"))?.[0];
    });
    this.address = new URL(this.url).origin;
    this.token = /#token=(\S+)/.exec(this.url)[1];
  }

  async stop() {
    this.process.kill("SIGTERM");
    return this.process.ended;
  }
}

// ---- The browser --------------------------------------------------------------------------------

export const browserOptions = {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // Playwright starts it headless, with a new profile and without a sandbox: it shows pages of this repository only.
  args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
};

// Where the page keeps its token.
export const TOKEN_KEY = "pollux-token";

class Tests {
  constructor(name) {
    this.name = name;
    this.failures = 0;
    this.folder = mkdtempSync(join(tmpdir(), "web-"));
    this.daemons = [];
    this.views = [];
    this.pages = [];
    this.over = false;
  }

  async launch() {
    const home = join(this.folder, "home");
    mkdirSync(home);
    this.browser = await chromium.launch({
      ...browserOptions,
      env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, TMPDIR: this.folder },
    });
  }

  async daemon(...options) {
    const folder = mkdtempSync(join(this.folder, "daemon-"));
    const daemon = new Daemon(folder, options);
    this.daemons.push(daemon);
    await daemon.start();
    return daemon;
  }

  async view(...words) {
    const view = new View(mkdtempSync(join(this.folder, "view-")), words);
    this.views.push(view);
    await view.start();
    return view;
  }

  // A page in a context of its own: its own sessionStorage, theme and width.  `token` is put into sessionStorage before the page's
  // script runs; null: none.
  async context(origin, { token, theme = "light", width = 1280, height = 800 } = {}) {
    const context = await this.browser.newContext({ colorScheme: theme, viewport: { width, height }, locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce" });
    context.setDefaultTimeout(PATIENCE_MS);
    if (token)
      await context.addInitScript(([key, text]) => {
        try {
          // Only before the first load: a later one must find what the page has left.
          if (sessionStorage.getItem("test.began") === null) sessionStorage.setItem(key, text);
          sessionStorage.setItem("test.began", "1");
        } catch {
          // about:blank has none
        }
      }, [TOKEN_KEY, token]);
    return this.tab(context, origin);
  }

  // One more page of a context: it shares the browser's connections with the others.
  async tab(context, origin) {
    const page = await context.newPage();
    page.problems = [];
    page.allowed = []; // regular expressions of console errors that a test expects, such as those of a lost connection
    page.origin = origin;
    page.requests = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") page.problems.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => page.problems.push(`exception: ${error.stack ?? error}`));
    page.on("request", (request) => {
      const url = request.url();
      page.requests.push(url);
      if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) page.problems.push(`request to another origin: ${url}`);
    });
    this.pages.push(page);
    return page;
  }

  // A page counts as visible in Playwright, whatever is in front of it: say otherwise.
  async hide(page, hidden = true) {
    await page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, value: state });
      Object.defineProperty(document, "hidden", { configurable: true, value: state === "hidden" });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden ? "hidden" : "visible");
  }

  // The page of a daemon or of a view at an address such as "#/jobs".
  async open(server, address = "#/", options = {}) {
    const isView = server instanceof View;
    const origin = isView ? server.address : server.url;
    const page = await this.context(origin, { token: isView ? server.token : server.adminToken, ...options });
    await page.goto(`${origin}/${address}`);
    return page;
  }

  // Runs one test; closes its pages and looks for their problems.
  async test(name, body) {
    if (this.over) return;
    const before = new Set(this.pages);
    let failure = null;
    try {
      await body();
    } catch (error) {
      failure = error;
    }
    for (const page of this.pages.filter((one) => !before.has(one))) {
      const wrong = page.problems.filter((text) => !page.allowed.some((pattern) => pattern.test(text)));
      if (wrong.length && !failure) failure = new Error(wrong.slice(0, 5).join("\n"));
      if (failure && process.env.WEB_PICTURES)
        await page.screenshot({ path: join(process.env.WEB_PICTURES, `${this.name}-${name.replace(/[^A-Za-z0-9]+/g, "-")}.png`) }).catch(() => {});
      await page.context().close().catch(() => {});
    }
    this.pages = [...before];
    if (!this.over) this.report(name, failure);
  }

  report(name, failure) {
    if (!failure) {
      console.log(`ok ${this.name}: ${name}`);
      return;
    }
    this.failures++;
    const text = String(failure.stack ?? failure).split("\n").slice(0, 20);
    console.log(`not ok ${this.name}: ${name}\n${text.map((line) => `    ${line}`).join("\n")}`);
  }

  async end() {
    for (const page of this.pages) await page.context().close().catch(() => {});
    await this.browser?.close().catch(() => {});
    for (const view of this.views) await view.stop();
    for (const daemon of this.daemons) await daemon.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    process.exitCode = this.failures ? 1 : 0;
  }
}

// axe-core finds nothing that it calls serious or critical.
const axeSource = readFileSync(join(root, "tests/web/node_modules/axe-core/axe.min.js"), "utf8");
export async function axe(page) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations);
  const wrong = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  if (wrong.length)
    throw new Error(wrong.map((one) => `${one.impact}: ${one.id}: ${one.help}\n  ${one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join("\n  ")}`).join("\n"));
}

// Starts the browser.  A test file that throws outside of a test fails, and leaves nothing behind.
export async function begin(name) {
  const tests = new Tests(name);
  const give_up = async (error) => {
    if (tests.over) return;
    tests.over = true;
    tests.report("runs to its end", error);
    await tests.end();
    process.exit(1);
  };
  process.on("uncaughtException", give_up);
  process.on("unhandledRejection", give_up);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => give_up(new Error(`ended by ${signal}`)));
  await tests.launch();
  return tests;
}

export { existsSync, basename, join };
