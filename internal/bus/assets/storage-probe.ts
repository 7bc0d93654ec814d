import { ErrorCode, NatsError } from "nats";
import { describeError, SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../connection/mod.ts";
import { JetStreamError, lastMessage, storeMessage } from "../jetstream/mod.ts";
import { keySubject } from "../subjects/subjects.ts";
import { type AssetName, streamName } from "./assets.ts";

/**
 * Where a probe writes: operators may write to `probe`. On a cluster, one message can stop a stream for good, so masters
 * have a bucket of their own.
 */
export type Probed = Extract<AssetName, "probe" | "master-probe">;

/**
 * Writes a small key and reads it, as everything else that is stored. One value is kept for each key, for an
 * hour.
 *
 * @param key of the program that asks
 * @returns when the bus stored it, by the clock of the bus, milliseconds since the Unix epoch
 * @throws SvcError `unavailable` naming the stream and what to do; `forbidden` without the permission
 */
export async function probeStorage(
  bus: Bus,
  probed: Probed,
  key: string,
  timeoutMs: number,
): Promise<{ storedAt: number }> {
  const stream = streamName(probed);
  const subject = keySubject(probed, key);
  const attempt = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (thrown) {
      throw problemOf(stream, what, thrown, timeoutMs);
    }
  };
  const value = encode(bus.clock.now());
  const written = await attempt("store", () => storeMessage(bus, subject, value, { timeoutMs }));
  const read = await attempt("give back", () => lastMessage(bus, stream, subject, timeoutMs));
  if (read !== undefined && read.sequence >= (written ?? 0)) return { storedAt: read.storedAt };
  throw new SvcError(
    "unavailable",
    `${stream} does not hold what was just stored: its replicas may differ; check the bus servers`,
  );
}

function problemOf(stream: string, what: string, thrown: unknown, timeoutMs: number): SvcError {
  const failure = (text: string) => new SvcError("unavailable", text, { cause: thrown });
  if (thrown instanceof JetStreamError) {
    const advice = "make room on the disk of the bus, or raise max_file_store of its server";
    return failure(`${stream} refuses to ${what} a value: ${thrown.message}: ${advice}`);
  }
  if (!(thrown instanceof NatsError)) return failure(`${stream}: ${describeError(thrown)}`);
  if (thrown.isPermissionError()) {
    return new SvcError("forbidden", `these credentials may not ${what} a value in ${stream}`, {
      cause: thrown,
    });
  }
  if (thrown.code === ErrorCode.NoResponders) {
    return failure(
      `no server stores ${stream}: start a master if none ran yet; otherwise JetStream is off: make room on the disk of the bus, then restart its server`,
    );
  }
  const limit = `within ${timeoutMs / 1000} s`;
  return failure(
    `${stream} does not ${what} a value ${limit}: its servers may be down, frozen or without a majority; check the bus servers`,
  );
}
