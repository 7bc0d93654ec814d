import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openBrowser, type Page } from "../harness/browser.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call, enrollNew, newEnrollee } from "../harness/enrollee.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";

// The documentation page in a real browser: it works from what the listener serves, and from nothing else.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

const list = "#operations-Enrollments-listEnrollments";

let bus: TestBus;
let master: TestMaster;
let page: Page;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus, { flags: ["--api-docs"] });
  page = await openBrowser(master);
});

afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Requests to any other host than the listener, including blocked ones. */
const strangers = () =>
  page.requests.filter((url) => !url.startsWith(`${master.url}/`) && !url.startsWith("data:"));

const rows = (selector: string) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((row) => row.innerText.trim())`,
  );

/** Sends the request of the opened operation, and returns the status and the body the page then shows. */
async function execute(operation: string): Promise<{ status: string; body: string }> {
  await page.click(`${operation} .execute`);
  const shown = `document.querySelector("${operation} .live-responses-table tbody .response-col_status")`;
  const status = await page.until<string>(`${shown}?.innerText.trim()`);
  const body = await page.evaluate<string>(
    `document.querySelector("${operation} .live-responses-table .highlight-code").innerText`,
  );
  await page.click(`${operation} .btn-clear`);
  await page.until(`!${shown}`);
  return { status, body };
}

test("the page lists every operation of the description", async () => {
  await page.open(`${master.url}/api/v1/docs`);
  const { paths } = (await call(master, { path: "/api/v1/openapi.json" })).json as {
    paths: Record<string, Record<string, { summary: string }>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary }]) => [method.toUpperCase(), path, summary].join(" ")),
  );
  expect(operations).toHaveLength(master.routes.filter(({ path }) => path.startsWith("/api/")).length);
  await page.until(`document.querySelectorAll(".opblock").length === ${operations.length}`);
  const shown = await rows(".opblock-summary");
  // A place where a long path may break is an invisible character.
  const plain = shown.map((text) => text.replace(/\u200b/g, "").replace(/\s+/g, " "));
  expect(plain.sort()).toEqual(operations.sort());
  expect(await rows(".errors-wrapper")).toEqual([]);
});

test("a request sent from the page is refused without a token, and succeeds with one", async () => {
  const id = await enrollNew(master, newEnrollee());
  await page.click(`${list} .opblock-summary-control`);
  // The example is made of the resolved schemas, without which the page does not send either.
  await page.until(`document.querySelector("${list} .responses-wrapper")?.innerText.includes('"peel_id"')`);
  expect((await execute(list)).status).toBe("401");

  await page.click("button.authorize");
  await page.type(".auth-container input[aria-label='auth-bearer-value']", testToken);
  await page.click(".auth-btn-wrapper .authorize");
  await page.click(".auth-btn-wrapper .btn-done");
  const answer = await execute(list);
  expect(answer.status).toBe("200");
  expect(answer.body).toContain(id);
  const requested = page.requests.filter((url) => url.startsWith(`${master.url}/api/v1/enrollments?`));
  expect(requested).toHaveLength(2);
});

test("the other address of the page shows the same", async () => {
  await page.open(`${master.url}/api/v1/docs/`);
  await page.until(
    `document.querySelectorAll(".opblock").length === ${master.routes.filter(({ path }) => path.startsWith("/api/")).length}`,
  );
});

test("every field has an id or a name, also those that come later", async () => {
  const unnamed = ":is(input, select, textarea):not([id], [name])";
  expect(
    await page.evaluate<number>(`document.querySelectorAll("input, select, textarea").length`),
  ).toBeGreaterThan(0);
  expect(await page.evaluate<number>(`document.querySelectorAll("${unnamed}").length`)).toBe(0);
  const later = `new Promise((resolve) => {
    const field = document.body.appendChild(document.createElement("input"));
    requestAnimationFrame(() => resolve(field.name));
  })`;
  expect(await page.evaluate<string>(later)).toMatch(/^field-\d+$/);
});

test("nothing left the listener, and nothing was against the policy", async () => {
  expect(strangers()).toEqual([]);
  // The only refused request is the one without a token.
  expect(page.complaints.filter((text) => !text.includes("status of 401"))).toEqual([]);
});

test("the policy stops what is not the page's own, and this test would see it", async () => {
  const stopped = await page.evaluate<string[]>(`new Promise((resolve) => {
    const stopped = [];
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      if (stopped.push(effectiveDirective) === 4) resolve(stopped.sort());
    });
    fetch("https://elsewhere.example/").catch(() => {});
    document.head.append(Object.assign(document.createElement("script"), { textContent: "document.title = 1" }));
    // A file of the listener, too, runs only with its digest.
    document.head.append(Object.assign(document.createElement("script"), { src: "/api/v1/docs/swagger-ui.js" }));
    document.body.append(Object.assign(document.createElement("img"), { src: "https://elsewhere.example/" }));
  })`);
  expect(stopped).toEqual(["connect-src", "img-src", "script-src-elem", "script-src-elem"]);
  expect(await page.evaluate<string>("document.title")).toBe("svc API");
  const reported = page.complaints.filter((text) => text.includes("https://elsewhere.example/"));
  expect(reported.length).toBeGreaterThan(0);
});

test("only the page relaxes the policy, and there is none unless it is switched on", async () => {
  const policyOf = async (path: string) =>
    (await call(master, { path })).headers["content-security-policy"] as string;
  for (const path of ["/api/v1/docs", "/api/v1/docs/"]) {
    expect(await policyOf(path)).toStartWith("default-src 'none'; ");
    expect(await policyOf(path)).not.toMatch(/unsafe|\*|https?:/);
    expect(await policyOf(path)).toMatch(/; script-src(?: 'sha256-[\w+/]{43}='){2}; /);
  }
  for (const path of [
    "/api/v1/openapi.json",
    "/api/v1/docs/swagger-ui.js",
    "/api/v1/docs/swagger-ui.css",
    "/nope",
  ]) {
    expect([path, await policyOf(path)]).toEqual([path, "default-src 'none'"]);
  }
  await using plain = await startMaster(bus);
  for (const path of [
    "/api/v1/docs",
    "/api/v1/docs/",
    "/api/v1/docs/swagger-ui.js",
    "/api/v1/openapi.json",
  ]) {
    expect([path, (await call(plain, { path })).status]).toEqual([path, 404]);
  }
});
