import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { runRecord } from "../harness/run-record.ts";

// Sessions of the console on two masters, as a browser and as what attacks one.

setDefaultTimeout(60_000);

let bus: TestBus;
let first: TestMaster;
let second: TestMaster;
let without: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  writeFileSync(join(bus.dir, "roles.yaml"), "roles: {no-console: {jobs: [list]}}\n");
  const flags = ["--roles-file", join(bus.dir, "roles.yaml")];
  [first, second, without] = await Promise.all([
    startMaster(bus, { flags }),
    startMaster(bus, { flags }),
    startMaster(bus, { flags: [...flags, "--no-console"] }),
  ]);
});
afterAll(async () => {
  for (const one of [without, second, first, bus]) await one?.[Symbol.asyncDispose]();
});

class Browser extends ConsoleClient {
  override signIn(master: TestMaster, shown: object = { token: testToken }) {
    return super.signIn(master, shown);
  }
}

const status = async (browser: Browser, master = first) =>
  (await browser.request(master, "GET", "/api/v1/peels")).status;

describe("a session", () => {
  test("is signed in by a token, counts on every master, and ends on all of them", async () => {
    const browser = new Browser();
    const opened = await browser.signIn(first);
    expect([opened.status, opened.json]).toMatchObject([
      201,
      { name: "tester", roles: ["admin"], may: { console: ["use"], tokens: ["list", "create", "revoke"] } },
    ]);
    expect([opened.headers["set-cookie"]].flat()).toEqual([
      expect.stringMatching(
        /^__Host-svc=[\w-]{43}; Path=\/; Max-Age=28800; Secure; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    for (const master of [first, second]) {
      expect(await status(browser, master)).toBe(200);
      const current = await browser.request(master, "GET", "/api/v1/sessions/current");
      expect([current.status, current.json]).toEqual([200, opened.json]);
    }
    const ended = await browser.request(second, "DELETE", "/api/v1/sessions/current");
    expect([ended.status, ended.headers["set-cookie"]]).toMatchObject([
      200,
      [expect.stringMatching(/^__Host-svc=; Path=\/; Max-Age=0;/)],
    ]);
    const refused = await browser.request(first, "GET", "/api/v1/peels");
    expect([refused.status, refused.json]).toEqual([
      401,
      { error: "your session has ended: sign in again at /console/" },
    ]);
  });

  test("changes something only with its own token, and the audit has its door", async () => {
    const [browser, other] = [new Browser(), new Browser()];
    await browser.signIn(first);
    await other.signIn(first);
    const create = (name: string, headers: Record<string, string> = {}) =>
      browser.request(first, "POST", "/api/v1/tokens", { body: { name, roles: ["viewer"] }, headers });
    const refused = { error: "the header X-CSRF-Token is missing, or is not that of this session" };
    for (const csrf of ["", "wrong", other.csrf]) {
      const reply = await create("forged", { "x-csrf-token": csrf });
      expect([reply.status, reply.json]).toEqual([403, refused]);
    }
    const made = await create("by-console");
    expect([made.status, made.json]).toMatchObject([201, { created_by: "tester" }]);
    runRecord.register("token", (made.json as { token: string }).token);
    const audit = await browser.request(first, "GET", "/api/v1/audit?action=tokens.create&limit=10");
    expect(audit.json).toMatchObject([
      { via: "console", operator: "tester", action: "tokens.create" },
      { via: "console", operator: "tester", action: "tokens.create" },
    ]);
    const signedIn = await browser.request(first, "GET", "/api/v1/audit?action=sessions.open&limit=1");
    expect(signedIn.json).toMatchObject([
      { via: "console", operator: "tester", subjects: { session: expect.stringMatching(/^ses-/) } },
    ]);
  });

  test.each([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["a site of the same domain", { "sec-fetch-site": "same-site" }],
    ["an address bar", { "sec-fetch-site": "none" }],
    ["a program without Sec-Fetch-Site", { "sec-fetch-site": "" }],
    ["a foreign origin", { origin: "https://evil.example.com" }],
  ])("does not count for %s", async (_, headers) => {
    const browser = new Browser();
    await browser.signIn(first);
    expect((await browser.request(first, "GET", "/api/v1/peels", { headers })).status).toBe(401);
    expect((await browser.request(first, "POST", "/api/v1/tokens", { headers, body: {} })).status).toBe(401);
    expect(await status(browser)).toBe(200);
  });

  test("that was stolen ends for the thief and for its owner", async () => {
    const [browser, thief] = [new Browser(), new Browser()];
    await browser.signIn(first);
    Object.assign(thief, { cookie: browser.cookie, csrf: browser.csrf });
    const stolen = await thief.request(second, "POST", "/api/v1/tokens", {
      body: { name: "stolen", roles: ["admin"] },
    });
    expect([stolen.status, stolen.json]).toEqual([
      401,
      { error: expect.stringContaining("it was used from another address") },
    ]);
    expect(await status(browser)).toBe(401);
  });

  test("does not open where a peel asks, and is ignored beside a token", async () => {
    const browser = new Browser();
    await browser.signIn(first);
    const own = first.routes.filter(({ auth, method }) => auth === "nkey" && method === "GET");
    expect(own.length).toBeGreaterThan(0);
    for (const { path } of own) {
      const at = path.replace(/:[a-z]+/g, `enr-${"a".repeat(27)}`);
      const [mine, anyones] = [
        await browser.request(first, "GET", at),
        await new Browser().request(first, "GET", at),
      ];
      expect([mine.status, mine.json]).toEqual([anyones.status, anyones.json]);
    }
    const wrong = { authorization: "Bearer wrong" };
    expect((await browser.request(first, "GET", "/api/v1/peels", { headers: wrong })).status).toBe(401);
    const right = { authorization: `Bearer ${testToken}`, "x-csrf-token": "" };
    const body = { name: "by-bearer", roles: ["viewer"] };
    const made = await browser.request(first, "POST", "/api/v1/tokens", { headers: right, body });
    expect(made.status).toBe(201);
    runRecord.register("token", (made.json as { token: string }).token);
  });

  test("ends with the token that signed it in, on the master that did not revoke it as well", async () => {
    const [admin, browser] = [new Browser(), new Browser()];
    await admin.signIn(first);
    const made = await admin.request(first, "POST", "/api/v1/tokens", {
      body: { name: "short", roles: ["viewer"] },
    });
    const { token, id } = made.json as { token: string; id: string };
    runRecord.register("token", token);
    const opened = await browser.signIn(first, { token });
    expect(opened.json).toMatchObject({ name: "token:short", roles: ["viewer"] });
    expect(await status(browser, second)).toBe(200);
    const denied = await browser.request(first, "GET", "/api/v1/tokens");
    expect(denied.status).toBe(403);
    expect((await admin.request(first, "DELETE", `/api/v1/tokens/${id}`)).status).toBe(200);
    expect(await status(browser, second)).toBe(401);
  });
});

describe("a sign-in", () => {
  test("is refused without a valid token, without a role for the console, and from another site", async () => {
    const refused = await new Browser().signIn(first, { token: "wrong" });
    expect([refused.status, refused.json, refused.headers["set-cookie"]]).toEqual([
      401,
      { error: "a valid bearer token is required" },
      undefined,
    ]);
    const body = { name: "no-console", roles: ["no-console"] };
    const admin = new Browser();
    await admin.signIn(first);
    const made = await admin.request(first, "POST", "/api/v1/tokens", { body });
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    const lacking = await new Browser().signIn(first, { token });
    expect([lacking.status, lacking.json]).toEqual([
      403,
      { error: expect.stringContaining("may not use the console: it needs a role with console: [use]") },
    ]);
    const forged = await new Browser().request(first, "POST", "/api/v1/sessions", {
      body: { token: testToken },
      headers: { "sec-fetch-site": "cross-site", origin: "https://evil.example.com" },
    });
    expect(forged.status).toBe(403);
    expect((await new Browser().signIn(first, { token: testToken, link: "x" })).status).toBe(400);
    expect((await new Browser().signIn(first, {})).status).toBe(400);
  });

  test("is limited for each address", async () => {
    const browser = new Browser();
    const replies: number[] = [];
    for (let at = 0; at < 12; at++) replies.push((await browser.signIn(first, { token: "wrong" })).status);
    expect(replies.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
    expect(replies.slice(10)).toEqual([429, 429]);
  });
});

describe("a link", () => {
  const linkOf = async (token: string) => {
    const reply = await send(first.url, first.ca, {
      ...{ method: "POST", path: "/api/v1/sessions/links", from: freshAddress(), body: "{}" },
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    const { link = "" } = reply.json as { link?: string };
    if (link !== "") runRecord.register("token", link);
    return { ...reply, link };
  };

  test("signs in one browser, on whichever master, and is not made by a session or a file", async () => {
    const admin = new Browser();
    await admin.signIn(first);
    const made = await admin.request(first, "POST", "/api/v1/tokens", {
      body: { name: "linker", roles: ["viewer"] },
    });
    const { token } = made.json as { token: string };
    runRecord.register("token", token);
    const { status: answered, link, json } = await linkOf(token);
    expect([answered, json]).toMatchObject([201, { urls: [expect.stringMatching(/^https:.*\/console\/$/)] }]);
    const [one, two] = [new Browser(), new Browser()];
    const outcomes = await Promise.all([one.signIn(first, { link }), two.signIn(second, { link })]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([201, 401]);
    expect((await admin.request(first, "POST", "/api/v1/sessions/links", { body: {} })).status).toBe(403);
    expect((await linkOf(testToken)).status).toBe(403);
  });
});

describe("the pages", () => {
  const page = (path: string, master = first, headers: Record<string, string> = {}) =>
    send(master.url, master.ca, { path, from: freshAddress(), headers });

  test("have one page for each address, which no other site can frame, read or script", async () => {
    for (const path of [
      "/console/",
      "/console/peels",
      "/console/jobs/job-1",
      "/console/oidc?code=a&state=b",
    ]) {
      const { status: answered, headers } = await page(path);
      expect([answered, headers]).toMatchObject([
        200,
        {
          "content-type": "text/html; charset=utf-8",
          "cache-control": "no-store",
          "content-security-policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
          "x-frame-options": "DENY",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin",
        },
      ]);
    }
    const moved = await page("/console");
    expect([moved.status, moved.headers.location]).toEqual([308, "/console/"]);
    const typed = await page("/", first, { accept: "text/html,*/*;q=0.8" });
    expect([typed.status, typed.headers.location]).toEqual([302, "/console/"]);
    for (const accept of ["*/*", "application/json"]) {
      const reply = await page("/", first, { accept });
      expect([reply.status, reply.json]).toEqual([404, { error: "not found" }]);
    }
  });

  test.each([
    "/console/assets/../../etc/passwd",
    "/console/assets/..%2f..%2fetc%2fpasswd",
    "/console/assets/%2e%2e/%2e%2e/etc/passwd",
    "/console/assets/",
    "/console/assets/main.js",
    "/console/assets/__proto__",
    "/console/favicon.ico",
    "/console/..%2f..%2fetc%2fpasswd.txt",
  ])("have no file %s", async (path) => {
    const reply = await page(path);
    expect([reply.status, reply.text]).not.toEqual([200, expect.stringContaining("root:")]);
    if (path !== "/console/assets/") expect(reply.status).toBe(404);
  });

  test("are not there where the console is turned off, and neither are sessions", async () => {
    for (const path of ["/", "/console", "/console/", "/console/peels", "/api/v1/sessions/current"]) {
      const headers = { authorization: `Bearer ${testToken}`, accept: "text/html, application/json" };
      const reply = await page(path, without, headers);
      expect([path, reply.status]).toEqual([path, 404]);
    }
    const browser = new Browser();
    expect((await browser.signIn(without)).status).toBe(404);
    await browser.signIn(first);
    expect((await browser.request(without, "GET", "/api/v1/peels")).status).toBe(401);
    expect(await status(browser)).toBe(200);
  });
});

test("a session goes on when its master is restarted", async () => {
  const browser = new Browser();
  const third = await startMaster(bus);
  await browser.signIn(third);
  await third[Symbol.asyncDispose]();
  expect(await status(browser)).toBe(200);
  await using fourth = await startMaster(bus);
  expect(await status(browser, fourth)).toBe(200);
});

test("nothing that signs in is in a log", () => {
  const logs = JSON.stringify([first, second].map(({ records }) => records));
  expect(logs).toContain("signed in to the console");
  expect(logs).not.toMatch(/__Host-svc=\w/);
});
