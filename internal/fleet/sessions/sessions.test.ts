import { describe, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import type { Caller, OperatorCaller } from "../operation/operation.ts";
import { judgeSession } from "./judge.ts";
import { createSessionLink, endSession, openSession, type SessionDeps, showSession } from "./operations.ts";
import type { Who } from "./record.ts";
import { csrfOf, isCsrfOf, newSecret, secretOf } from "./secret.ts";
import type { Standing } from "./who.ts";

const host = "master.example.com:8443";
const own = { "sec-fetch-site": "same-origin", origin: `https://${host}`, host };

function setUp() {
  const bucket = memoryBucket();
  const clock = manualClock();
  const log = recordingLog();
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  const standing = new Map<string, Standing>();
  const begun: string[] = [];
  const served = { now: true };
  const deps: SessionDeps = {
    ...{ bucket, mac, clock, random: systemRandom, log },
    isServed: () => served.now,
    standingOf: async ({ name }: Who) => standing.get(name) ?? { roles: ["viewer"] },
    scopesOf: (roles) =>
      roles === undefined || !roles.includes("none") ? ["jobs list", "jobs show", "console use"] : [],
    async whoShows(token) {
      if (token === "unknown") throw new SvcError("unauthorized", "a valid bearer token is required");
      return { who: { by: "token", name: `token:${token}`, token, creator: "ann" } };
    },
    whoBrings: async ({ code }) => ({
      who: { by: "oidc", name: code, issuer: "https://idp", subject: "1", roles: ["viewer"] },
    }),
    providers: () => [],
    beginAt: async () => ({ url: "https://idp", state: "s", verifier: "v" }),
    sourceOf: (address) => address,
    urls: () => [`https://${host}`],
    isOwnHost: (header) => header === host,
    async begin({ action, who }) {
      begun.push(`${action} ${who}`);
      return async ({ outcome }) => void begun.push(outcome);
    },
    metrics: { consoleSignIn() {} },
  };
  const call = (caller: Caller) => ({ caller, log, clock });
  const browser = (address = "192.0.2.1"): Caller => ({ kind: "anonymous", door: "rest", address });
  const open = (token: string, address?: string) => openSession.run(deps, { token }, call(browser(address)));
  const send = (
    secret: string,
    request: { method?: string; headers?: Record<string, string | undefined>; source?: string } = {},
  ) => {
    const headers = { ...own, cookie: `__Host-svc=${secret}`, ...request.headers };
    const given = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    );
    return judgeSession(deps, {
      method: request.method ?? "GET",
      headers: new Headers(given),
      source: request.source ?? "192.0.2.1",
    });
  };
  return { bucket, clock, log, mac, deps, standing, begun, served, call, browser, open, send };
}

const ann: OperatorCaller = { kind: "operator", name: "ann", door: "bus", roles: ["admin"], key: "UANN" };
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => "admitted",
    (thrown: SvcError) => `${thrown.kind}: ${thrown.message}`,
  );

test("a session tells who it is, what they may do, and nothing that is stored tells its cookie", async () => {
  const { open, send, bucket, begun, clock } = setUp();
  const { secret, ...view } = await open("ci");
  expect(view).toEqual({
    name: "token:ci",
    roles: ["viewer"],
    csrf: csrfOf(secret),
    signed_in_at: new Date(clock.now()).toISOString(),
    expires_at: new Date(clock.now() + 8 * 3_600_000).toISOString(),
    may: { jobs: ["list", "show"], console: ["use"] },
  });
  expect(begun).toEqual(["sessions.open token:ci", "done"]);
  expect(await send(secret)).toMatchObject({
    name: "token:ci",
    door: "console",
    roles: ["viewer"],
    bearer: { kind: "token", id: "ci", creator: "ann" },
  });
  const [key = ""] = bucket.keys;
  const kept = await bucket.get(key);
  expect(key).toBe(`session.${sha256Hex(secret)}`);
  expect(Buffer.from(kept?.value ?? []).includes(secret)).toBeFalse();
  expect(Buffer.from(kept?.value ?? []).includes(view.csrf)).toBeFalse();
});

describe("a request counts only when a page of the console made it", () => {
  const foreign = /^unauthorized: the cookie of the console counts only/;
  const forged = /^forbidden: the header X-CSRF-Token/;
  const table: [string, { method?: string; headers?: Record<string, string | undefined> }, RegExp][] = [
    ["no Sec-Fetch-Site", { headers: { "sec-fetch-site": undefined } }, foreign],
    ["cross-site", { headers: { "sec-fetch-site": "cross-site" } }, foreign],
    ["same-site", { headers: { "sec-fetch-site": "same-site" } }, foreign],
    ["none", { headers: { "sec-fetch-site": "none" } }, foreign],
    ["foreign origin", { headers: { origin: "https://evil.example.com" } }, foreign],
    ["origin of another port", { headers: { origin: "https://master.example.com" } }, foreign],
    ["origin null", { headers: { origin: "null" } }, foreign],
    ["plain origin", { headers: { origin: `http://${host}` } }, foreign],
    [
      "a host that is not this master's",
      { headers: { host: "evil.example.com:8443", origin: "https://evil.example.com:8443" } },
      /^unauthorized: the cookie of the console does not count for the host "evil.example.com:8443"/,
    ],
    ["no origin", { headers: { origin: undefined } }, /^admitted/],
    ["change without a token", { method: "POST" }, forged],
    ["DELETE without a token", { method: "DELETE" }, forged],
    ["PUT with a wrong token", { method: "PUT", headers: { "x-csrf-token": "x" } }, forged],
    ["an unknown method", { method: "PATCH" }, forged],
    ["HEAD", { method: "HEAD" }, /^admitted/],
  ];
  test.each(table)("%s", async (_, request, expected) => {
    const { open, send } = setUp();
    const { secret } = await open("ci");
    expect(await refusal(send(secret, request))).toMatch(expected);
    // Such a request ends nothing.
    expect(await send(secret)).toBeDefined();
  });

  test("a change needs the token of its own session", async () => {
    const { open, send } = setUp();
    const [mine, other] = [await open("ci"), await open("cd")];
    const change = (csrf: string) => send(mine.secret, { method: "POST", headers: { "x-csrf-token": csrf } });
    expect(await refusal(change(other.csrf))).toMatch(/^forbidden/);
    expect(await refusal(change(mine.secret))).toMatch(/^forbidden/);
    expect(await change(mine.csrf)).toMatchObject({ name: "token:ci" });
  });

  test("without a cookie of the console a request has no session", async () => {
    const { send } = setUp();
    expect(await send("", { headers: { cookie: undefined } })).toBeUndefined();
    expect(await send("", { headers: { cookie: "svc=x; __Host-svc2=y" } })).toBeUndefined();
  });
});

describe("a session ends", () => {
  test("after 8 h", async () => {
    const { open, send, clock } = setUp();
    const { secret } = await open("ci");
    clock.advance(8 * 3_600_000 - 1);
    expect(await send(secret)).toBeDefined();
    clock.advance(1);
    expect(await refusal(send(secret))).toBe(
      "unauthorized: your session has ended: sign in again at /console/",
    );
  });

  test("with the token of a provider that was shown, and none begins after its end", async () => {
    const { open, send, deps, clock } = setUp();
    const until = clock.now() + 300_000;
    const who = {
      by: "oidc",
      name: "ann@idp",
      issuer: "https://idp",
      subject: "1",
      roles: ["viewer"],
    } as const;
    deps.whoShows = async () => ({ who, until });
    const { secret, expires_at } = await open("jwt");
    expect(Date.parse(expires_at)).toBe(until);
    clock.advance(300_000);
    expect(await refusal(send(secret))).toMatch(/^unauthorized: your session has ended/);
    expect(await refusal(open("jwt"))).toMatch(/^unauthorized: the token has ended/);
  });

  test("when it is used from another address, also for its owner", async () => {
    const { open, send, bucket } = setUp();
    const { secret } = await open("ci");
    expect(await refusal(send(secret, { source: "198.51.100.7" }))).toMatch(
      /^unauthorized: your session has ended: it was used from another address/,
    );
    expect(await refusal(send(secret))).toMatch(/^unauthorized/);
    expect(bucket.keys).toEqual([]);
  });

  test("when its owner is no longer admitted", async () => {
    const { open, send, standing } = setUp();
    const { secret } = await open("ci");
    standing.set("token:ci", { refused: "the token has ended" });
    expect(await refusal(send(secret))).toMatch(/the token has ended; sign in again/);
    standing.delete("token:ci");
    expect(await refusal(send(secret))).toMatch(/^unauthorized/);
  });

  test("when it is signed out, for its copies as well", async () => {
    const { open, send, deps, call, begun } = setUp();
    const { secret } = await open("ci");
    const caller = await send(secret);
    if (caller === undefined) throw new Error("not admitted");
    await endSession.run(deps, {}, call({ kind: "operator", ...caller }));
    expect(await refusal(send(secret))).toMatch(/^unauthorized/);
    expect(begun).toEqual(["sessions.open token:ci", "done", "sessions.end token:ci", "done"]);
  });

  test("not by a token, which has none", async () => {
    const { deps, call } = setUp();
    expect(await refusal(endSession.run(deps, {}, call(ann)))).toMatch(/^not_found/);
    expect(await refusal(showSession.run(deps, {}, call(ann)))).toMatch(/^not_found/);
  });
});

test("the roles of now count, and one without a role for the console is refused", async () => {
  const { open, send, standing } = setUp();
  const { secret } = await open("ci");
  standing.set("token:ci", { roles: ["auditor"] });
  expect(await send(secret)).toMatchObject({ roles: ["auditor"] });
  standing.set("token:ci", { roles: ["none"] });
  expect(await refusal(send(secret))).toMatch(/^forbidden: token:ci \(roles none\) may not use the console/);
  expect(await refusal(open("ci"))).toMatch(/^forbidden/);
});

describe("what is stored counts only with the MAC of a master", () => {
  test("a session that another wrote, and one under another key", async () => {
    const { open, send, bucket } = setUp();
    const { secret } = await open("ci");
    const [key = ""] = bucket.keys;
    const value = (await bucket.get(key))?.value ?? new Uint8Array();
    const fields = decode(value) as Record<string, unknown>;
    const forged = newSecret(systemRandom);
    const digest = Buffer.from(sha256Hex(forged), "hex");
    await bucket.put(`session.${sha256Hex(forged)}`, encode({ ...fields, sha256: digest } as never));
    expect(await refusal(send(forged))).toMatch(/^unauthorized/);
    await bucket.put(`session.${sha256Hex(forged)}`, value);
    expect(await refusal(send(forged))).toMatch(/^unauthorized/);
    await bucket.put(key, encode({ ...fields, who: { by: "unregistered", name: "root" } } as never));
    expect(await refusal(send(secret))).toMatch(/^unauthorized/);
    await bucket.put(key, Buffer.from("not MessagePack"));
    expect(await refusal(send(secret))).toMatch(/^unauthorized/);
  });
});

describe("a link", () => {
  const linked = async (caller: Caller = ann) => {
    const all = setUp();
    const code = newSecret(systemRandom);
    const made = await createSessionLink.run(all.deps, { digest: sha256Hex(code) }, all.call(caller));
    const use = (link = code) => openSession.run(all.deps, { link }, all.call(all.browser()));
    return { ...all, code, made, use };
  };

  test("signs in once", async () => {
    const { use, made, clock, send } = await linked();
    expect(made).toEqual({
      urls: [`https://${host}/console/`],
      expires_at: new Date(clock.now() + 60_000).toISOString(),
    });
    const { name, secret } = await use();
    expect(name).toBe("ann");
    expect(await send(secret)).toMatchObject({ name: "ann", bearer: { kind: "operator" } });
    expect(await refusal(use())).toMatch(/^unauthorized: the link was used, or is older than 60 s/);
  });

  test("of another person than the one who is signed in is refused, and stays good", async () => {
    const { deps, call, browser, code, use } = await linked();
    const useAs = (name: string) =>
      openSession.run(deps, { link: code, signed_in_as: name }, call(browser()));
    expect(await refusal(useAs("ben"))).toMatch(
      /^conflict: the link signs in ann, and ben is signed in here/,
    );
    expect((await useAs("ann")).name).toBe("ann");
    expect(await refusal(use())).toMatch(/^unauthorized/);
  });

  test("signs in one of two browsers that use it at once", async () => {
    const { use } = await linked();
    const outcomes = await Promise.all([refusal(use()), refusal(use())]);
    expect(outcomes.filter((one) => one === "admitted")).toHaveLength(1);
  });

  test("is good for 60 s", async () => {
    const { use, clock } = await linked();
    clock.advance(60_000);
    expect(await refusal(use())).toMatch(/^unauthorized/);
  });

  test("is not a session, and a session is not a link", async () => {
    const { code, send, open, use } = await linked();
    expect(await refusal(send(code))).toMatch(/^unauthorized/);
    const { secret } = await open("ci");
    expect(await refusal(use(secret))).toMatch(/^unauthorized/);
  });

  const bearers: [string, OperatorCaller, RegExp][] = [
    ["a token of a file", { ...ann, door: "rest", bearer: { kind: "file" } }, /^forbidden/],
    [
      "a person of a provider",
      { ...ann, door: "rest", bearer: { kind: "oidc", issuer: "x", subject: "1" } },
      /^forbidden/,
    ],
    ["a token", { ...ann, door: "rest", bearer: { kind: "token", id: "t", creator: "ann" } }, /^admitted/],
    ["credentials of nobody who is registered", { kind: "operator", name: "old", door: "bus" }, /^admitted/],
    [
      "a name with roles and without a key",
      { kind: "operator", name: "x", door: "bus", roles: [] },
      /^forbidden/,
    ],
  ];
  test.each(bearers)("is made by %s or not", async (_, caller, expected) => {
    expect(await refusal(linked(caller))).toMatch(expected);
  });

  test("is not made by a session, which would outlive itself", async () => {
    const { open, send, deps, call } = setUp();
    const { secret } = await open("ci");
    const caller = await send(secret);
    if (caller === undefined) throw new Error("not admitted");
    expect(await refusal(createSessionLink.run(deps, {}, call({ kind: "operator", ...caller })))).toMatch(
      /outlive/,
    );
  });

  test("does not cross the bus", async () => {
    const { deps, call } = setUp();
    expect(await refusal(createSessionLink.run(deps, {}, call(ann)))).toMatch(
      /^bad_request: digest is required/,
    );
    const token: OperatorCaller = {
      ...ann,
      door: "rest",
      bearer: { kind: "token", id: "t", creator: "ann" },
    };
    expect(await createSessionLink.run(deps, {}, call(token))).toMatchObject({
      link: expect.stringMatching(/^.{43}$/),
    });
  });
});

test("a person signs out everywhere: sessions and links of others stay", async () => {
  const { open, send, deps, call, browser, begun } = setUp();
  const [mine, elsewhere, others] = [await open("ci"), await open("ci"), await open("cd")];
  const caller: OperatorCaller = {
    ...{ kind: "operator", name: "token:ci", door: "rest", roles: ["viewer"] },
    bearer: { kind: "token", id: "ci", creator: "ann" },
  };
  const { link } = await createSessionLink.run(deps, {}, call(caller));
  const here = await send(mine.secret);
  if (here === undefined) throw new Error("not admitted");
  begun.length = 0;
  await endSession.run(deps, { everywhere: "yes" }, call({ kind: "operator", ...here }));
  expect(begun).toEqual(Array.from({ length: 3 }, () => ["sessions.end token:ci", "done"]).flat());
  for (const { secret } of [mine, elsewhere]) expect(await refusal(send(secret))).toMatch(/^unauthorized/);
  expect(await refusal(openSession.run(deps, { link }, call(browser())))).toMatch(/^unauthorized/);
  expect(await send(others.secret)).toBeDefined();
});

test("of one operator the oldest session gives way, and those of others stay", async () => {
  const { open, send } = setUp();
  const other = await open("cd");
  const secrets: string[] = [];
  for (let at = 0; at < 17; at++) secrets.push((await open("ci")).secret);
  expect(await refusal(send(secrets[0] ?? ""))).toMatch(/^unauthorized/);
  expect(await send(secrets[1] ?? "")).toBeDefined();
  expect(await send(other.secret)).toBeDefined();
});

test("a bucket that was lost with the bus is made again by the next sign-in", async () => {
  const { open, send, bucket } = setUp();
  const { secret } = await open("ci");
  const { create, entries } = bucket;
  let isThere = false;
  for (const key of bucket.keys) await bucket.remove(key, (await bucket.get(key))?.revision ?? 0);
  Object.assign(bucket, {
    create(key: string, value: Uint8Array) {
      isThere = true;
      return create(key, value);
    },
    async entries() {
      if (!isThere) throw new SvcError("storage", "the bucket sessions: stream not found");
      return entries();
    },
  });
  expect(await refusal(send(secret))).toMatch(/^unauthorized/);
  expect(await send((await open("ci")).secret)).toBeDefined();
});

test("where the console is not served nobody signs in", async () => {
  const { open, served, deps, call } = setUp();
  served.now = false;
  expect(await refusal(open("ci"))).toMatch(/^not_found: this master does not serve the console/);
  const digest = sha256Hex("x");
  expect(await refusal(createSessionLink.run(deps, { digest }, call(ann)))).toMatch(/^not_found/);
});

test("a sign-in that cannot be recorded does not happen", async () => {
  const { deps, call, browser, bucket } = setUp();
  deps.begin = async () => {
    throw new SvcError("unavailable", "the audit cannot be written");
  };
  expect(await refusal(openSession.run(deps, { token: "ci" }, call(browser())))).toMatch(/^unavailable/);
  expect(bucket.keys).toEqual([]);
});

test("exactly one way to sign in", async () => {
  const { deps, call, browser } = setUp();
  const open = (input: object) => refusal(openSession.run(deps, input, call(browser())));
  expect(await open({})).toMatch(/^bad_request/);
  expect(await open({ token: "ci", link: "x" })).toMatch(/^bad_request/);
});

test("a cookie is read from its own name alone, and two of them do not count", () => {
  expect(secretOf("a=b; __Host-svc=x; c=d")).toBe("x");
  expect(secretOf("__Host-svc=x; __Host-svc=y")).toBeUndefined();
  expect(secretOf("svc=x")).toBeUndefined();
  expect(secretOf(null)).toBeUndefined();
  expect(isCsrfOf("x", null)).toBeFalse();
});
