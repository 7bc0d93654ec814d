import { expect, test } from "bun:test";
import { memoryBucket } from "../../../../test/harness/bucket.ts";
import { manualClock } from "../../../../test/harness/clock.ts";
import { recordingLog } from "../../../../test/harness/log.ts";
import type { ConnectedUser } from "../../../bus/servers/mod.ts";
import { createRevocations, isLifted, readStrays, writeRevocation } from "./revocations.ts";
import { refuseStrays } from "./strays.ts";

function world(connected: ConnectedUser[] = []) {
  const clock = manualClock();
  const log = recordingLog();
  const bucket = memoryBucket();
  const revocations = createRevocations({ bucket, log });
  const held = new Map<string, string>();
  const connects = new Set<(connection: ConnectedUser) => void>();
  const gaps = new Set<() => void>();
  const members = new Set<(peelId: string) => void>();
  const fleet = { isWhole: true, enforced: 0, sweeps: 0, isComplete: true };
  const seen: string[] = [];
  const strays = refuseStrays({
    system: {
      followConnections(_, { began, unsure }) {
        connects.add(began);
        gaps.add(unsure);
        return () => connects.delete(began);
      },
      async connectedUsers() {
        fleet.sweeps++;
        return { users: connected, isComplete: fleet.isComplete };
      },
    },
    account: "A",
    directory: {
      holds: (peelId, key) => held.get(peelId) === key,
      caughtUp: async () => {},
      onMember(run) {
        members.add(run);
        return () => members.delete(run);
      },
    },
    revocations,
    enforcer: {
      async enforce() {
        fleet.enforced++;
        return true;
      },
    },
    isWhole: () => fleet.isWhole,
    connections: {
      connected: ({ name }) => void seen.push(name),
      unsure: () => void seen.push("unsure"),
      sure: () => void seen.push("sure"),
    },
    settleMs: () => 20_000,
    clock,
    log,
  });
  return {
    fleet,
    seen,
    clock,
    strays,
    revocations,
    bucket,
    gap() {
      for (const run of gaps) run();
    },
    connect(name: string, user: string) {
      for (const run of connects) run({ id: user, name, user, jwt: "", reported: user });
    },
    enroll(peelId: string, key: string) {
      held.set(peelId, key);
      for (const run of members) run(peelId);
    },
    refused: async () => (await readStrays(bucket, clock.now())).map(({ busPublicKey }) => busPublicKey),
  };
}

test("one that is connected already, and one that connects, are refused with one push each", async () => {
  const { clock, connect, refused, fleet, strays, enroll, seen } = world([
    { id: "1 1", name: "a", user: "UA", jwt: "", reported: "UA" },
  ]);
  await clock.pass(1_000);
  expect([await refused(), fleet.enforced]).toEqual([["UA"], 1]);
  enroll("good", "UGOOD");
  for (const [name, key] of [
    ["good", "UGOOD"],
    ["b", "UB"],
    ["c", "UC"],
  ] as const)
    connect(name, key);
  await clock.pass(1_000);
  expect(await refused()).toEqual(["UA", "UB", "UC"]);
  expect([fleet.enforced, strays.count]).toEqual([2, 3]);
  expect(seen).toEqual(["a", "sure", "good", "b", "c"]);
});

test("after a gap all connections are looked through once, when the fleet is back", async () => {
  const { clock, fleet, gap, seen } = world();
  await clock.pass(1_000);
  expect([fleet.sweeps, seen]).toEqual([1, ["sure"]]);
  for (let gaps = 0; gaps < 3; gaps++) gap();
  await clock.pass(19_000);
  expect([fleet.sweeps, seen]).toEqual([1, ["sure", "unsure", "unsure", "unsure"]]);
  await clock.pass(2_000);
  expect([fleet.sweeps, seen.slice(4)]).toEqual([2, ["sure"]]);
  // A server that did not answer may have connections that nobody knows.
  fleet.isComplete = false;
  gap();
  await clock.pass(21_000);
  expect([fleet.sweeps, seen.slice(5)]).toEqual([3, ["unsure"]]);
});

test("another key than the one in the record is a stray, whatever name its credentials have", async () => {
  const { clock, connect, refused, enroll } = world();
  enroll("web", "UNEW");
  connect("web", "UOLD");
  await clock.pass(1_000);
  expect(await refused()).toEqual(["UOLD"]);
});

test("while the bus lacks decisions no one is refused: the record may be among them", async () => {
  const { clock, connect, refused, enroll, fleet } = world();
  fleet.isWhole = false;
  connect("web", "UA");
  connect("gone", "UB");
  await clock.pass(30_000);
  expect(await refused()).toEqual([]);
  enroll("web", "UA");
  fleet.isWhole = true;
  await clock.pass(6_000);
  expect(await refused()).toEqual(["UB"]);
});

test("the refusal ends when a record has the key; a revocation does not", async () => {
  const { clock, connect, refused, enroll, revocations, bucket } = world();
  connect("web", "UA");
  connect("gone", "UB");
  await clock.pass(1_000);
  const [, entry] = await readStrays(bucket, clock.now());
  if (entry === undefined) throw new Error("no second stray");
  const { stray: _, ...revoked } = entry;
  await revocations.add(revoked);
  enroll("web", "UA");
  enroll("gone", "UB");
  await clock.pass(1_000);
  expect(await refused()).toEqual([]);
  const now = clock.now();
  const listed = await revocations.current(now);
  expect([...listed].map(([key, one]) => [key, isLifted(one, now)])).toEqual([
    ["UA", true],
    ["UB", false],
  ]);
});

test("the refusal of a stray never replaces a revocation, and a revocation replaces the refusal", async () => {
  const bucket = memoryBucket();
  const entry = { busPublicKey: "UA", peelId: "web", enrollmentId: "", revokedAt: 1_000, expiresAt: 9e12 };
  await writeRevocation(bucket, { ...entry, stray: true });
  expect(await readStrays(bucket, 0)).toHaveLength(1);
  await writeRevocation(bucket, entry);
  await writeRevocation(bucket, { ...entry, stray: true });
  expect(await readStrays(bucket, 0)).toEqual([]);
});
