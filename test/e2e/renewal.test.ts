import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { send } from "../harness/client.ts";
import { metricBecomes } from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import {
  byKey,
  keyOf,
  newBusKey,
  recoverOver,
  rekeyOf,
  renewalOf,
  requestOverBus,
  withCredentials,
} from "../harness/renewal.ts";

// New credentials on a real bus with two masters: renewed, recovered, with new keys, revoked, and held twice. The
// claims of the accounts lack what this version uses when the masters start, as after an upgrade.

setDefaultTimeout(60_000);

const added = ["svc.peel.*.renew", "svc.peel.*.rekey"];

let bus: TestBus;
/** What masters tell as the keys of a succession. */
const recoveryKeys = () => [readFileSync(join(bus.authDir, "recovery.pub"), "utf8").trim()];
let master: TestMaster;
let other: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  await takeAway(bus);
  // Both at once, as after an upgrade of the packages.
  [master, other] = await Promise.all([startMaster(bus), startMaster(bus)]);
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const subOf = (bus: TestBus, name: string) =>
  readClaims(readFileSync(join(bus.authDir, `${name}.jwt`), "utf8")).sub;

async function heldBy(bus: TestBus, name: string) {
  const system = await connectTo(bus, "system");
  try {
    const subject = `$SYS.REQ.ACCOUNT.${subOf(bus, name)}.CLAIMS.LOOKUP`;
    return readClaims((await system.nats.request(subject, "", { timeout: 30_000 })).string());
  } finally {
    await system.nats.close();
  }
}

/** Takes exports and imports away, as in claims of a version that had fewer. */
async function takeAway(bus: TestBus): Promise<void> {
  const signer = keyPairFromSeed(
    "operator",
    readFileSync(join(bus.authDir, "operator-signing.seed"), "utf8"),
  );
  const system = await connectTo(bus, "system");
  for (const [name, field] of [
    ["account", "imports"],
    ["masters", "exports"],
  ] as const) {
    const claims = readClaims(readFileSync(join(bus.authDir, `${name}.jwt`), "utf8"));
    const listed = claims.nats[field] as { subject: string }[];
    const nats = { ...claims.nats, [field]: listed.filter(({ subject }) => !added.includes(subject)) };
    const made = { type: "account", name: claims.name, subject: claims.sub, nats } as const;
    const jwt = encodeJwt({ ...made, issuedAt: claims.iat + 2 }, signer);
    await system.nats.request("$SYS.REQ.CLAIMS.UPDATE", jwt, { timeout: 30_000 });
  }
  await system.nats.close();
}

const currentKey = (peel: EnrolledPeel) => parseCredentials(peel.credentials).key.publicKey;

async function recordOf(peel: EnrolledPeel): Promise<Record<string, unknown>> {
  const { stdout } = await cli(bus, "enroll", "show", peel.enrollmentId, "--output", "json");
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function isAdmitted(peel: EnrolledPeel): Promise<boolean> {
  return connectPeel(bus, peel)
    .then((connection) => connection[Symbol.asyncDispose]())
    .then(
      () => true,
      () => false,
    );
}

/** Renews once and returns the peel with its new credentials. */
async function renewOnce(peel: EnrolledPeel): Promise<EnrolledPeel> {
  const next = newBusKey();
  const reply = await requestOverBus(
    bus,
    peel,
    "renew",
    renewalOf(peel, { renews: currentKey(peel), to: next.publicKey }),
  );
  expect(reply).toMatchObject({ ok: true });
  return withCredentials(peel, reply.jwt, next);
}

test("masters extend claims that lack what this version uses, once, and keep everything else of them", async () => {
  const [peels, masters] = [await heldBy(bus, "account"), await heldBy(bus, "masters")];
  const names = (list: unknown) => (list as { subject: string }[]).map(({ subject }) => subject);
  expect(names(masters.nats.exports)).toEqual(expect.arrayContaining(added));
  expect(names(peels.nats.imports)).toEqual(expect.arrayContaining(added));
  expect(new Set(names(masters.nats.exports)).size).toBe(names(masters.nats.exports).length);
  const { exports: _, ...rest } = masters.nats;
  const { exports: __, ...made } = readClaims(readFileSync(join(bus.authDir, "masters.jwt"), "utf8")).nats;
  expect(rest).toEqual(made as typeof rest);
  // A third master finds nothing to do.
  await using _third = await startMaster(bus);
  expect((await heldBy(bus, "masters")).iat).toBe(masters.iat);
});

test("a peel renews its credentials on the bus, and both JWTs are good until they end", async () => {
  const peel = await enrollPeel(master, "renews-1");
  const next = newBusKey();
  const request = renewalOf(peel, { renews: currentKey(peel), to: next.publicKey });
  const reply = await requestOverBus(bus, peel, "renew", request);
  expect(reply).toEqual({
    ok: true,
    jwt: expect.any(String),
    expires_at: expect.stringMatching(/Z$/),
    command_keys: peel.commandKeys,
    recovery_keys: recoveryKeys(),
    ...{ administrators: [], administrators_version: 0 },
  });
  expect(readClaims(reply.jwt ?? "")).toMatchObject({ sub: next.publicKey, name: "renews-1" });
  const renewed = withCredentials(peel, reply.jwt, next);
  expect([await isAdmitted(peel), await isAdmitted(renewed)]).toEqual([true, true]);
  // The answer got lost: the same again, also from the other master.
  for (let i = 0; i < 4; i++) {
    const again = await requestOverBus(bus, peel, "renew", request);
    expect(readClaims(again.jwt ?? "").exp).toBe(readClaims(reply.jwt ?? "").exp);
  }
  const { jwt: _, ...reported } = await recordOf(peel);
  expect(reported).toMatchObject({
    ...{ renewals: 1, bus_public_key: next.publicKey, creds_expires_at: reply.expires_at },
    bus_keys: [
      { public_key: currentKey(peel) },
      { public_key: next.publicKey, expires_at: reply.expires_at },
    ],
  });
  await renewOnce(renewed);
});

test("a revocation closes and refuses every key of the peel", async () => {
  const first = await enrollPeel(master, "renews-2");
  const second = await renewOnce(first);
  const third = await renewOnce(second);
  const connections = await Promise.all([first, second, third].map((peel) => connectPeel(bus, peel)));
  const closed = connections.map(({ nats }) => nats.closed());
  const reply = await operate(master, first.enrollmentId, "revoke");
  expect([reply.status, reply.json]).toMatchObject([200, { state: "revoked", bus_keys: [] }]);
  for (const connection of connections) await connection[Symbol.asyncDispose]();
  await Promise.all(closed);
  expect(await Promise.all([first, second, third].map(isAdmitted))).toEqual([false, false, false]);
});

test("a suspension ends all connections, and its end admits all keys again", async () => {
  const first = await enrollPeel(master, "renews-3");
  const second = await renewOnce(first);
  await operate(master, first.enrollmentId, "suspend", { reason: "test" });
  expect([await isAdmitted(first), await isAdmitted(second)]).toEqual([false, false]);
  // No way back past the suspension.
  expect((await recoverOver(master, first, newBusKey().publicKey)).status).toBe(503);
  await operate(master, first.enrollmentId, "resume");
  expect([await isAdmitted(first), await isAdmitted(second)]).toEqual([true, true]);
});

test("refusals have the codes of the interface", async () => {
  const peel = await enrollPeel(master, "refused-1");
  const victim = await enrollPeel(master, "refused-2");
  const good = () => renewalOf(peel, { renews: currentKey(peel), to: newBusKey().publicKey });
  const old = new Date(systemClock.now() - 301_000).toISOString();
  const cases: [string, "renew" | "rekey", unknown][] = [
    ["bad_request", "renew", encode([1])],
    ["bad_request", "renew", { ...good(), renews: 1 }],
    ["bad_request", "renew", { ...good(), filler: "x".repeat(4_000) }],
    ["bad_request", "renew", { ...good(), bus_public_key: `${"U".repeat(56)}` }],
    ["unauthorized", "renew", { ...good(), signature: new Uint8Array(64) }],
    [
      "unauthorized",
      "renew",
      renewalOf(peel, { renews: currentKey(peel), to: newBusKey().publicKey, signedAt: old }),
    ],
    ["not_found", "renew", { ...good(), enrollment_id: `enr-${"1".repeat(27)}` }],
    ["forbidden", "renew", renewalOf(victim, { renews: currentKey(victim), to: newBusKey().publicKey })],
    [
      "clone_suspected",
      "renew",
      renewalOf(peel, { renews: newBusKey().publicKey, to: newBusKey().publicKey }),
    ],
    ["bad_request", "rekey", {}],
    [
      "unauthorized",
      "rekey",
      { ...rekeyOf(peel, newBusKey(), newBusKey().publicKey), signature_old: new Uint8Array(64) },
    ],
  ];
  for (const [code, verb, request] of cases) {
    expect([code, verb, await requestOverBus(bus, peel, verb, request)]).toMatchObject([
      code,
      verb,
      { ok: false, error: { code, message: expect.any(String) } },
    ]);
  }
  let current = peel;
  for (let i = 0; i < 6; i++) current = await renewOnce(current);
  const seventh = renewalOf(current, { renews: currentKey(current), to: newBusKey().publicKey });
  expect(await requestOverBus(bus, current, "renew", seventh)).toMatchObject({
    error: { code: "rate_limited" },
  });
});

test("whatever is sent, it is answered, and the master serves on", async () => {
  const peel = await enrollPeel(master, "fuzz-1");
  await using connection = await connectPeel(bus, peel);
  const good = renewalOf(peel, { renews: currentKey(peel), to: newBusKey().publicKey });
  const rekeyed = rekeyOf(peel, newBusKey(), newBusKey().publicKey);
  const value = fc.oneof(
    fc.anything({ maxDepth: 2, withNullPrototype: false }).filter(isEncodable),
    fc.uint8Array({ maxLength: 80 }),
    fc.constantFrom("__proto__", "enr-*", "U", newBusKey().publicKey),
  );
  const requests = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .constantFrom(good, rekeyed)
      .chain((base) =>
        fc
          .dictionary(fc.constantFrom(...Object.keys(base)), value, { minKeys: 1 })
          .map((change) => encode({ ...base, ...change })),
      ),
  );
  const codes = /^(bad_request|unauthorized|not_found|forbidden|clone_suspected|rate_limited)$/;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("renew", "rekey"), requests, async (verb, bytes) => {
      const answer = await connection.nats.request(`svc.peel.fuzz-1.${verb}`, bytes, { timeout: 30_000 });
      const { error } = decode(answer.data) as { error?: { code: string } };
      expect(error?.code).toMatch(codes);
    }),
    { numRuns: 150 },
  );
  expect((await recordOf(peel)).renewals).toBeUndefined();
});

function isEncodable(value: unknown): value is Plain {
  try {
    return encode(value).length < 1_000;
  } catch {
    return false;
  }
}

test("two masters that renew one peel at once leave one record, and both answers are good", async () => {
  const peel = await enrollPeel(master, "race-1");
  const next = newBusKey();
  const request = encode(renewalOf(peel, { renews: currentKey(peel), to: next.publicKey }));
  await using connection = await connectPeel(bus, peel);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      connection.nats.request("svc.peel.race-1.renew", request, { timeout: 30_000 }),
    ),
  );
  const jwts = answers.flatMap(
    ({ data }) => /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(Buffer.from(data).toString("latin1")) ?? [],
  );
  expect(jwts.length).toBeGreaterThanOrEqual(2);
  for (const jwt of jwts) expect(await isAdmitted(withCredentials(peel, jwt, next))).toBe(true);
  expect(await recordOf(peel)).toMatchObject({ renewals: 1, bus_public_key: next.publicKey });
  expect(await recordOf(peel)).not.toHaveProperty("CloneSuspected");
});

test("a copied host is marked and reported; the first one continues, and an operator takes the mark away", async () => {
  const peel = await enrollPeel(master, "copied-1");
  const renewed = await renewOnce(peel);
  // The copy has the seed and the first credentials.
  const reply = await requestOverBus(
    bus,
    peel,
    "renew",
    renewalOf(peel, { renews: currentKey(peel), to: newBusKey().publicKey }),
  );
  expect(reply).toMatchObject({ ok: false, error: { code: "clone_suspected" } });
  expect(await recordOf(peel)).toMatchObject({
    state: "issued",
    CloneSuspected: true,
    clone_seen_at: expect.any(String),
  });
  const logged = [master, other].flatMap(({ records }) =>
    records.filter(({ event }) => event === "enrollment.clone.suspected"),
  );
  expect(logged.filter(({ fields }) => fields.peel_id === "copied-1")).toHaveLength(1);
  const listed = await cli(bus, "enroll", "list", "--state", "issued");
  expect(listed.stdout).toMatch(/copied-1.*CLONE!/);
  const again = await renewOnce(renewed);
  const cleared = await cli(bus, "enroll", "clear-clone", peel.enrollmentId);
  expect([cleared.exit, cleared.stderr]).toEqual([0, ""]);
  expect(await recordOf(peel)).not.toHaveProperty("CloneSuspected");
  const twice = await operate(master, peel.enrollmentId, "clear-clone");
  expect(twice.status).toBe(409);
  await renewOnce(again);
});

test("with enroll.on_clone revoke the identity is revoked", async () => {
  await using bus = await startBus();
  await using strict = await startMaster(bus, { flags: ["--enroll-on-clone", "revoke"] });
  const peel = await enrollPeel(strict, "copied-2");
  // Its credentials last 180 days.
  await metricBecomes(strict.healthUrl, 'svc_credentials_days_left_bucket{le="90"}', 0);
  await metricBecomes(strict.healthUrl, 'svc_credentials_days_left_bucket{le="180"}', 1);
  const query = (renews: string) =>
    requestOverBus(bus, peel, "renew", renewalOf(peel, { renews, to: newBusKey().publicKey }));
  await query(currentKey(peel));
  expect(await query(currentKey(peel))).toMatchObject({ error: { code: "clone_suspected" } });
  await metricBecomes(strict.healthUrl, 'svc_enrollments{state="revoked"}', 1);
  await metricBecomes(strict.healthUrl, "svc_enrollment_clones_total", 1);
  await metricBecomes(strict.healthUrl, 'svc_credentials_renewals_total{outcome="clone_suspected"}', 1);
});

test("a peel gets a new key, and the old one is worth nothing", async () => {
  const peel = await enrollPeel(master, "rekey-1");
  const [key, next] = [newKeyPair("user", systemRandom), newBusKey()];
  const request = rekeyOf(peel, key, next.publicKey);
  const reply = await requestOverBus(bus, peel, "rekey", request);
  expect(reply).toMatchObject({ ok: true, command_keys: peel.commandKeys });
  expect(await requestOverBus(bus, peel, "rekey", request)).toMatchObject({ ok: true });
  expect(await recordOf(peel)).toMatchObject({
    ...{ public_key: key.publicKey, previous_public_key: keyOf(peel).publicKey, renewals: 1 },
    ...{ rekeyed_at: expect.any(String), bus_public_key: next.publicKey },
  });
  const rekeyed = { ...withCredentials(peel, reply.jwt, next), seed: key.seed };
  await renewOnce(rekeyed);
  expect((await byKey(master, key.publicKey, key)).json).toMatchObject({ id: peel.enrollmentId });
  expect((await byKey(other, keyOf(peel).publicKey, keyOf(peel))).status).toBe(404);
});

test("a peel that lost its credentials recovers them over HTTPS", async () => {
  const peel = await enrollPeel(master, "lost-1");
  const [kept, next] = [newBusKey(), newBusKey()];
  const reply = await recoverOver(other, peel, kept.publicKey);
  expect([reply.status, reply.json]).toEqual([
    200,
    {
      ...{ peel_id: "lost-1", jwt: expect.any(String), expires_at: expect.stringMatching(/Z$/) },
      ...{ command_keys: peel.commandKeys, recovery_keys: recoveryKeys() },
      ...{ administrators: [], administrators_version: 0 },
    },
  ]);
  expect(await isAdmitted(peel)).toBe(true);
  const last = await recoverOver(master, peel, next.publicKey, { more: { revoke_previous: true } });
  expect(last.status).toBe(200);
  const { jwt } = last.json as { jwt: string };
  expect([await isAdmitted(peel), await isAdmitted(withCredentials(peel, jwt, next))]).toEqual([false, true]);
  expect(await recordOf(peel)).toMatchObject({ recoveries: 2, recovered_at: expect.any(String) });
  expect((await recordOf(peel)).bus_keys).toHaveLength(1);
});

test("a recovery without the right key, challenge or body has the statuses of the interface", async () => {
  const peel = await enrollPeel(master, "lost-2");
  const stranger = newBusKey();
  const to = newBusKey().publicKey;
  const status = async (...args: Parameters<typeof recoverOver>) => (await recoverOver(...args)).status;
  expect(await status(master, peel, to, { by: stranger })).toBe(401);
  expect(await status(master, peel, to, { more: { public_key: stranger.publicKey } })).toBe(401);
  expect(await status(master, peel, to, { more: { challenge_id: `chl-${"1".repeat(27)}` } })).toBe(401);
  expect(await status(master, peel, to, { more: { bus_public_key: stranger.publicKey } })).toBe(401);
  expect(await status(master, peel, to, { more: { bus_public_key: "U" } })).toBe(400);
  expect(await status(master, peel, to, { more: { unknown: 1 } })).toBe(400);
  expect(await status(master, { ...peel, enrollmentId: `enr-${"1".repeat(27)}` }, to)).toBe(404);
  const path = `/api/v1/enroll/${peel.enrollmentId}/recover`;
  const json = { "content-type": "application/json" };
  const post = (headers: Record<string, string>, body: string) =>
    send(master.url, master.ca, { method: "POST", path, headers, body });
  expect((await post({ "content-type": "text/plain" }, "{}")).status).toBe(415);
  expect((await post(json, JSON.stringify({ a: "x".repeat(5_000) }))).status).toBe(413);
  expect((await post(json, "{")).status).toBe(400);
  await operate(master, peel.enrollmentId, "revoke");
  expect(await status(master, peel, to)).toBe(403);
});

test("a peel finds its enrollment by its key, and nobody else does", async () => {
  const peel = await enrollPeel(master, "by-key-1");
  const [key, stranger] = [keyOf(peel), newBusKey()];
  for (const door of [master, other]) {
    expect((await byKey(door, key.publicKey, key)).json).toEqual({ id: peel.enrollmentId, state: "issued" });
  }
  expect((await byKey(master, key.publicKey, stranger)).status).toBe(401);
  expect((await byKey(master, stranger.publicKey, stranger)).status).toBe(404);
  const path = `/api/v1/enroll/by-key/${key.publicKey}`;
  expect((await send(master.url, master.ca, { path })).status).toBe(401);
  // The newest record, also when the peel enrolled again.
  await operate(master, peel.enrollmentId, "revoke");
  expect((await byKey(master, key.publicKey, key)).json).toMatchObject({ state: "revoked" });
});

test("the listener serves the routes of the interface", () => {
  expect(master.routes.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      "/api/v1/enroll/:id/recover",
      "/api/v1/enroll/by-key/:key",
      "/api/v1/enrollments/:id/clear-clone",
    ]),
  );
});
