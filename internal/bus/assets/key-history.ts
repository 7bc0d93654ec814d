import type { JetStreamManager, StreamConfig } from "nats";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../connection/mod.ts";
import { managerOf } from "../jetstream/mod.ts";

// Earlier revisions of a key are kept where there is room for them. Every revision counts against the limit of the
// bucket, and what does not fit is refused: without a limit of their own, earlier facts would keep out new ones.

/** From this part of its limit on a bucket keeps fewer revisions. */
const widePart = 0.7;
/** From this part on it keeps the latest alone: there is no time for a second look. */
const tightPart = 0.9;
/** Below this part a bucket may keep all that it should. */
const roomyPart = 0.35;

/**
 * How many revisions of a key a bucket should keep.
 *
 * @param wanted how many it keeps where there is room
 * @param retains how many it keeps now
 */
export function fittingHistory(
  { bytes, maxBytes }: { bytes: number; maxBytes: number },
  { wanted, retains }: { wanted: number; retains: number },
): number {
  const part = maxBytes > 0 ? bytes / maxBytes : 0;
  if (part >= tightPart) return 1;
  if (part >= widePart) return Math.max(1, Math.floor(retains / 2));
  return part < roomyPart ? wanted : Math.min(retains, wanted);
}

/**
 * Changes how many revisions of a key a stream keeps; the server removes the oldest at once. A failure is logged.
 *
 * @returns the configuration that the stream has then
 */
export async function keepRevisions(
  manager: JetStreamManager,
  existing: StreamConfig,
  revisions: number,
  log: Log,
): Promise<StreamConfig> {
  const from = existing.max_msgs_per_subject;
  if (from === revisions) return existing;
  const stream = existing.name;
  try {
    const { config } = await manager.streams.update(stream, { ...existing, max_msgs_per_subject: revisions });
    log.info("number of revisions changed", { stream, from, to: revisions });
    return config;
  } catch (cause) {
    log.warn("the number of revisions could not be changed", {
      ...{ stream, from, to: revisions, error: describeError(cause) },
    });
    return existing;
  }
}

/** Reads the configuration of a stream, and makes it keep fewer revisions. @throws NatsError */
export async function keepFewerRevisions(bus: Bus, stream: string, revisions: number): Promise<void> {
  const manager = await managerOf(bus);
  const { config } = await manager.streams.info(stream);
  if (config.max_msgs_per_subject <= revisions) return;
  await keepRevisions(manager, config, revisions, bus.log);
}
