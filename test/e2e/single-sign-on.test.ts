import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { checkMaster } from "../../internal/master/command/check.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { manualClock } from "../harness/clock.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { call } from "../harness/enrollee.ts";
import { type IdentityProvider, idTokenOf, startIdentityProvider } from "../harness/identity-provider.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { runRecord } from "../harness/run-record.ts";
import { type Ran, svc } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// Single sign-on with a real identity provider over TLS.

setDefaultTimeout(60_000);

let bus: TestBus;
let provider: IdentityProvider;
let master: TestMaster;

const configFor = (more: object = {}) => ({
  api: {
    tokens: [{ username: "tester", token_file: join(bus.dir, "token") }],
    oidc: [
      {
        ...{ issuer: provider.issuer, audience: provider.clientId, ca_file: bus.caFile },
        scope: "openid email groups",
        role_claims: [{ claim: "groups", value: "ops", role: "operator" }],
        ...more,
      },
    ],
  },
});

beforeAll(async () => {
  bus = await startBus();
  const ann = { email: "ann@example.com", groups: ["dev", "ops"] };
  const bob = { email: "bob@example.com", groups: ["dev"] };
  provider = await startIdentityProvider(bus, { accounts: { ann, bob } });
  master = await startMaster(bus, { config: configFor() });
});
afterEach(() => {
  provider.mood = "well";
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const request = (at: TestMaster, token: string, path = "/api/v1/enrollments") =>
  call(at, { path, headers: { authorization: `Bearer ${token}` } });

describe("a token of the provider", () => {
  test("opens the REST interface under the name that the provider gives, with the roles of its claims", async () => {
    const token = await idTokenOf(provider, bus.caPem, "ann");
    expect((await request(master, token)).status).toBe(200);
    const place = provider.issuer.replace("https://", "");
    const names = master.records.map(({ fields }) => fields.auth_username);
    expect(names).toContain(`ann@example.com@${place}`);
    expect(JSON.stringify(master.records)).not.toContain(token);
  });

  test("without a matching claim it is 403, and the answer tells who can give a role", async () => {
    const { status, json } = await request(master, await idTokenOf(provider, bus.caPem, "bob"));
    expect([status, json]).toEqual([
      403,
      { error: expect.stringMatching(/^bob@example\.com@localhost:\d+ has no role here: .* role_claims\)$/) },
    ]);
  });

  test("for another audience it is 401", async () => {
    await using other = await startMaster(bus, { config: configFor({ audience: "other" }) });
    const { status, text } = await request(other, await idTokenOf(provider, bus.caPem, "ann"));
    expect([status, text]).toEqual([401, expect.stringContaining("is for another audience than other")]);
  });

  test("creates no token that would outlive it", async () => {
    const token = await idTokenOf(provider, bus.caPem, "ann");
    const { status } = await call(master, {
      ...{ method: "POST", path: "/api/v1/tokens", body: JSON.stringify({ name: "x", roles: ["viewer"] }) },
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    expect(status).toBe(403);
  });

  test("a provider with a certificate of another CA is not believed", async () => {
    await using strict = await startMaster(bus, { config: configFor({ ca_file: undefined }) });
    const token = await idTokenOf(provider, bus.caPem, "ann");
    const { status, text } = await request(strict, token);
    expect([status, text]).toEqual([503, expect.stringContaining("are not known: ")]);
    expect((await request(strict, testToken)).status).toBe(200);
  });
});

describe("a browser that signs in to the console there", () => {
  interface Began {
    url: string;
    state: string;
    verifier: string;
  }
  const redirectOf = (at: TestMaster) => `${at.url}/console/oidc`;
  const begin = async (browser: ConsoleClient, at = master) => {
    const body = { issuer: provider.issuer, redirect_uri: redirectOf(at) };
    const reply = await browser.request(at, "POST", "/api/v1/sessions/oidc", { body });
    expect(reply.status).toBe(200);
    const began = reply.json as Began;
    runRecord.register("token", began.verifier);
    return began;
  };
  /** Follows the provider as a browser does, up to the address that leads back to the console. */
  const follow = async (url: string, person: string): Promise<URL> => {
    provider.person = person;
    const cookies = new Map<string, string>();
    for (let at = new URL(url), hops = 0; hops < 10; hops++) {
      if (at.pathname === "/console/oidc") return at;
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(at, { headers: { cookie }, redirect: "manual", tls: { ca: bus.caPem } });
      for (const set of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const next = response.headers.get("location");
      if (next === null) throw new Error(`${at.pathname}: ${response.status} ${await response.text()}`);
      at = new URL(next, at);
    }
    throw new Error("the provider redirects without an end");
  };
  const bring = (back: URL, { verifier }: Began, at = master) => ({
    oidc: {
      ...{ issuer: provider.issuer, code: back.searchParams.get("code") ?? "", verifier },
      redirect_uri: redirectOf(at),
    },
  });

  test("has the name and the roles of its claims, and a code counts once", async () => {
    const browser = new ConsoleClient();
    const known = await browser.request(master, "GET", "/api/v1/sessions/providers");
    const place = provider.issuer.replace("https://", "");
    expect(known.json).toEqual({ providers: [{ issuer: provider.issuer, name: place }] });
    const began = await begin(browser);
    expect(new URL(began.url).searchParams.get("code_challenge_method")).toBe("S256");
    const back = await follow(began.url, "ann");
    expect(back.searchParams.get("state")).toBe(began.state);
    const opened = await browser.signIn(master, bring(back, began));
    expect([opened.status, opened.json]).toMatchObject([
      201,
      { name: `ann@example.com@${place}`, roles: ["operator"], may: { console: ["use"] } },
    ]);
    expect((await browser.request(master, "GET", "/api/v1/enrollments")).status).toBe(200);
    expect((await browser.request(master, "GET", "/api/v1/tokens")).status).toBe(403);
    const again = await new ConsoleClient().signIn(master, bring(back, began));
    expect([again.status, again.json]).toEqual([
      401,
      { error: expect.stringContaining("does not accept this sign-in: invalid_grant") },
    ]);
  });

  test("does not sign in with the code of another browser", async () => {
    const [browser, other] = [new ConsoleClient(), new ConsoleClient()];
    const [mine, theirs] = [await begin(browser), await begin(other)];
    const back = await follow(theirs.url, "ann");
    expect((await browser.signIn(master, bring(back, mine))).status).toBe(401);
  });

  test("without a matching claim gets no session", async () => {
    const browser = new ConsoleClient();
    const began = await begin(browser);
    const refused = await browser.signIn(master, bring(await follow(began.url, "bob"), began));
    expect([refused.status, refused.json]).toEqual([
      403,
      { error: expect.stringContaining("bob@example.com") },
    ]);
  });

  test("cannot be sent elsewhere, nor to a provider that the master does not know", async () => {
    const request = (body: object) =>
      new ConsoleClient().request(master, "POST", "/api/v1/sessions/oidc", { body });
    const elsewhere = { issuer: provider.issuer, redirect_uri: "https://evil.example.com/" };
    expect((await request(elsewhere)).status).toBe(400);
    const unknown = { issuer: "https://evil.example.com", redirect_uri: redirectOf(master) };
    expect((await request(unknown)).status).toBe(404);
  });

  test("loses its session when the provider is no longer configured", async () => {
    const browser = new ConsoleClient();
    const began = await begin(browser);
    await browser.signIn(master, bring(await follow(began.url, "ann"), began));
    await using without = await startMaster(bus);
    const refused = await browser.request(without, "GET", "/api/v1/enrollments");
    expect([refused.status, refused.json]).toEqual([
      401,
      { error: expect.stringContaining("this master no longer knows the identity provider") },
    ]);
    expect((await browser.request(master, "GET", "/api/v1/enrollments")).status).toBe(200);
  });
});

describe("a provider in trouble", () => {
  test("that is down locks nobody out whose key is known, also on a master that starts then", async () => {
    const data = join(bus.dir, "data-sso");
    mkdirSync(data, { mode: 0o700 });
    const start = () => startMaster(bus, { config: configFor(), env: { SVC_DATA_DIR: data } });
    const token = await idTokenOf(provider, bus.caPem, "ann");
    {
      await using first = await start();
      expect((await request(first, token)).status).toBe(200);
    }
    await provider.stop();
    try {
      await using again = await start();
      expect((await request(again, token)).status).toBe(200);
      await using fresh = await startMaster(bus, { config: configFor() });
      expect((await request(fresh, token)).status).toBe(503);
      expect((await request(fresh, testToken)).status).toBe(200);
    } finally {
      await provider.start();
    }
  });

  test("that uses new keys is asked for them, at most once a minute", async () => {
    const clock = manualClock(systemClock.now());
    await using timed = await startMaster(bus, { config: configFor(), clock });
    expect((await request(timed, await idTokenOf(provider, bus.caPem, "ann"))).status).toBe(200);
    await provider.stop();
    await provider.start(true);
    const token = await idTokenOf(provider, bus.caPem, "ann");
    const fetched = () => provider.requested.filter((path) => path === "/jwks").length;
    const before = fetched();
    for (let n = 0; n < 20; n++) expect((await request(timed, token)).status).toBe(401);
    expect(fetched()).toBe(before);
    clock.advance(60_000);
    const all = await Promise.all(Array.from({ length: 20 }, () => request(timed, token)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(fetched()).toBe(before + 1);
  });

  test.each([
    ["redirecting", /redirects are never followed/],
    ["huge", /a response of more than 262144 bytes/],
  ] as const)("that is %s is not believed", async (mood, message) => {
    const token = await idTokenOf(provider, bus.caPem, "ann");
    provider.mood = mood;
    await using other = await startMaster(bus, { config: configFor() });
    const { status, text } = await request(other, token);
    expect([status, text]).toEqual([503, expect.stringMatching(message)]);
  });

  test("that is silent holds nobody up for longer than 5 s, and nobody else at all", async () => {
    const token = await idTokenOf(provider, bus.caPem, "ann");
    provider.mood = "silent";
    const clock = manualClock(systemClock.now());
    await using other = await startMaster(bus, { config: configFor(), clock });
    const slow = request(other, token);
    expect((await request(other, testToken)).status).toBe(200);
    let answered = false;
    slow.finally(() => {
      answered = true;
    });
    await until(async () => {
      clock.advance(1_000);
      return answered;
    });
    expect((await slow).status).toBe(503);
  });
});

test("svc-master check fetches the keys of each provider", async () => {
  const file = join(bus.dir, "check.yaml");
  const check = async (config: object) => {
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    const results = await checkMaster({
      ...{ clock: systemClock, random: systemRandom, log: recordingLog(), hostname: "localhost" },
      argv: ["--config", file, "--bus-url", bus.url, "--bus-ca", bus.caFile, "--auth-dir", bus.authDir],
      env: { SVC_DATA_DIR: bus.dir },
    });
    return results.find(({ step }) => step === "identity providers");
  };
  expect(await check(configFor())).toMatchObject({ level: "ok", message: `${provider.issuer}: keys: 1` });
  provider.mood = "redirecting";
  expect(await check(configFor())).toMatchObject({
    level: "warn",
    message: `${provider.issuer}: a redirect (status 302); redirects are never followed`,
  });
  expect(await check({})).toMatchObject({ level: "ok", message: "none" });
});

describe("svc login --oidc", () => {
  let count = 0;
  const home = () => {
    const path = join(bus.dir, `home-${++count}`);
    mkdirSync(path, { mode: 0o700 });
    return path;
  };

  /** Signs in as a person does: the code is confirmed as soon as it is shown. */
  async function login(dir: string, scope = "openid email groups", account = "ann"): Promise<Ran> {
    const clock = manualClock(systemClock.now());
    const ran = svc(["login", "--oidc", provider.issuer, "--ca", bus.caFile, "--scope", scope], {
      clock,
      env: { HOME: dir },
    });
    let ended = false;
    ran.finally(() => {
      ended = true;
    });
    const pending = () => [...provider.codes()];
    await until(async () => ended || pending().length > 0);
    for (const code of pending()) await provider.confirm(code, account);
    // In small steps: the requests are real, and have deadlines by this clock.
    await until(async () => {
      clock.advance(200);
      return ended;
    });
    return ran;
  }

  test("keeps the token for its owner alone, and svc token print prints it", async () => {
    const dir = home();
    const ran = await login(dir);
    expect([ran.exit, ran.stdout]).toEqual([
      0,
      expect.stringContaining(`signed in at ${provider.issuer} until `),
    ]);
    expect(ran.stderr).toMatch(
      /^Open https:\/\/localhost:\d+\/device\?user_code=\S+ and confirm the code \S+\.\n$/,
    );
    const file = join(dir, ".svc", "oidc.json");
    expect([statSync(file).mode & 0o777, statSync(join(dir, ".svc")).mode & 0o777]).toEqual([0o600, 0o700]);
    const printed = await svc(["token", "print"], { env: { HOME: dir } });
    const token = printed.stdout.trim();
    runRecord.register("token", token);
    expect([printed.exit, printed.stderr]).toEqual([0, ""]);
    expect(ran.stdout + ran.stderr).not.toContain(token);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      issuer: provider.issuer,
      client_id: "svc",
    });
  });

  test("a token that ends is renewed where the provider allows it, and otherwise the command tells what to do", async () => {
    const [lasting, ending] = [home(), home()];
    expect((await login(lasting, "openid email groups offline_access")).exit).toBe(0);
    expect((await login(ending)).exit).toBe(0);
    for (const dir of [lasting, ending]) {
      const file = join(dir, ".svc", "oidc.json");
      const saved = JSON.parse(readFileSync(file, "utf8"));
      writeFileSync(file, JSON.stringify({ ...saved, expires_at: "2026-01-01T00:00:00Z", token: "old" }));
    }
    const renewed = await svc(["token", "print"], { env: { HOME: lasting } });
    expect([renewed.exit, renewed.stdout]).toEqual([
      0,
      expect.stringMatching(/^ey[\w-]+\.[\w-]+\.[\w-]+\n$/),
    ]);
    expect(readFileSync(join(lasting, ".svc", "oidc.json"), "utf8")).toContain(renewed.stdout.trim());
    expect(await svc(["token", "print"], { env: { HOME: ending } })).toEqual({
      ...{ exit: 1, stdout: "" },
      stderr: `svc: your token expired at 2026-01-01T00:00:00.000Z: sign in again with svc login --oidc ${provider.issuer}\n`,
    });
  });

  test.each<[string, string[], RegExp]>([
    [
      "an address without TLS",
      ["--oidc", "http://localhost"],
      /^svc: --oidc: expected the issuer with https:\/\//,
    ],
    ["nothing", [], /^svc: name one of: an operator file, --new, --oidc\n$/],
  ])("%s is refused", async (_, argv, message) => {
    const ran = await svc(["login", ...argv], { env: { HOME: home() } });
    expect([ran.exit, ran.stdout, ran.stderr]).toEqual([2, "", expect.stringMatching(message)]);
  });

  test("a client that the provider does not know is named", async () => {
    const argv = ["login", "--oidc", provider.issuer, "--ca", bus.caFile, "--client-id", "nobody"];
    const ran = await svc(argv, { env: { HOME: home() } });
    expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining("does not know the client nobody")]);
  });

  test("nobody is signed in at first", async () => {
    const ran = await svc(["token", "print"], { env: { HOME: home() } });
    expect([ran.exit, ran.stderr]).toEqual([1, "svc: you are not signed in: svc login --oidc ISSUER\n"]);
  });
});
