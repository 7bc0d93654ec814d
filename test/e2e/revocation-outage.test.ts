import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { readTextFile, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { newCredentials } from "../../internal/bus/accounts/users.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { startMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Revocation while the bus, or the part of it that revokes, is not there. These tests wait for the real
// time limits of the product.

/** Credentials that connect, but whose system requests nobody answers: they belong to another account. */
function powerlessCredentials(bus: TestBus): string {
  const signer = keyPairFromSeed("account", readTextFile(join(bus.authDir, "account.seed"), "account.seed"));
  return newCredentials("system", signer, Math.floor(systemClock.now() / 1000), systemRandom);
}

test("what the bus does not confirm is answered by 503 in 5 s, is revoked, and is enforced later", async () => {
  await using bus = await startBus();
  const systemFile = join(bus.authDir, "system.creds");
  const system = readTextFile(systemFile, "system.creds");
  let peel: EnrolledPeel;
  {
    await using able = await startMaster(bus);
    peel = await enrollPeel(able, "unconfirmed");
  }
  await using connection = await connectPeel(bus, peel);
  writeFileAtomic(systemFile, powerlessCredentials(bus), secretMode);
  {
    await using unable = await startMaster(bus);
    const started = systemClock.monotonic();
    const reply = await operate(unable, peel.enrollmentId, "revoke");
    // It gives up after less than 5 s; on a busy machine, the answer comes later.
    expect(systemClock.monotonic() - started).toBeLessThan(10_000);
    expect([reply.status, reply.text]).toEqual([
      503,
      expect.stringContaining("is revoked, but the bus did not confirm in time"),
    ]);
    // The record is what it says, and the connection is what it was.
    expect((await operate(unable, peel.enrollmentId, "revoke")).status).toBe(409);
    await connection.nats.flush();
    expect(connection.records).toEqual([]);
  }
  writeFileAtomic(systemFile, system, secretMode);
  await using _ = await startMaster(bus);
  await connection.logged("bus disconnected");
}, 60_000);

test("nothing is stored while the bus is away: the operator is told, and tries again", async () => {
  await using bus = await startBus();
  await using master = await startMaster(bus);
  const peel = await enrollPeel(master, "later");
  await bus.stop();
  const refused = await operate(master, peel.enrollmentId, "revoke");
  const away = { error: expect.stringContaining("check the bus with svc doctor") };
  expect([refused.status, refused.json]).toEqual([503, away]);
  await bus.start();
  await using connection = await connectPeel(bus, peel);
  // The master reconnects within 2 s; a request before that is answered as above.
  const { status } = await until(
    () => operate(master, peel.enrollmentId, "revoke"),
    (reply) => reply.status !== 503,
  );
  expect(status).toBe(200);
  await connection.logged("bus disconnected");
}, 60_000);
