// SPDX-License-Identifier: Apache-2.0
// A token that expires: the page asks for another one, and says why.
import assert from "node:assert/strict";
import { begin, TOKEN_KEY, until } from "./lib.mjs";

const tests = await begin("expiry");
const daemon = await tests.daemon("--backend", "fake", "--node", "a:4", "--interval", "1");

// A new token that expires; it replaces the one before, which has expired.
const expiring = async (seconds) => (await daemon.command(["token", "new", "kim", "--role", "read-only", "--expires", `${seconds}s`])).trim();

async function open(token) {
  const page = await tests.open(daemon, "#/jobs", { token });
  page.allowed.push(/status of 401/, /ERR_/); // the stream is cut
  return page;
}

async function asks(page) {
  await page.getByLabel("Token").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /^The token was refused: the token has expired \(20.* UTC\); ask an administrator to make a new one/);
  assert.equal(await page.getByRole("navigation", { name: "Views" }).count(), 0);
  assert.equal(await page.evaluate((key) => sessionStorage.getItem(key), TOKEN_KEY), null, "the page forgets it");
}

let expired = "";

await tests.test("a token that expires while the page is open: the page asks again, with the reason", async () => {
  // On a slow machine it expires before the page is open: with a longer time, again.
  for (const seconds of [2, 10, 60]) {
    expired = await expiring(seconds);
    const page = await open(expired);
    const live = page.getByText("live", { exact: true });
    await live.or(page.getByLabel("Token")).first().waitFor();
    const opened = await live.isVisible();
    await asks(page);
    if (opened) return;
  }
  assert.fail("no page was open before its token expired");
});

await tests.test("a token that has expired is refused with the reason; another one opens the page", async () => {
  const page = await open(null);
  await page.getByLabel("Token").fill(expired);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("alert").waitFor();
  await asks(page);
  await page.getByLabel("Token").fill(await daemon.token("ann", "user"));
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("ann, user").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
});

await until("polluxd still answers", async () => (await daemon.get("/healthz")).ok);
await tests.end();
