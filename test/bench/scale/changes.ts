import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { findByPeel } from "../../../internal/fleet/enrollment/store/store.ts";
import { abortRotation, startRotation } from "../../../internal/identity/ca/mod.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { connectTo, type TestBus } from "../../harness/bus.ts";
import type { MasterDaemon } from "../../harness/fleet.ts";
import { operate } from "../../harness/peel-connection.ts";

// What an operator changes about peels: one loses its place in the fleet, and all are told of another root.

/**
 * Revokes a peel over REST, and waits until its connection has ended; the peel does not try again.
 *
 * @returns milliseconds from the request until the end of the connection, and until the answer
 */
export async function revoke(
  bus: TestBus,
  master: Pick<MasterDaemon, "url" | "token">,
  fleet: Fleet,
  peel: string,
): Promise<{ ended: number; answered: number }> {
  const connection = await connectTo(bus, "master");
  const id = (await findByPeel(await openBucket(connection, "enrollments"), peel))?.id ?? "";
  await connection.nats.close();
  const from = systemClock.monotonic();
  const gone = fleet.gone(peel).then(() => systemClock.monotonic());
  const { status } = await operate({ ...master, ca: bus.caPem }, id, "revoke");
  // 503: revoked, and not confirmed by all servers in time. The masters continue.
  if (status !== 200 && status !== 503) throw new Error(`${peel} was not revoked: ${status}`);
  const answered = systemClock.monotonic() - from;
  const ended = (await gone) - from;
  await fleet.stop([peel]);
  return { ended, answered };
}

const rootValidityMs = 365 * 24 * 3_600_000;

/**
 * Makes the next root of the fleet, as `svc ca rotate start` does, and waits until masters have told every peel of it.
 * Then it takes it back in the same way, so that it can be measured again.
 *
 * @returns milliseconds until every peel was told of the next root
 */
export async function publishNewRoot(bus: TestBus, fleet: Fleet): Promise<number> {
  const dir = join(bus.authDir, "ca");
  await fleet.reported([]);
  const from = systemClock.monotonic();
  const made = { dir, rootValidityMs, withoutRootKey: false, clock: systemClock, random: systemRandom };
  const { current, next } = await startRotation(made);
  await fleet.reported([current.pin, next.pin]);
  const ms = systemClock.monotonic() - from;
  await abortRotation(dir);
  return ms;
}
