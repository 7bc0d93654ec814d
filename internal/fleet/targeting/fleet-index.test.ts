import { afterAll, beforeAll, expect, test } from "bun:test";
import { headers } from "nats";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { encode } from "../../base/msgpack.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../bus/storage/bucket.ts";
import type { Enrollment, EnrollmentState } from "../enrollment/record/record.ts";
import { createDirectory } from "../enrollment/store/directory.ts";
import { insertEnrollment, loadEnrollment, saveEnrollment } from "../enrollment/store/store.ts";
import { createFleetIndex } from "./fleet-index.ts";
import { createPace } from "./pace.ts";
import { createResolver } from "./resolver.ts";

// The index over the buckets of a real bus.

let server: TestBus;
let bus: Bus;
let enrollments: Bucket;
let facts: Bucket;
let heartbeats: Bucket;
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, { replicas: 1, onlyRaise: true }, recordingLog());
  enrollments = await openBucket(bus, "enrollments");
  facts = await openBucket(bus, "facts");
  heartbeats = await openBucket(bus, "peel-heartbeat");
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

const idOf = (peelId: string) => `enr-${peelId.replace("-", "").padStart(27, "0")}`;
async function enroll(peelId: string, state: EnrollmentState): Promise<void> {
  const record: Enrollment = {
    id: idOf(peelId),
    peelId,
    publicKey: "U",
    curvePublicKey: "X",
    state,
    createdAt: 1_000,
    updatedAt: 1_000,
  };
  await insertEnrollment(enrollments, record, undefined);
}
async function move(peelId: string, state: EnrollmentState): Promise<void> {
  const { record, revision } = await loadEnrollment(enrollments, idOf(peelId));
  await saveEnrollment(enrollments, { ...record, state }, revision);
}

test("targets follow enrollments, facts and heartbeats", async () => {
  await enroll("web-1", "active");
  await enroll("web-2", "issued");
  await enroll("web-3", "pending");
  await enroll("web-4", "approved");
  for (const peel of ["web-1", "web-2", "web-3", "web-4"]) await facts.put(peel, encode({ os: "Debian" }));
  await heartbeats.put("web-1", encode({}));

  const log = recordingLog();
  const clock = manualClock(systemClock.now());
  const directory = createDirectory({ enrollments, log });
  const index = createFleetIndex({ members: directory.members, facts, heartbeats, clock, log });
  const groups = { current: () => new Map() };
  const resolver = createResolver({
    directory,
    index,
    facts,
    heartbeats,
    groups,
    settings: async () => new Map(),
    pace: createPace(),
    log,
  });
  const resolve = (expression: string) => resolver.resolve({ expression });
  await Promise.all([directory.ready, index.ready]);
  expect(index.running).toBe(true);

  expect(await resolve("*")).toEqual(["web-1", "web-2"]);
  expect(await resolve("G@os:debian")).toEqual(["web-1", "web-2"]);
  expect(await resolver.resolve({ peels: ["web-3", "web-2"] })).toEqual(["web-2"]);

  await move("web-4", "issued");
  expect(await resolve("web-4")).toEqual(["web-4"]);
  await facts.put("web-2", encode({ os: "Ubuntu" }));
  expect(await resolve("G@os:Debian")).toEqual(["web-1", "web-4"]);
  await move("web-1", "revoked");
  expect(await resolve("G@os:Debian")).toEqual(["web-4"]);
  const removal = headers();
  removal.set("KV-Operation", "DEL");
  await bus.nats.request("$KV.facts.web-4", "", { timeout: 5_000, headers: removal });
  expect(await resolve("G@os:*")).toEqual(["web-2"]);

  expect(log.records).toEqual([]);
  await facts.put("web-4", new Uint8Array([0xc1]));
  expect(await resolve("not G@os:*")).toEqual(["web-4"]);
  await facts.put("web-4", new Uint8Array([0xc1, 0xc1]));
  expect(await resolve("not G@os:*")).toEqual(["web-4"]);
  expect(log.records.map(({ event }) => event)).toEqual(["the facts of a peel cannot be read"]);

  index.stop();
  directory.stop();
});

test("a peel is alive for 30 s after its heartbeat was stored, by the monotonic clock of the master", async () => {
  await heartbeats.put("old-1", encode({}));
  const { storedAt } = (await heartbeats.get("old-1")) ?? { storedAt: 0 };
  const log = recordingLog();
  // Ten seconds after the heartbeat was stored.
  const clock = manualClock(storedAt + 10_000);
  const seen = new Map<string, PromiseWithResolvers<void>>();
  const waitFor = (key: string) => {
    const waiting = seen.get(key) ?? Promise.withResolvers<void>();
    seen.set(key, waiting);
    return waiting.promise;
  };
  const observed = {
    watch: (onChange: Parameters<Bucket["watch"]>[0]) =>
      heartbeats.watch((change) => {
        onChange(change);
        void waitFor(`${change.key} ${change.revision}`);
        seen.get(`${change.key} ${change.revision}`)?.resolve();
      }),
  };
  const index = createFleetIndex({ members: () => [], facts, heartbeats: observed, clock, log });
  await index.ready;
  expect(index.alive("old-1")).toBe(true);
  expect(index.alive("nobody")).toBe(false);
  clock.advance(19_999);
  expect(index.alive("old-1")).toBe(true);
  clock.advance(1);
  expect(index.alive("old-1")).toBe(false);

  const revision = await heartbeats.put("old-1", encode({}));
  await waitFor(`old-1 ${revision}`);
  expect(index.alive("old-1")).toBe(true);
  // The clocks of the machines differ by an hour: the arrival of the heartbeat is used.
  clock.advance(3_600_000);
  const next = await heartbeats.put("old-1", encode({}));
  await waitFor(`old-1 ${next}`);
  clock.advance(29_999);
  expect(index.alive("old-1")).toBe(true);
  clock.advance(1);
  expect(index.alive("old-1")).toBe(false);
  index.stop();
});

test("without a running index, a target is resolved by reading the buckets, with a warning", async () => {
  await enroll("scan-1", "active");
  await enroll("scan-2", "active");
  await facts.put("scan-1", encode({ role: "db" }));
  await facts.put("scan-2", new Uint8Array([0xc1]));
  await heartbeats.put("scan-2", encode({}));
  const log = recordingLog();
  const directory = createDirectory({ enrollments, log });
  await directory.ready;
  const never = {
    watch: () => ({ ready: new Promise<void>(() => {}), caughtUp: async () => {}, stop: () => {} }),
  };
  const clock = manualClock();
  const index = createFleetIndex({ members: directory.members, facts: never, heartbeats: never, clock, log });
  const groups = { current: () => new Map() };
  const resolver = createResolver({
    directory,
    index,
    facts,
    heartbeats,
    groups,
    settings: async () => new Map(),
    pace: createPace(),
    log,
  });

  expect(await resolver.resolve({ expression: "scan-*" })).toEqual(["scan-1", "scan-2"]);
  expect(log.records).toEqual([]);
  expect(await resolver.resolve({ expression: "scan-* and G@role:*" })).toEqual(["scan-1"]);
  expect(await resolver.resolveWithLife({ expression: "scan-*" })).toEqual([
    { peelId: "scan-1", alive: false },
    { peelId: "scan-2", alive: true },
  ]);
  expect(log.records.map(({ level, fields }) => ({ level, fields }))).toEqual([
    { level: "warn", fields: { facts: true, heartbeats: false } },
    { level: "warn", fields: { facts: false, heartbeats: true } },
  ]);
  directory.stop();
});
