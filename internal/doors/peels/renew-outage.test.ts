import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { seeded } from "../../../test/harness/seeded.ts";
import { createBackoff } from "../../base/backoff.ts";
import { rfc3339, systemClock } from "../../base/clock.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { createBudgets } from "../../fleet/budget/budgets.ts";
import { limitsOf } from "../../fleet/budget/peel-budgets.ts";
import type { Enrollment } from "../../fleet/enrollment/record/record.ts";
import { createRevocations } from "../../fleet/enrollment/revocation/revocations.ts";
import { insertEnrollment, loadEnrollment } from "../../fleet/enrollment/store/store.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { loadMasterConfig } from "../../program/config/mod.ts";
import { renewalMessage } from "../../wire/enrollment-messages.ts";
import { serveRenewals } from "./renew.ts";

// The renewals of 10,000 peels as one master answers them, with its real limits, records and signatures, after
// masters were away for an hour. Time is simulated in seconds, and storage accepts a limited number of writes in each.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const peels = 10_000;
const lengthMs = 180 * day;
/** Less than one master did under load (docs/bench.md). */
const writesPerSecond = 200;
/** How long a peel waits for an answer. */
const timeoutMs = 10 * second;

interface SimulatedPeel {
  readonly peelId: string;
  readonly key: KeyPair;
  readonly record: Enrollment;
  /** Its next bus key: the same one until it is confirmed. */
  readonly next: string;
  readonly backoff: ReturnType<typeof createBackoff>;
  doneAt: number | undefined;
}

interface Seen {
  /** When each peel had its answer. */
  done: number[];
  /** By code; `renewed` and `repeated` are answers with credentials. */
  outcomes: Record<string, number>;
  /** Most writes that waited for storage at the same time. */
  maxAtOnce: number;
  /** Most requests in one second. */
  maxRequested: number;
  /** Requests after the masters were back. */
  requested: number;
  /** Renewals in all records. */
  renewals: number;
}

/**
 * @param firstAt when a peel asks first, from a number in [0, 1)
 * @param backAt masters answer from then on
 */
async function simulate(seed: number, firstAt: (chance: number) => number, backAt: number): Promise<Seen> {
  const chance = seeded(seed);
  const log = recordingLog();
  const began = Date.UTC(2026, 0, 1);
  let now = began;
  const clock = { ...systemClock, now: () => now, monotonic: () => now };
  const bucket = memoryBucket();
  const account = newKeyPair("account", systemRandom);
  const seen: Seen = { done: [], outcomes: {}, maxAtOnce: 0, maxRequested: 0, requested: 0, renewals: 0 };
  const count = (outcome: string) => {
    seen.outcomes[outcome] = (seen.outcomes[outcome] ?? 0) + 1;
  };

  const fleet: SimulatedPeel[] = [];
  for (let number = 0; number < peels; number++) {
    const key = newKeyPair("user", systemRandom);
    const [peelId, id] = [`web-${number}`, newId("enr", now, systemRandom)];
    // The key of a renewal says nothing about its cost.
    const [busPublicKey, next] = [key.publicKey, newKeyPair("user", systemRandom).publicKey];
    const record: Enrollment = {
      ...{ id, peelId, publicKey: key.publicKey, curvePublicKey: "", busPublicKey, state: "active" },
      ...{ createdAt: now, updatedAt: now, credsExpiresAt: now + lengthMs / 3 },
      busKeys: [{ publicKey: busPublicKey, expiresAt: now + lengthMs / 3 }],
    };
    await insertEnrollment(bucket, record, undefined);
    const backoff = createBackoff({ firstMs: minute, maxMs: 40 * minute });
    fleet.push({ peelId, key, record, next, backoff, doneAt: undefined });
  }
  // Storage takes some writes in each second; the others wait.
  let waiting: (() => void)[] = [];
  bucket.beforeWrite = async () => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      seen.maxAtOnce = Math.max(seen.maxAtOnce, waiting.length);
    });
  };

  const config = loadMasterConfig([], {});
  if (config.kind !== "run") throw new Error("no configuration");
  const limits = limitsOf(config.values);
  const answers: ((data: Uint8Array, subject: string) => unknown)[] = [];
  const enforcer = { enforce: async () => true };
  const bus: Pick<Bus, "serve"> = {
    serve(_, __, answer) {
      answers.push((data, subject) => answer(data, subject, { reply: "_R_.x" }));
      return { stop() {} };
    },
  };
  const directory = { holderOf: () => undefined, caughtUp: async () => {}, idOf: () => undefined };
  serveRenewals({
    bus,
    budgets: createBudgets({ limits, onExceeded() {}, onFlood() {}, clock }),
    lines: { say() {} },
    commandKeys: () => [],
    recoveryKeys: [],
    metrics: { credentialsRenewal: count },
    renewal: {
      ...{ enrollments: bucket, account: () => account, validityMs: lengthMs, clock, log, enforcer },
      ...{ revocations: createRevocations({ bucket: memoryBucket(), log }), directory },
      onClone: "alert",
      async notifyOfClone() {},
      metrics: { cloneSuspected() {} },
      enforce: {
        ...{ enforcer, clock, log },
        metrics: { revocationSeconds() {} },
        disconnections: { watch: () => ({ closed: async () => undefined, stop() {} }), stop() {} },
      },
    },
  });
  const [renew] = answers;
  if (renew === undefined) throw new Error("renewals are not served");

  const due = new Map<number, SimulatedPeel[]>();
  const request = (peel: SimulatedPeel, atMs: number) => {
    const at = Math.floor(atMs / second);
    const there = due.get(at);
    if (there === undefined) due.set(at, [peel]);
    else there.push(peel);
  };
  const later = (peel: SimulatedPeel, fromMs: number) =>
    request(peel, fromMs + peel.backoff.next() * (1 + chance() / 2));
  let inWork = 0;
  const send = async (peel: SimulatedPeel, sentMs: number) => {
    const { record, key, peelId, next } = peel;
    const fields = {
      ...{ enrollmentId: record.id, renews: record.busPublicKey ?? "", busPublicKey: next },
      signedAt: rfc3339(now),
    };
    const data = encode({
      ...{ enrollment_id: fields.enrollmentId, renews: fields.renews, bus_public_key: next },
      ...{ signed_at: fields.signedAt, signature: key.sign(renewalMessage(fields)) },
    });
    inWork++;
    const bytes = (await renew(data, `svc.peel.${peelId}.renew`)) as Uint8Array;
    inWork--;
    const { ok } = decode(bytes) as { ok: boolean };
    const tookMs = now - began - sentMs;
    if (!ok || tookMs > timeoutMs) return later(peel, Math.max(now - began, sentMs + timeoutMs));
    peel.doneAt ??= now - began;
  };
  for (const peel of fleet) request(peel, firstAt(chance()));
  for (let at = 0; at < (3 * hour) / second; at++) {
    now = began + at * second;
    const requesting = due.get(at) ?? [];
    due.delete(at);
    if (at * second < backAt) for (const peel of requesting) later(peel, at * second);
    else {
      seen.requested += requesting.length;
      seen.maxRequested = Math.max(seen.maxRequested, requesting.length);
      for (const peel of requesting) void send(peel, at * second);
    }
    if (inWork === 0) continue;
    for (let free = writesPerSecond; free > 0; ) {
      // A write that is done frees a slot for the next request.
      await settle();
      const granted = waiting.slice(0, free);
      if (granted.length === 0) break;
      waiting = waiting.slice(granted.length);
      free -= granted.length;
      for (const proceed of granted) proceed();
    }
  }
  bucket.beforeWrite = () => {};
  for (const { record, doneAt } of fleet) {
    if (doneAt !== undefined) seen.done.push(doneAt);
    seen.renewals += (await loadEnrollment(bucket, record.id)).record.renewals ?? 0;
  }
  return seen;
}

test("10,000 peels that were due in an hour without masters are all renewed once, and none is refused", async () => {
  const seen = await simulate(1, (chance) => chance * hour, hour);
  expect(seen).toMatchObject({ outcomes: { renewed: peels }, requested: peels, renewals: peels });
  expect(seen.done).toHaveLength(peels);
  // A backoff later at most: no second has many times its share.
  expect(Math.max(...seen.done)).toBeLessThan(2 * hour);
  expect(seen.maxRequested).toBeLessThan(100);
  expect(seen.maxAtOnce).toBeLessThanOrEqual(64);
}, 60_000);

test("even if all 10,000 ask in one second, 64 are in progress, and a peel that waited too long gets the answer again", async () => {
  const seen = await simulate(2, () => hour, hour);
  // Those whose answer came late ask once more, for the same key.
  expect(seen.outcomes).toEqual({ renewed: peels, repeated: seen.requested - peels });
  expect(seen).toMatchObject({ maxRequested: peels, renewals: peels });
  expect(seen.requested).toBeLessThan(2 * peels);
  expect(seen.done).toHaveLength(peels);
  expect(Math.max(...seen.done)).toBeLessThan(hour + 5 * minute);
  expect(seen.maxAtOnce).toBeLessThanOrEqual(64);
}, 60_000);
