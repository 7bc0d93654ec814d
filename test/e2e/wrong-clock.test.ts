import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { helloSubject, keySubject } from "../../internal/bus/subjects/subjects.ts";
import { writeRevocation } from "../../internal/fleet/enrollment/revocation/revocations.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeHeartbeat } from "../../internal/wire/heartbeat.ts";
import { encodeHello, openHelloAnswer } from "../../internal/wire/hello.ts";
import { createInstance } from "../../internal/wire/instance.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { freshAddress, send } from "../harness/client.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { connectPeel, enrollPeel } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// A master whose clock is wrong, next to one whose clock is right, on one bus.

setDefaultTimeout(60_000);

const day = 24 * 3600_000;

let bus: TestBus;
let right: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  right = await startMaster(bus);
});

afterAll(async () => {
  await right?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The clock of the machine, which a test sets. */
function settableClock(): Clock & { aheadMs: number } {
  const settable = { ...systemClock, aheadMs: 0, now: () => systemClock.now() + settable.aheadMs };
  return settable;
}

/** Asks until the listener is down. @returns the check of the clock */
async function untilNotServing({ healthUrl }: TestMaster) {
  const check = async () => {
    const { checks } = (await (await fetch(`${healthUrl}/readyz`)).json()) as {
      checks: Record<string, { status: string; message?: string }>;
    };
    return checks;
  };
  return (await until(check, (checks) => checks["enroll-server"]?.status === "down")).clock;
}

async function revocations() {
  const connection = await connectTo(bus, "master");
  return {
    bucket: await openBucket(connection, "revocations"),
    [Symbol.asyncDispose]: () => connection.nats.close(),
  };
}

test("a clock that jumps takes a master out of service until it is right again", async () => {
  await using store = await revocations();
  const { bucket } = store;
  const clock = settableClock();
  await using master = await startMaster(bus, { clock, comparesClock: true });
  const peel = await enrollPeel(right, "kept-out");
  const key = parseCredentials(peel.credentials).key.publicKey;
  await writeRevocation(bucket, {
    busPublicKey: key,
    peelId: peel.peelId,
    enrollmentId: peel.enrollmentId,
    revokedAt: systemClock.now(),
    expiresAt: systemClock.now() + 180 * day,
  });
  clock.aheadMs = 200 * day;
  const clockCheck = await untilNotServing(master);
  expect(clockCheck).toMatchObject({
    status: "down",
    message: expect.stringMatching(/^the clock of this host is 200d ahead of that of the bus/),
  });
  await expect(fetch(`${master.url}/api/v1/enrollments`)).rejects.toThrow();
  // The other master serves the fleet, and says of which one operators should look.
  const doctor = await cli(bus, "doctor");
  expect(doctor.exit).toBe(1);
  expect(doctor.stdout).toContain("the clock of this host is 200d ahead");
  expect((await cli(bus, "run", "nobody-*", "test.ping")).stderr).toContain("no peel matches the target");
  expect(await bucket.get(key)).toBeDefined();

  clock.aheadMs = 0;
  await readinessBecomes(master.healthUrl, 200);
  expect(master.records.filter(({ event }) => event === "master ready")).toHaveLength(2);
});

test("a master that starts with a wrong clock waits, and removes nothing", async () => {
  await using store = await revocations();
  const { bucket } = store;
  const clock = settableClock();
  clock.aheadMs = 200 * day;
  const entries = (await bucket.entries()).length;
  expect(entries).toBeGreaterThan(0);
  const waiting = startMaster(bus, { clock, comparesClock: true });
  let served = false;
  void waiting.then(() => {
    served = true;
  });
  const seen = Promise.withResolvers<void>();
  const connection = await connectTo(bus, "master");
  const beats = await openBucket(connection, "master-heartbeat");
  const watch = beats.watch(({ value }) => {
    if (value !== undefined && Buffer.from(value).includes("clock_ahead_ms")) seen.resolve();
  });
  await seen.promise;
  watch.stop();
  await connection.nats.close();
  expect(served).toBe(false);
  expect((await bucket.entries()).length).toBe(entries);
  clock.aheadMs = 0;
  await using _ = await waiting;
});

test("hellos are timed by the clock of the bus: a restart while the clock of a master is ahead is not taken for a clone", async () => {
  await using alone = await startBus();
  const clock = settableClock();
  clock.aheadMs = 50_000;
  await using master = await startMaster(alone, { clock, comparesClock: true });
  const enrolled = await enrollPeel(master, "web-1");
  const { peelId } = enrolled;
  await using peel = await connectPeel(alone, enrolled);
  const [before, after] = [1, 2].map(() => createInstance(systemRandom, systemClock.now())) as [Next, Next];
  type Next = ReturnType<typeof createInstance>;
  const hello = async (next: Next) => {
    const sent = { version: "1.0.0", sentAt: systemClock.now(), settingsVersion: 0, commandKeys: [] };
    const request = encodeHello({ ...sent, instance: next() });
    const answer = await peel.nats.request(helloSubject(peelId), request, { timeout: 30_000 });
    openHelloAnswer(answer.data);
  };
  const said = { peel_id: peelId, version: "1.0.0", started_at: "2026-01-01T00:00:00.000Z" };

  await hello(before);
  const first = systemClock.now();
  // Less than this counts as one moment.
  await until(() => systemClock.now() - first > 5_500);
  await hello(before);
  const heartbeat = encodeHeartbeat({ ...said, instance: after() });
  await peel.nats.request(keySubject("peel-heartbeat", peelId), heartbeat, { timeout: 30_000 });
  await hello(after);

  const shown = await send(master.url, master.ca, {
    path: `/api/v1/peels/${peelId}/heartbeat`,
    headers: { authorization: `Bearer ${testToken}` },
    from: freshAddress(),
  });
  const { one_instance_since: since } = shown.json as { one_instance_since: string };
  expect(Date.parse(since)).toBeLessThan(systemClock.now() + 15_000);
  expect(master.records.filter(({ event }) => event === "enrollment.clone.suspected")).toEqual([]);
});
