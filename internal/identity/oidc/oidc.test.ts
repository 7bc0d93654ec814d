import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { discoveryUrl } from "./discover.ts";
import { parseKeySet } from "./key-set.ts";
import type { Provider } from "./provider.ts";
import { createOidc } from "./verify.ts";

const issuer = "https://idp.example.com/realms/ops";
const provider: Provider = {
  issuer,
  audience: "svc",
  role_claims: [
    { claim: "groups", value: "ops", role: "operator" },
    { claim: "sub", value: "repo:acme/web:ref:refs/heads/main", role: "deployer" },
    { claim: "realm_access.roles", value: "look", role: "viewer" },
  ],
};

type Algorithm = "RS256" | "ES256" | "EdDSA" | "RS512" | "PS256";
const keys = new Map<string, { sign: CryptoKey; jwk: JWK; pem: string }>();
/** A key pair, made once for each name. */
async function keyOf(kid: string, alg: Algorithm = "RS256") {
  const known = keys.get(kid);
  if (known !== undefined) return known;
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
  const made = { sign: privateKey, jwk, pem: await exportSPKI(publicKey) };
  keys.set(kid, made);
  return made;
}

async function setUp(options: { kids?: readonly string[]; providers?: readonly Provider[] } = {}) {
  const directory = temporaryDirectory("oidc");
  const clock = manualClock();
  const log = recordingLog();
  const state = {
    kids: options.kids ?? ["rsa"],
    fetched: [] as string[],
    /** Replaces the answers of the provider. */
    answer: undefined as undefined | ((url: string) => Promise<string>),
  };
  const documents = async (url: string): Promise<string> => {
    const jwks_uri = "https://keys.example.com/jwks";
    if (url === jwks_uri) {
      return JSON.stringify({
        keys: await Promise.all(state.kids.map(async (kid) => (await keyOf(kid)).jwk)),
      });
    }
    if (url === discoveryUrl(issuer)) return JSON.stringify({ issuer, jwks_uri, more: 1 });
    throw new SvcError("unavailable", `status 404 for ${url}`);
  };
  const start = () =>
    createOidc({
      providers: options.providers ?? [provider],
      keysDir: join(directory.path, "keys"),
      get(url) {
        state.fetched.push(url);
        return (state.answer ?? documents)(url);
      },
      clock,
      log,
      signal: new AbortController().signal,
    });
  return {
    oidc: start(),
    start,
    state,
    clock,
    log,
    directory,
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

const now = Date.UTC(2026, 0, 1) / 1000;
const usual = {
  iss: issuer,
  aud: "svc",
  sub: "1234",
  email: "ann@example.com",
  email_verified: true,
  groups: ["ops"],
  iat: now,
  exp: now + 600,
};

async function token(
  claims: Record<string, unknown> = {},
  { kid = "rsa", alg = "RS256", header = {} }: { kid?: string; alg?: Algorithm; header?: object } = {},
): Promise<string> {
  const { sign } = await keyOf(kid, alg);
  const all = Object.fromEntries(
    Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
  );
  return new SignJWT(all as JWTPayload).setProtectedHeader({ alg, kid, ...header }).sign(sign);
}

test.each(["RS256", "ES256", "EdDSA"] as const)("a token that is signed with %s counts", async (alg) => {
  const kid = `good-${alg}`;
  await keyOf(kid, alg);
  using at = await setUp({ kids: [kid] });
  expect(await at.oidc.verify(await token({}, { kid, alg }))).toEqual({
    name: "ann@example.com@idp.example.com/realms/ops",
    roles: ["operator"],
    issuer,
    subject: "1234",
  });
});

const withSecret = async (alg: "HS256" | "HS512", secret: string) =>
  new SignJWT(usual).setProtectedHeader({ alg, kid: "rsa" }).sign(Buffer.from(secret));
const [header = "", payload = "", signature = ""] = (await token()).split(".");
const changed = (claims: object) =>
  Buffer.from(JSON.stringify({ ...usual, ...claims })).toString("base64url");
const headed = (fields: object) => Buffer.from(JSON.stringify(fields)).toString("base64url");

test.each<[string, () => Promise<string> | string, string]>([
  ["alg none", () => new UnsecuredJWT(usual).encode(), "a JWT without a signature"],
  [
    "alg none with a signature",
    () => `${headed({ alg: "none" })}.${payload}.${signature}`,
    "must be signed with",
  ],
  ["alg NONE", () => `${headed({ alg: "NONE", kid: "rsa" })}.${payload}.${signature}`, "must be signed with"],
  [
    "HS256 with the public key",
    async () => withSecret("HS256", (await keyOf("rsa")).pem),
    "must be signed with",
  ],
  [
    "HS256 with its modulus",
    async () => withSecret("HS256", (await keyOf("rsa")).jwk.n ?? ""),
    "must be signed with",
  ],
  ["HS512", () => withSecret("HS512", "secret".repeat(20)), "must be signed with"],
  ["RS512", () => token({}, { kid: "rs512", alg: "RS512" }), "must be signed with RS256, ES256, EdDSA"],
  ["PS256", () => token({}, { kid: "ps256", alg: "PS256" }), "must be signed with"],
  [
    "a key in the header",
    async () => token({}, { kid: "mine", header: { jwk: (await keyOf("mine")).jwk } }),
    "not known there",
  ],
  [
    "a key behind an address",
    () => token({}, { kid: "mine", header: { jku: "https://evil/jwks" } }),
    "not known there",
  ],
  [
    "the key id of a right key",
    async () => {
      const { sign } = await keyOf("mine");
      return new SignJWT(usual).setProtectedHeader({ alg: "RS256", kid: "rsa" }).sign(sign);
    },
    "is not valid: sign in again: svc login --oidc https://idp.example.com/realms/ops",
  ],
  [
    "another algorithm with the key id of a right key",
    async () => {
      const { sign } = await keyOf("es", "ES256");
      return new SignJWT(usual).setProtectedHeader({ alg: "ES256", kid: "rsa" }).sign(sign);
    },
    "not known there",
  ],
  [
    "changed claims",
    () => `${header}.${changed({ groups: ["ops"], sub: "x" })}.${signature}`,
    "is not valid",
  ],
  [
    "another header",
    () => `${headed({ alg: "RS256", kid: "rsa", x: 1 })}.${payload}.${signature}`,
    "is not valid",
  ],
  [
    "an unknown critical header",
    () =>
      token({}, { header: { crit: ["x"], x: 1 } }).catch(
        () => `${headed({ alg: "RS256", kid: "rsa", crit: ["x"], x: 1 })}.${payload}.${signature}`,
      ),
    "is not valid",
  ],
  ["a cut signature", () => `${header}.${payload}.${signature.slice(0, -4)}`, "is not valid"],
  ["a logout token", () => token({}, { header: { typ: "logout+jwt" } }), "has another type"],
  ["another audience", () => token({ aud: "other" }), "is for another audience than svc"],
  ["no audience", () => token({ aud: undefined }), "is for another audience"],
  ["an audience that contains it", () => token({ aud: "svc2" }), "is for another audience"],
  ["another client", () => token({ azp: "other" }), "was made for another client than svc (azp)"],
  ["a client that is a list", () => token({ azp: ["svc"] }), "was made for another client than svc (azp)"],
  ["no time of its making", () => token({ iat: undefined }), "has no valid claim iat"],
  ["one of tomorrow", () => token({ iat: now + 31 }), "was made in the future (iat): check the clocks"],
  [
    "one for longer than a day",
    () => token({ exp: now + 86_401 }),
    "is valid for longer than 24h: let the provider",
  ],
  ["no end", () => token({ exp: undefined }), "has no valid claim exp"],
  ["an end that is a text", () => token({ exp: "9999999999" }), "has no valid claim exp"],
  [
    "expired",
    () => token({ exp: now - 31 }),
    "expired at 2025-12-31T23:59:29.000Z: sign in again: svc login",
  ],
  ["not valid yet", () => token({ nbf: now + 31 }), "is not valid yet: check the clocks"],
  [
    "another issuer",
    () => token({ iss: "https://evil.example.com" }),
    'does not accept tokens of "https://evil.example.com"',
  ],
  ["the issuer with a slash", () => token({ iss: `${issuer}/` }), "does not accept tokens of"],
  ["no issuer", () => token({ iss: undefined }), 'does not accept tokens of ""'],
])("%s is refused", async (what, make, message) => {
  using at = await setUp();
  const made = await make();
  if (what === "alg none") return expect(await at.oidc.verify(made)).toBeUndefined();
  await expect(at.oidc.verify(made)).rejects.toMatchObject({
    kind: "unauthorized",
    message: expect.stringContaining(message),
  });
});

test.each([
  "",
  "a",
  "a.b.c",
  "..",
  `svct_${"a".repeat(43)}`,
  `${"a".repeat(4000)}.${"b".repeat(4000)}.${"c".repeat(4000)}`,
])("what is not a JWT has another kind: %#", async (text) => {
  using at = await setUp();
  expect(await at.oidc.verify(text)).toBeUndefined();
  expect(at.state.fetched).toEqual([]);
});

test("30 s of leeway, and no more", async () => {
  using at = await setUp();
  expect(await at.oidc.verify(await token({ exp: now - 29, nbf: now + 30 }))).toBeDefined();
  expect(await at.oidc.verify(await token({ aud: ["other", "svc"], azp: "svc" }))).toBeDefined();
  expect(await at.oidc.verify(await token({ iat: now + 30, exp: now + 86_400 }))).toBeDefined();
});

test("a provider may have a client of its own, and tokens that are valid for longer", async () => {
  using at = await setUp({ providers: [{ ...provider, client_id: "console", max_age: 2 * 86_400_000 }] });
  expect(await at.oidc.verify(await token({ azp: "console", exp: now + 2 * 86_400 }))).toBeDefined();
  await expect(at.oidc.verify(await token({ exp: now + 2 * 86_400 + 1 }))).rejects.toThrow("longer than 2d");
});

test("a token without a subject is refused", async () => {
  const named = { ...provider, username_claim: "login" };
  using at = await setUp({ providers: [named] });
  expect(await at.oidc.verify(await token({ login: "ann" }))).toMatchObject({ subject: "1234" });
  await expect(at.oidc.verify(await token({ login: "ann", sub: undefined }))).rejects.toThrow("no claim sub");
});

test("a storm of unknown keys is one fetch a minute, and does not lock out those with known keys", async () => {
  using at = await setUp();
  const { oidc, state, clock } = at;
  await oidc.renew();
  expect(state.fetched).toHaveLength(2);
  const [good, strange] = [await token(), await token({}, { kid: "strange" })];
  for (let second = 0; second < 150; second++) {
    const requested = Array.from({ length: 20 }, () =>
      oidc.verify(strange).catch((thrown) => thrown.message),
    );
    expect(new Set(await Promise.all(requested)).size).toBe(1);
    expect(await oidc.verify(good)).toBeDefined();
    clock.advance(1_000);
  }
  // Discovery and keys, at the start, after one and after two minutes.
  expect(state.fetched).toHaveLength(6);
});

test("a key that the provider has begun to use is found without a restart", async () => {
  using at = await setUp();
  const { oidc, state, clock } = at;
  await oidc.renew();
  state.kids = ["rsa", "rotated"];
  clock.advance(60_000);
  expect(await oidc.verify(await token({}, { kid: "rotated" }))).toMatchObject({ roles: ["operator"] });
  // Withdrawn keys count for an hour at most.
  state.kids = ["rotated"];
  clock.advance(3_600_000);
  const [old, exp] = ["rsa", now + 10_000];
  await oidc.verify(await token({ exp }, { kid: old }));
  await until(() => state.fetched.length === 6);
  await settle();
  await expect(oidc.verify(await token({ exp }, { kid: old }))).rejects.toThrow("not known there");
});

async function until(check: () => boolean) {
  for (let turn = 0; turn < 1_000 && !check(); turn++) await settle();
  expect(check()).toBe(true);
}

test("a provider that is down does not lock out those with known keys, also after a restart, for a week", async () => {
  using at = await setUp({ providers: [{ ...provider, max_age: 60 * 86_400_000 }] });
  const { oidc, state, clock, start, log } = at;
  await oidc.renew();
  state.answer = () => Promise.reject(new SvcError("unavailable", "connection refused"));
  const exp = now + 30 * 24 * 3_600;
  const good = await token({ exp });
  for (const later of [oidc, start()]) {
    expect(await later.verify(good)).toBeDefined();
    clock.advance(3 * 24 * 3_600_000);
    expect(await later.verify(good)).toBeDefined();
    await settle();
  }
  clock.advance(24 * 3_600_000);
  await expect(start().verify(good)).rejects.toMatchObject({
    kind: "unavailable",
    message: "the keys of idp.example.com are not known: connection refused; try again in a minute",
  });
  expect(
    log.records.some(({ event }) => event === "the keys of an identity provider cannot be fetched"),
  ).toBe(true);
  state.answer = undefined;
  expect(await start().verify(good)).toBeDefined();
});

test("the kept keys are public, in a file of their owner, and a damaged file stops nobody", async () => {
  using at = await setUp();
  await at.oidc.renew();
  const dir = join(at.directory.path, "keys");
  const [file = ""] = readdirSync(dir);
  const path = join(dir, file);
  expect([statSync(dir).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(Object.keys(JSON.parse(readFileSync(path, "utf8")).keys[0]).sort()).toEqual([
    "alg",
    "e",
    "kid",
    "kty",
    "n",
    "use",
  ]);
  for (const text of [
    "",
    "{",
    "[]",
    '{"issuer":"https://other","fetched_at":"2026-01-01T00:00:00Z","keys":[]}',
  ]) {
    writeFileSync(path, text);
    expect(await at.start().verify(await token())).toBeDefined();
  }
  chmodSync(path, 0o600);
});

test.each<[string, (url: string) => string, string]>([
  [
    "another issuer",
    () => JSON.stringify({ issuer: "https://x", jwks_uri: "https://x/" }),
    'names the issuer "https://x"',
  ],
  [
    "keys without TLS",
    () => JSON.stringify({ issuer, jwks_uri: "http://x/" }),
    "has no jwks_uri with https://",
  ],
  ["no JSON", () => "<html>", "is not JSON"],
  [
    "no keys",
    (url) => (url === discoveryUrl(issuer) ? JSON.stringify({ issuer, jwks_uri: "https://x/" }) : "{}"),
    "not a set of at most 64 keys",
  ],
])("a provider that answers with %s is not believed", async (_, answer, message) => {
  using at = await setUp();
  at.state.answer = async (url) => answer(url);
  await expect(at.oidc.verify(await token())).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining(message),
  });
});

test("of a set, only public keys that can be used are kept", async () => {
  const { jwk } = await keyOf("rsa");
  expect(
    parseKeySet({ keys: [{ ...jwk, d: "secret" }, { kty: "oct", k: "c2VjcmV0" }, null, { kty: "RSA" }] }),
  ).toEqual([jwk as never]);
  for (const keys of [
    [],
    [{ kty: "oct", k: "c2VjcmV0" }],
    [{ ...jwk, e: "AQAB".repeat(3) }],
    [{ ...jwk, n: "A".repeat(1_401) }],
    Array.from({ length: 65 }, () => jwk),
  ]) {
    expect(() => parseKeySet({ keys })).toThrow();
  }
});

test("a person without a role learns who can give one", async () => {
  using at = await setUp();
  await expect(at.oidc.verify(await token({ groups: [] }))).rejects.toMatchObject({
    kind: "forbidden",
    message:
      "ann@example.com@idp.example.com/realms/ops has no role here: no claim of your token matches; who configures this master can give one (api.oidc, role_claims)",
  });
});

test("each of several providers judges its own tokens alone", async () => {
  const other: Provider = { ...provider, issuer: "https://other.example.com", audience: "svc" };
  using at = await setUp({ providers: [provider, other] });
  expect(await at.oidc.verify(await token())).toMatchObject({ issuer });
  await expect(at.oidc.verify(await token({ iss: other.issuer }))).rejects.toMatchObject({
    kind: "unavailable",
  });
});

test("whatever is presented is refused in one line, or is exactly what the provider signed", async () => {
  using at = await setUp();
  const good = await token();
  const expected = await at.oidc.verify(good);
  const judged = async (text: string) => {
    try {
      return await at.oidc.verify(text);
    } catch (thrown) {
      if (!(thrown instanceof SvcError) || thrown.message.includes("\n")) throw thrown;
      return undefined;
    }
  };
  const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\u0000é";
  const change = fc.record({
    at: fc.nat(good.length - 1),
    to: fc.constantFrom(...characters),
    how: fc.constantFrom("replace", "insert", "cut"),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ at: place, to, how }) => {
      const rest = good.slice(how === "insert" ? place : place + 1);
      const found = await judged(good.slice(0, place) + (how === "cut" ? "" : to) + rest);
      expect(found === undefined || Bun.deepEquals(found, expected)).toBe(true);
    }),
    { numRuns: 300 },
  );
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json().map((text) => Buffer.from(text).toString("base64url")),
    fc.constantFrom(
      header,
      payload,
      signature,
      headed({ alg: "RS256", kid: "rsa" }),
      changed({ exp: 1e300 }),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
      const text = parts.join(".");
      expect(text === `${header}.${payload}.${signature}` || (await judged(text)) === undefined).toBe(true);
    }),
    { numRuns: 300 },
  );
});
