// SPDX-License-Identifier: Apache-2.0
// Tokens: the page asks for one, keeps it for the tab, and never puts it into an address.
import assert from "node:assert/strict";
import { begin, TOKEN_KEY, until } from "./lib.mjs";

const tests = await begin("sign_in");
const daemon = await tests.daemon("--backend", "fake", "--node", "a:4", "--interval", "1");
const allow401 = (page) => page.allowed.push(/status of 401/);

await tests.test("without a token the page asks for one, and says where it is", async () => {
  const page = await tests.open(daemon, "#/", { token: null });
  await page.getByLabel("Token").waitFor();
  assert.match(await page.getByRole("main").innerText(), /admin\.token/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "token", "the field has the focus");
  assert.ok(!page.requests.some((url) => url.includes("/v1/")), "nothing is requested before there is a token");
});

await tests.test("a token opens the page, by the keyboard alone; it is kept for this tab only", async () => {
  const page = await tests.open(daemon, "#/jobs", { token: null });
  await page.getByLabel("Token").waitFor();
  await page.keyboard.type(daemon.adminToken);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs" }).waitFor({ state: "attached" });
  await page.reload();
  await page.getByRole("heading", { name: "Jobs" }).waitFor({ state: "attached" });
  assert.deepEqual(await page.evaluate((key) => [sessionStorage.getItem(key) !== null, localStorage.getItem(key)], TOKEN_KEY), [true, null]);
  assert.ok(!page.requests.some((url) => url.includes(daemon.adminToken)), "no address contains the token");
  const other = await tests.open(daemon, "#/jobs", { token: null });
  await other.getByLabel("Token").waitFor();
});

await tests.test("a token in the fragment is removed from the address, and opens no live daemon: a link signs nobody in", async () => {
  const page = await tests.open(daemon, `#token=${daemon.adminToken}`, { token: null });
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /recorded runs only/);
  assert.equal(await page.getByRole("navigation", { name: "Views" }).count(), 0);
  assert.ok(!page.url().includes(daemon.adminToken), page.url());
  assert.ok(!page.requests.some((url) => url.includes(daemon.adminToken)));
  assert.deepEqual(await page.evaluate(() => Object.values({ ...sessionStorage })), []);
});

await tests.test("a token in the fragment does not replace the one of the tab", async () => {
  const page = await tests.open(daemon, "#/", { token: await daemon.token("ann", "user") });
  await page.getByText("ann, user").waitFor();
  await page.evaluate((token) => { location.hash = `#token=${token}`; }, daemon.adminToken);
  await until("the address has no token", () => !page.url().includes("token"));
  await page.getByText("ann, user").waitFor();
  assert.equal(await page.getByText("admin", { exact: true }).count(), 0);
});

await tests.test("a wrong token is refused, with the reason", async () => {
  const page = await tests.open(daemon, "#/", { token: null });
  allow401(page);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /refused/);
  assert.equal(await page.evaluate((key) => sessionStorage.getItem(key), TOKEN_KEY), null);
  await page.getByLabel("Token").fill(daemon.adminToken);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
});

await tests.test("a token that is revoked while the page is open: the page asks again", async () => {
  const page = await tests.open(daemon, "#/", { token: await daemon.token("eve", "user") });
  allow401(page);
  page.allowed.push(/ERR_/); // the stream is cut
  await page.getByText("live", { exact: true }).waitFor();
  await daemon.command(["token", "revoke", "eve"]);
  await page.getByLabel("Token").waitFor();
});

await tests.test("Sign out forgets the token, and what was typed into the form", async () => {
  const page = await tests.open(daemon, "#/submit");
  page.allowed.push(/ERR_ABORTED/);
  const environment = page.getByRole("textbox", { name: /^Environment/ });
  await environment.fill("API_KEY=secret");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.equal(await page.evaluate((key) => sessionStorage.getItem(key), TOKEN_KEY), null);
  await page.getByLabel("Token").fill(daemon.adminToken);
  await page.keyboard.press("Enter");
  await environment.waitFor();
  assert.equal(await environment.inputValue(), "");
});

await tests.test("the page needs no token and no script of others, and cannot be framed", async () => {
  for (const path of ["/", "/assets/page.js", "/assets/page.css", "/assets/favicon.svg"]) {
    const answer = await fetch(daemon.url + path);
    assert.equal(answer.status, 200, path);
    const policy = answer.headers.get("content-security-policy") ?? "";
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) assert.ok(policy.includes(rule), `${path}: ${rule}`);
    assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    const again = await fetch(daemon.url + path, { headers: { "if-none-match": answer.headers.get("etag") } });
    assert.equal(again.status, 304, `${path} again`);
  }
  assert.equal((await fetch(`${daemon.url}/v1/status`)).status, 401);
});

await until("polluxd still answers", async () => (await daemon.get("/healthz")).ok);
await tests.end();
