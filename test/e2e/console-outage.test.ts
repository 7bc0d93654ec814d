import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type ConsoleFleet, startConsoleFleet } from "../harness/console.ts";
import { until } from "../harness/until.ts";

// The console in a real Chromium while the bus is frozen, while it is dead, and while no master answers.

setDefaultTimeout(120_000);

let fleet: ConsoleFleet;

beforeAll(async () => {
  fleet = await startConsoleFleet();
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const heading = `document.querySelector("h1")?.innerText`;
const stands = `[...document.querySelectorAll("nav .foot .status")].map((one) => one.innerText).join()`;
const words = `[...document.querySelectorAll("main .status")].map((one) => one.innerText)`;
const isLive = `${stands} === "Live"`;
/** What a page claims of this moment. */
const claims = `${words}.filter((one) => ["alive", "ready", "degraded", "running"].includes(one))`;

/** Runs this while the bus accepts and answers nothing. */
async function frozen(run: () => Promise<void>): Promise<void> {
  const server = fleet.bus.server();
  server.kill("SIGSTOP");
  try {
    await run();
  } finally {
    server.kill("SIGCONT");
  }
}

test("a frozen bus: nothing is live or ready, the page says so, and goes on by itself", async () => {
  const { page, master, open, signIn, barriers } = fleet;
  await signIn(master.token);
  await open("/overview", "Overview");
  await page.until(`${words}.includes("ready")`);
  await frozen(async () => {
    await page.until(`/^Not live since \\d\\d:\\d\\d:\\d\\d$/.test(${stands})`);
    expect(await page.evaluate<string>(`document.querySelector(".old").innerText`)).toContain("svc doctor");
    expect(await page.evaluate<string[]>(claims)).toEqual([]);
    expect(await page.evaluate<string[]>(`${words}.filter((one) => one.startsWith("was "))`)).not.toEqual([]);
    expect(await barriers()).toEqual([]);
    // What cannot be read now is said without the words of the storage.
    await page.click('nav a[href="/console/jobs"]');
    await page.until(`document.querySelector("main .notice.failed") !== null`);
    const notice = await page.evaluate<string>(`document.querySelector("main .notice.failed").innerText`);
    expect(notice).not.toContain("bucket");
  });
  await page.until(`${isLive} && document.querySelector(".old") === null`);
  await page.until(`document.querySelector("main .notice.failed") === null`);
  await page.click('nav a[href="/console/overview"]');
  await page.until(`${words}.includes("ready")`);
});

test("a frozen bus: the page Events, which has a stream of its own, is not live either", async () => {
  const { page, open } = fleet;
  await open("/events", "Events");
  await page.until(isLive);
  await frozen(async () => {
    await page.until(`/^Not live since /.test(${stands})`);
    await page.until(
      `document.querySelector(".page-head [role=status]").innerText.startsWith("Not live since ")`,
    );
  });
  await page.until(isLive);
});

test("a frozen bus: a page that is loaded says at once what is wrong and what to do, and opens by itself", async () => {
  const { page, go, barriers } = fleet;
  await frozen(async () => {
    await go("/peels");
    // That it waits, and what it waits for as soon as that is known, which may be so already.
    await page.until(
      `document.querySelector("main.waiting p, main.sign-in h1").checkVisibility({ visibilityProperty: true })`,
    );
    await page.until(`${heading} === "The bus of the fleet does not answer"`);
    const text = await page.evaluate<string>("document.body.innerText");
    expect([text, await page.evaluate<string>("document.title")]).toEqual([
      expect.stringContaining("svc doctor"),
      "No answer · svc",
    ]);
    expect(text).not.toContain("bucket");
    expect(await barriers()).toEqual([]);
  });
  await page.until(`${heading} === "Peels"`);
  await page.until(isLive);
});

test("a frozen bus: nobody can sign in, and is told so in words for people", async () => {
  const { page, master } = fleet;
  await page.until(isLive);
  await fleet.signOut();
  await frozen(async () => {
    await page.type("#token", master.token);
    await page.press("Enter");
    await page.until(
      `document.querySelector("#token-problem").innerText.startsWith("The bus of the fleet does not answer")`,
    );
  });
  await page.press("Enter");
  await page.until(isLive);
});

test("no master: a page that asks says so, and opens by itself", async () => {
  const { page, go } = fleet;
  await page.command("Page.addScriptToEvaluateOnNewDocument", {
    source: `globalThis.fetched = globalThis.fetch;
      if (sessionStorage.getItem("cut") !== null) globalThis.fetch = () => Promise.reject(new TypeError("cut"));`,
  });
  await page.evaluate(`sessionStorage.setItem("cut", "yes")`);
  await go("/jobs");
  await page.until(`${heading} === "No master answers"`);
  await page.evaluate(`(sessionStorage.removeItem("cut"), (globalThis.fetch = globalThis.fetched), true)`);
  await page.until(`${heading} === "Jobs"`);
});

test("a dead bus: nothing is live, and the page goes on when it is back", async () => {
  const { page, open, bus } = fleet;
  await open("/peels", "Peels");
  await page.until(isLive);
  await bus.stop("SIGKILL");
  await page.until(`/^Not live since /.test(${stands})`);
  expect(await page.evaluate<string[]>(claims)).toEqual([]);
  await bus.start();
  // Sessions are kept in the memory of the bus.
  await page.until(
    `document.querySelector(".old") === null || document.querySelector("dialog[aria-label='Your session has ended']") !== null`,
  );
});

// Nobody signs in after it for a while. A master that has not found its bus again answers a sign-in after seconds.
test("too many sign-ins: the page says until when", async () => {
  await until(async () => (await fetch(`${fleet.master.healthUrl}/readyz`)).ok);
  await using page = await fleet.page.another();
  await page.open(`${fleet.master.url}/console/`);
  await page.type("#token", "wrong-token-0123456789");
  await page.until(`(() => {
    const said = document.querySelector("#token-problem").innerText;
    if (said.startsWith("Too many requests came from your address")) return said;
    const button = document.querySelector("form .primary");
    if (!button.disabled) button.click();
    return undefined;
  })()`);
  expect(await page.evaluate<string>(`document.querySelector("#token-problem").innerText`)).toMatch(
    /Try again at \d\d:\d\d:\d\d, in \d+ s\.$/,
  );
});
