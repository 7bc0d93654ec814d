import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { readTextFile } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import {
  createRevocations,
  writeRevocation,
} from "../../internal/fleet/enrollment/revocation/revocations.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { manualClock } from "../harness/clock.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  operate,
  submitPeel,
} from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Revocation, from the operator's command to the closed connection, with possible failures in between: other
// masters, older claims, restarts, and a bus that does not respond.

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
}, 60_000);
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const refusedCredentials = "the server refused these credentials";

/** Whether the bus takes the credentials of this peel now. */
async function admitted(peel: EnrolledPeel): Promise<boolean> {
  try {
    await using _ = await connectPeel(bus, peel);
    return true;
  } catch (thrown) {
    expect(String(thrown)).toContain(refusedCredentials);
    return false;
  }
}

const subjectOf = (peel: EnrolledPeel) => parseCredentials(peel.credentials).key.publicKey;
const account = () => readClaims(readTextFile(join(bus.authDir, "account.jwt"), "account.jwt")).sub;

/** The claims of the peels' account, as the bus holds them. */
async function heldClaims() {
  const system = await connectTo(bus, "system");
  try {
    const reply = await system.nats.request(`$SYS.REQ.ACCOUNT.${account()}.CLAIMS.LOOKUP`, "", {
      timeout: 30_000,
    });
    const claims = readClaims(reply.string());
    return {
      jwt: reply.string(),
      iat: claims.iat,
      revoked: (claims.nats.revocations ?? {}) as Record<string, number>,
    };
  } finally {
    await system.nats.close();
  }
}

/** Pushes claims to the bus, as any holder of the system credentials can. */
async function pushClaims(jwt: string): Promise<void> {
  const system = await connectTo(bus, "system");
  try {
    const reply = await system.nats.request("$SYS.REQ.CLAIMS.UPDATE", jwt, { timeout: 30_000 });
    expect(reply.json<{ data: { code: number } }>().data.code).toBe(200);
  } finally {
    await system.nats.close();
  }
}

const svc = (...argv: string[]) => cli(bus, ...argv);

describe("a revocation", () => {
  test("closes the live connection, refuses the next, and leaves the others alone", async () => {
    const [peel, other] = [await enrollPeel(master, "kicked"), await enrollPeel(master, "bystander")];
    await using connection = await connectPeel(bus, peel);
    await using bystander = await connectPeel(bus, other);
    const revoked = await operate(master, peel.enrollmentId, "revoke", { reason: "stolen" });
    expect([revoked.status, revoked.json]).toMatchObject([
      200,
      { state: "revoked", RevokeReason: "stolen", DecidedBy: "tester" },
    ]);
    await connection.logged("bus disconnected");
    expect(await admitted(peel)).toBe(false);
    await bystander.nats.flush();
    expect(bystander.records).toEqual([]);
    expect(await admitted(other)).toBe(true);
  });

  test("tells the operator how long it took, and counts it", async () => {
    const peel = await enrollPeel(master, "measured");
    await using connection = await connectPeel(bus, peel);
    const before = await closings();
    const revoked = await svc("enroll", "revoke", peel.enrollmentId, "--wait", "--output", "json");
    expect([revoked.exit, revoked.stderr]).toEqual([0, ""]);
    const { closed_in_ms } = JSON.parse(revoked.stdout);
    expect(closed_in_ms).toBeGreaterThan(0);
    await connection.logged("bus disconnected");
    const after = await closings();
    expect(after.count).toBe(before.count + 1);
    expect(after.sum - before.sum).toBeCloseTo(closed_in_ms / 1000, 6);
  });

  test("of a peel without a connection has nothing to measure", async () => {
    const peel = await enrollPeel(master, "away");
    const before = await closings();
    const revoked = await svc("enroll", "revoke", peel.enrollmentId, "--wait");
    expect(revoked).toMatchObject({ exit: 0, stdout: expect.stringContaining("it had no live connection") });
    expect(await closings()).toEqual(before);
    expect(await admitted(peel)).toBe(false);
  });

  test("ends every connection of the same credentials", async () => {
    const peel = await enrollPeel(master, "twice");
    await using one = await connectPeel(bus, peel);
    await using two = await connectPeel(bus, peel);
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
    await Promise.all([one.logged("bus disconnected"), two.logged("bus disconnected")]);
  });

  test("of an approved record touches no list; of an ended one it is refused", async () => {
    const { enrollmentId } = await submitPeel(master, "never-issued");
    expect((await operate(master, enrollmentId, "revoke")).status).toBe(409);
    expect((await operate(master, enrollmentId, "approve")).status).toBe(200);
    const before = (await heldClaims()).revoked;
    expect(await operate(master, enrollmentId, "revoke")).toMatchObject({
      status: 200,
      json: { state: "revoked" },
    });
    expect((await heldClaims()).revoked).toEqual(before);
    expect((await operate(master, enrollmentId, "revoke")).status).toBe(409);
  });

  test("lets the peel enroll again, with a new record and new credentials", async () => {
    const first = await enrollPeel(master, "returning");
    expect((await operate(master, first.enrollmentId, "revoke")).status).toBe(200);
    const second = await enrollPeel(master, "returning");
    expect(second.enrollmentId).not.toBe(first.enrollmentId);
    expect([await admitted(second), await admitted(first)]).toEqual([true, false]);
  });

  test("holds although the clock that issued the credentials was ahead", async () => {
    const peel = await enrollPeel(master, "from-the-future");
    const { key } = parseCredentials(peel.credentials);
    const claims = readClaims(parseCredentials(peel.credentials).jwt);
    const signer = keyPairFromSeed("account", readTextFile(join(bus.authDir, "account.seed"), "seed"));
    const ahead = encodeJwt(
      {
        type: "user",
        name: claims.name,
        subject: claims.sub,
        issuedAt: claims.iat + 600,
        expiresAt: claims.exp ?? 0,
        nats: claims.nats,
      },
      signer,
    );
    const copy = {
      ...peel,
      credentials: peel.credentials.replace(parseCredentials(peel.credentials).jwt, ahead),
    };
    expect(key.publicKey).toBe(claims.sub);
    expect(await admitted(copy)).toBe(true);
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
    expect(await admitted(copy)).toBe(false);
  });
});

async function closings(): Promise<{ count: number; sum: number }> {
  const text = await (await fetch(`${master.healthUrl}/metrics`)).text();
  const value = (name: string) =>
    Number(new RegExp(`^svc_revocation_close_seconds_${name} (\\S+)$`, "m").exec(text)?.[1]);
  return { count: value("count"), sum: value("sum") };
}

describe("nothing is lost when", () => {
  test("two masters revoke many peels at the same moment", async () => {
    await using second = await startMaster(bus);
    const peels = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        enrollPeel(index % 2 === 0 ? master : second, `many-${index}`),
      ),
    );
    const connections = await Promise.all(peels.map((peel) => connectPeel(bus, peel)));
    const replies = await Promise.all(
      peels.map((peel, index) => operate(index % 2 === 0 ? master : second, peel.enrollmentId, "revoke")),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await Promise.all(connections.map((connection) => connection.logged("bus disconnected")));
    expect(Object.keys((await heldClaims()).revoked)).toEqual(expect.arrayContaining(peels.map(subjectOf)));
    expect(await Promise.all(peels.map(admitted))).toEqual(peels.map(() => false));
    await Promise.all(connections.map((connection) => connection.nats.close()));
  });

  test("one peel is revoked by two operators at once: one decides, both know", async () => {
    await using second = await startMaster(bus);
    const peel = await enrollPeel(master, "contested");
    const replies = await Promise.all(
      [master, second].map((one) => operate(one, peel.enrollmentId, "revoke")),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await admitted(peel)).toBe(false);
  });

  test("an older claim is pushed by mistake: the next look within a minute repairs it", async () => {
    const clock = manualClock(systemClock.now());
    await using minder = await startMaster(bus, { clock });
    const older = await heldClaims();
    const peel = await enrollPeel(master, "revived");
    expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
    await pushClaims(older.jwt);
    expect(await admitted(peel)).toBe(true);
    await using connection = await connectPeel(bus, peel);
    // A master ends the connection of a revoked key as soon as it hears of it: that is not the repair.
    await connection.logged("bus disconnected");
    clock.advance(60_000);
    await until(async () => !(await admitted(peel)));
    expect((await heldClaims()).iat).toBeGreaterThan(older.iat);
    expect(minder.records.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("claims are made by a master whose clock is behind", async () => {
    const before = await heldClaims();
    await using slow = await startMaster(bus, { clock: manualClock(systemClock.now() - 3_600_000) });
    const peel = await enrollPeel(master, "slow-clock");
    await using connection = await connectPeel(bus, peel);
    expect((await operate(slow, peel.enrollmentId, "revoke")).status).toBe(200);
    await connection.logged("bus disconnected");
    expect((await heldClaims()).iat).toBeGreaterThan(before.iat);
    expect(await admitted(peel)).toBe(false);
  });

  test("the bus is killed right after, in the second it got its first claims", async () => {
    await using fresh = await startBus();
    await using only = await startMaster(fresh);
    const preloaded = readClaims(readTextFile(join(fresh.authDir, "account.jwt"), "account.jwt"));
    const peel = await enrollPeel(only, "short-lived");
    expect((await operate(only, peel.enrollmentId, "revoke")).status).toBe(200);
    await fresh.restart("SIGKILL");
    await expect(connectPeel(fresh, peel)).rejects.toThrow(refusedCredentials);
    const system = await connectTo(fresh, "system");
    const held = await system.nats.request(`$SYS.REQ.ACCOUNT.${preloaded.sub}.CLAIMS.LOOKUP`, "", {
      timeout: 30_000,
    });
    expect(readClaims(held.string()).iat).toBeGreaterThan(preloaded.iat);
    await system.nats.close();
  });

  test("an operator writes it to storage while no master runs", async () => {
    await using fresh = await startBus();
    let peel: EnrolledPeel;
    {
      await using first = await startMaster(fresh);
      peel = await enrollPeel(first, "direct");
    }
    await using connection = await connectPeel(fresh, peel);
    const saved = bus;
    bus = fresh;
    try {
      const revoked = await svc(
        "enroll",
        "revoke",
        peel.enrollmentId,
        "--direct-kv",
        "--reason",
        "no master",
      );
      expect(revoked).toMatchObject({ exit: 0, stderr: expect.stringContaining("as soon as a master runs") });
      expect(await admitted(peel)).toBe(true);
      await using _ = await startMaster(fresh);
      await connection.logged("bus disconnected");
      expect(await admitted(peel)).toBe(false);
    } finally {
      bus = saved;
    }
  });

  test("an operator writes it to storage past a running master: it looks soon", async () => {
    const clock = manualClock(systemClock.now());
    await using fresh = await startBus();
    await using minder = await startMaster(fresh, { clock });
    const peel = await enrollPeel(minder, "past");
    await using connection = await connectPeel(fresh, peel);
    const masters = await connectTo(fresh, "master");
    const bucket = await openBucket(masters, "revocations");
    const seen = Promise.withResolvers<void>();
    const watch = bucket.watch(() => seen.resolve());
    await writeRevocation(bucket, {
      busPublicKey: subjectOf(peel),
      peelId: peel.peelId,
      enrollmentId: peel.enrollmentId,
      revokedAt: systemClock.now(),
      expiresAt: systemClock.now() + 3_600_000,
    });
    await seen.promise;
    // A write of the master itself after it: then its own watch has seen the entry too.
    expect((await operate(minder, (await enrollPeel(minder, "later")).enrollmentId, "approve")).status).toBe(
      409,
    );
    clock.advance(5_000);
    await connection.logged("bus disconnected");
    watch.stop();
    await masters.nats.close();
  });
});

test("an entry goes when its credentials are over, and not before", async () => {
  const masters = await connectTo(bus, "master");
  const bucket = await openBucket(masters, "revocations");
  const list = createRevocations({ bucket, log: recordingLog() });
  const now = systemClock.now();
  const hour = 3_600_000;
  const entry = (expiresAt: number) => ({
    busPublicKey: newKeyPair("user", systemRandom).publicKey,
    peelId: "old",
    enrollmentId: "enr-old",
    revokedAt: now - hour,
    expiresAt,
  });
  // An hour of grace: the clock of a master may be ahead of the one that ends the credentials.
  const [over, justOver, valid] = [entry(now - hour), entry(now - hour + 1_000), entry(now + hour)];
  for (const one of [over, justOver, valid]) await list.add(one);
  const current = await list.current(now);
  expect([over, justOver, valid].map(({ busPublicKey }) => current.has(busPublicKey))).toEqual([
    false,
    true,
    true,
  ]);
  expect(await list.prune(now)).toBe(1);
  expect(await bucket.get(over.busPublicKey)).toBeUndefined();
  expect(await bucket.get(justOver.busPublicKey)).toBeDefined();
  list.stop();
  await masters.nats.close();
});
