import { NatsError } from "nats";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { createConsumer, isNotFound, JetStreamError, orStorageError, streamState } from "../jetstream/mod.ts";
import { type AssetName, streamName } from "./assets.ts";

const timeoutMs = 3_000;
/** When the server removes the consumer, which is created only to read its creation time. */
const consumerLifeNs = 1_000_000_000;

/** Whether an asset can be read: it may be missing, or these credentials may not read it. */
export type AssetState = "there" | "missing" | "refused";

/**
 * Finds out which assets of the service exist, as far as these credentials allow.
 *
 * @throws SvcError `unavailable` when JetStream does not answer
 */
export async function inspectAssets(
  bus: Bus,
  names: readonly AssetName[],
): Promise<ReadonlyMap<AssetName, AssetState>> {
  const states = await Promise.all(
    names.map(async (name) => [name, await inspectAsset(bus, streamName(name))] as const),
  );
  return new Map(states);
}

/**
 * How many messages an asset contains.
 *
 * @throws SvcError `unavailable`
 */
export async function countStored(bus: Bus, name: AssetName): Promise<number> {
  return orStorageError(name, async () => (await streamState(bus, streamName(name), timeoutMs)).messages);
}

async function inspectAsset(bus: Bus, stream: string): Promise<AssetState> {
  try {
    await streamState(bus, stream, timeoutMs);
    return "there";
  } catch (thrown) {
    if (isNotFound(thrown)) return "missing";
    if (thrown instanceof JetStreamError) {
      throw new SvcError("unavailable", `JetStream refuses to describe ${stream}: ${thrown.message}`);
    }
    // A request without permission gets no reply; the server reports the violation separately.
    if (isRefused(thrown)) return "refused";
    throw silent(thrown);
  }
}

/** The most replicas that one of these assets has, as far as these credentials may look; 1 without any. */
export async function maxReplicas(bus: Bus, names: readonly AssetName[]): Promise<number> {
  const found = await Promise.all(
    names.map((name) => streamState(bus, streamName(name), timeoutMs).catch(() => undefined)),
  );
  return Math.max(1, ...found.map((state) => state?.replicas ?? 1));
}

/**
 * How far the clock of the bus is ahead of this one, in milliseconds, plus or minus half of `roundTripMs`.
 * The server records the creation time of each consumer.
 *
 * @param asset one that exists and that these credentials may read
 */
export async function clockDifference(
  bus: Bus,
  asset: AssetName,
): Promise<{ aheadMs: number; roundTripMs: number }> {
  const stream = streamName(asset);
  const config = {
    ack_policy: "none",
    deliver_policy: "new",
    max_waiting: 1,
    inactive_threshold: consumerLifeNs,
  };
  const sent = bus.clock.now();
  const started = bus.clock.monotonic();
  const created = await createConsumer(bus, stream, config, timeoutMs).catch((thrown) => {
    if (thrown instanceof JetStreamError) throw timeless(thrown.message);
    throw isRefused(thrown) ? timeless("these credentials do not allow it") : silent(thrown);
  });
  const roundTripMs = Math.round(bus.clock.monotonic() - started);
  if (created.created === undefined) throw timeless("no time");
  return { aheadMs: Math.round(Date.parse(created.created) - (sent + roundTripMs / 2)), roundTripMs };
}

function isRefused(thrown: unknown): boolean {
  return thrown instanceof NatsError && thrown.isPermissionError();
}

function timeless(reason: string): SvcError {
  return new SvcError("unavailable", `cannot read the time of the bus: ${reason}`);
}

function silent(thrown: unknown): SvcError {
  return new SvcError("unavailable", `JetStream does not answer: ${describeError(thrown)}`);
}
