import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openBudgets } from "../../../test/harness/budgets.ts";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { type LogRecord, recordingLog } from "../../../test/harness/log.ts";
import { connectPeel, type PeelConnection, refusals } from "../../../test/harness/peel-connection.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { type Bus, badReply } from "../../bus/connection/connect.ts";
import { peelPermissions } from "../../fleet/enrollment/bus-user/permissions.ts";
import { createDocument } from "../../identity/bootstrap/document.ts";
import { formatCredentials } from "../../identity/credentials.ts";
import { encodeJwt } from "../../identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../identity/nkey.ts";
import { serveHello } from "./hello.ts";

const now = Date.UTC(2026, 0, 1);
const document = createDocument(
  { ca_bundle_pem: "", fingerprint: "", nats_urls: ["tls://bus:4222"], command_keys: ["U"] },
  now,
);
const peelId = "web-1_example_com";
const records: LogRecord[] = [];

let bus: TestBus;
let peel: PeelConnection;
const masters: Bus[] = [];

beforeAll(async () => {
  bus = await startBus();
  for (let i = 0; i < 2; i++) {
    const master = await connectTo(bus, "master");
    const clock = { ...systemClock, now: () => now };
    const log = recordingLog(records);
    serveHello({
      bus: master,
      document: () => document,
      missed: () => [],
      settings: async () => ({}),
      states: async () => undefined,
      auditHead: () => undefined,
      spreadMs: () => 15_000,
      knows: () => {},
      clock,
      log,
      ...openBudgets(log),
    });
    await master.nats.flush();
    masters.push(master);
  }
  peel = await connectPeel(bus, { peelId, credentials: credentialsOf(peelId) });
});

afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  for (const master of masters) await master.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  records.length = 0;
});

/** Credentials of a peel, as a master creates them. */
function credentialsOf(id: string): string {
  const user = newKeyPair("user", systemRandom);
  const account = keyPairFromSeed("account", readFileSync(join(bus.authDir, "account.seed"), "utf8"));
  const nats = { ...peelPermissions(id), subs: -1, data: -1, payload: -1 };
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const jwt = encodeJwt({ type: "user", name: id, subject: user.publicKey, issuedAt, nats }, account);
  return formatCredentials(jwt, user.seed);
}

const request = async (data: Uint8Array) =>
  decode((await peel.nats.request(`svc.peel.${peelId}.hello`, data, { timeout: 5_000 })).data);

test("a peel gets the time and the cluster information from one of two masters", async () => {
  const answers = await peel.nats.requestMany(`svc.peel.${peelId}.hello`, encode({ version: "1" }), {
    maxMessages: 2,
    maxWait: 300,
  });
  const reported = [];
  for await (const answer of answers) reported.push(decode(answer.data));
  expect(reported).toEqual([
    {
      server_time: "2026-01-01T00:00:00.000Z",
      cluster_info: { ...document },
      spread_ms: 15_000,
      jobs: [],
    },
  ]);
  expect(records).toMatchObject([{ level: "debug", fields: { peel_id: peelId } }]);
});

test("an empty map is enough, and unknown fields are ignored", async () => {
  for (const hello of [{}, { later: [1, { a: new Uint8Array(3) }] }]) {
    expect(await request(encode(hello))).toMatchObject({ cluster_info: { v: 1 } });
  }
});

test("the part for all peels is the newest, in each answer", async () => {
  const master = await connectTo(bus, "master");
  const log = recordingLog();
  const reported = {
    document: { ...document },
    states: undefined as { base: string; statement: Uint8Array } | undefined,
    audit: undefined as Uint8Array | undefined,
    spread: 1_000,
  };
  const serving = serveHello({
    // The other masters would take a part of the requests.
    bus: { serve: (_, __, answer) => master.serve("test.told.*.hello", "q", answer) },
    document: () => reported.document,
    missed: (id) => (id === "second" ? [new Uint8Array([7])] : []),
    lacksFacts: (id) => id === "second",
    settings: async (id) => ({ error: id }),
    states: async () => reported.states,
    auditHead: () => reported.audit,
    spreadMs: () => reported.spread,
    knows: () => {},
    clock: { ...systemClock, now: () => now },
    log,
    ...openBudgets(log),
  });
  await master.nats.flush();
  const other = await connectTo(bus, "master");
  const both = async () => {
    const answers = [];
    for (const id of ["first", "second"]) {
      const { data } = await other.nats.request(`test.told.${id}.hello`, encode({}));
      answers.push(decode(data));
    }
    return answers;
  };
  const server_time = "2026-01-01T00:00:00.000Z";
  const answers = (shared: object) => [
    { ...shared, server_time, settings_error: "first", jobs: [] },
    { ...shared, server_time, settings_error: "second", jobs: [Buffer.from([7])], lacks_facts: true },
  ];
  const before = { cluster_info: { ...document }, spread_ms: 1_000 };
  expect(await both()).toEqual(answers(before));
  reported.states = { base: "d1", statement: new Uint8Array([1]) };
  const states = { base: "d1", statement: Buffer.from([1]) };
  expect(await both()).toEqual(answers({ ...before, states }));
  reported.audit = new Uint8Array([2]);
  const audit = Buffer.from([2]);
  expect(await both()).toEqual(answers({ ...before, states, audit }));
  reported.spread = 2_000;
  reported.document = { ...document, nats_urls: ["tls://other:4222"] };
  const after = { cluster_info: { ...document, nats_urls: ["tls://other:4222"] }, spread_ms: 2_000 };
  expect(await both()).toEqual(answers({ ...after, states, audit }));
  serving.stop();
  await Promise.all([master.nats.close(), other.nats.close()]);
});

test.each([
  ["nothing", new Uint8Array()],
  ["no MessagePack", new Uint8Array([0xc1])],
  ["a list", encode([{}])],
  ["nil", encode(null)],
  ["bytes", encode(new Uint8Array(3))],
  ["a number", encode(1)],
  ["a truncated map", encode({ a: "bcd" }).subarray(0, 4)],
  ["an extension type", new Uint8Array([0x81, 0xa1, 0x61, 0xd6, 0xff, 0, 0, 0, 0])],
  ["more than 16 KiB", encode({ a: "x".repeat(17_000) })],
  ["very much", encode({ a: "x".repeat(500_000) })],
])("%s is refused by a map with the error alone", async (_, data) => {
  expect(await request(data)).toEqual({
    ok: false,
    error: { code: "bad_request", message: expect.any(String) },
  });
  expect(records).toMatchObject([{ level: "info", event: "hello refused", fields: { peel_id: peelId } }]);
  expect(JSON.stringify(records)).not.toContain("xxxx");
});

test("a peel cannot send a hello as another one, or receive the reply to another one", async () => {
  const other = "svc.peel.web-2_example_com.hello";
  expect(await refusals(peel.bus, peel.records, () => peel.nats.publish(other, encode({})))).toEqual([other]);
  expect(
    await refusals(peel.bus, peel.records, () =>
      peel.nats.subscribe("_INBOX_web-2_example_com.>", { callback: () => {} }),
    ),
  ).toEqual(["_INBOX_web-2_example_com.>"]);
  expect(records).toEqual([]);
});

test("a hello without a reply subject, or with a foreign one, is harmless", async () => {
  const secrets = await masters[0]?.nats.jetstream().views.kv("hello-secrets");
  peel.nats.publish(`svc.peel.${peelId}.hello`, encode({}));
  peel.nats.publish(`svc.peel.${peelId}.hello`, encode({}), { reply: "$KV.hello-secrets._cluster_info" });
  // One hello of a peel is answered at a time.
  for (const { nats } of [peel, ...masters]) await nats.flush();
  expect(await request(encode({}))).toMatchObject({ cluster_info: { v: 1 } });
  expect(await secrets?.get("_cluster_info")).toBeNull();
  expect(records.map(({ event }) => event)).toContain(badReply);
});

test("a peel that asks more than its budget, or again before it was answered, is refused without work", async () => {
  const master = await connectTo(bus, "master");
  const log = recordingLog();
  const id = "eager";
  let answered = 0;
  let mayRequest = true;
  const waiting = Promise.withResolvers<void>();
  const serving = serveHello({
    // The other masters would take a part of the requests.
    bus: {
      serve: (subject, _, answer, onDropped) =>
        master.serve(subject.replace("svc.", "test."), "q", answer, onDropped),
    },
    document: () => document,
    missed: () => [],
    settings: async () => {
      answered++;
      await waiting.promise;
      return {};
    },
    states: async () => undefined,
    auditHead: () => undefined,
    spreadMs: () => 15_000,
    knows: () => {},
    clock: systemClock,
    log,
    ...openBudgets(log),
    budgets: { take: () => mayRequest },
  });
  await master.nats.flush();
  const other = await connectTo(bus, "master");
  const hello = async () => decode((await other.nats.request(`test.peel.${id}.hello`, encode({}))).data);
  const first = hello();
  const refused = { ok: false, error: { code: "rate_limited", message: expect.any(String) } };
  expect(await Promise.all([hello(), hello()])).toEqual([refused, refused]);
  waiting.resolve();
  expect(await first).toMatchObject({ cluster_info: { v: 1 } });
  mayRequest = false;
  expect(await hello()).toEqual(refused);
  expect(answered).toBe(1);
  // A request without an inbox is charged as well, and beyond the budget nothing is logged of it.
  other.nats.publish(`test.peel.${id}.hello`, encode({}));
  await other.nats.flush();
  expect(await hello()).toEqual(refused);
  expect(log.records.filter(({ level }) => level === "warn")).toEqual([]);
  serving.stop();
  await Promise.all([master.nats.close(), other.nats.close()]);
});
