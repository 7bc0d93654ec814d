import { NatsError } from "nats";
import { describeError, SvcError } from "../base/errors.ts";
import { type AssetName, streamName } from "./assets.ts";
import type { Bus } from "./connect.ts";

const timeoutMs = 3_000;
/** The server forgets the consumer that was only made for its time of birth. */
const consumerLifeNs = 1_000_000_000;

/** Whether an asset can be read: it is not there, or these credentials may not look at it. */
export type AssetState = "there" | "missing" | "refused";

/**
 * Finds out which assets of the service there are, as far as these credentials may look.
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

async function inspectAsset(bus: Bus, stream: string): Promise<AssetState> {
  const { error } = await ask(bus, `$JS.API.STREAM.INFO.${stream}`, "");
  if (error === undefined) return "there";
  if (error.code === 404) return "missing";
  if (error.code === "refused") return "refused";
  throw new SvcError("unavailable", `JetStream refuses to describe ${stream}: ${error.description}`);
}

/**
 * How far the clock of the bus is ahead of this one, milliseconds, give or take half of `roundTripMs`. The
 * server stamps each consumer with the time at which it was made.
 *
 * @param asset one that there is and that these credentials may read
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
  const subject = `$JS.API.CONSUMER.CREATE.${stream}`;
  const { created, error } = await ask(bus, subject, JSON.stringify({ stream_name: stream, config }));
  const roundTripMs = Math.round(bus.clock.monotonic() - started);
  if (created === undefined) {
    throw new SvcError("unavailable", `the bus did not tell its time: ${error?.description ?? "no time"}`);
  }
  return { aheadMs: Math.round(Date.parse(created) - (sent + roundTripMs / 2)), roundTripMs };
}

interface Reply {
  created?: string;
  error?: { code: number | "refused"; description: string };
}

async function ask(bus: Bus, subject: string, body: string): Promise<Reply> {
  try {
    return (await bus.nats.request(subject, body, { timeout: timeoutMs })).json<Reply>();
  } catch (thrown) {
    // What may not be published is never answered; the server tells so on its own.
    if (thrown instanceof NatsError && thrown.isPermissionError()) {
      return { error: { code: "refused", description: "these credentials may not ask" } };
    }
    throw new SvcError("unavailable", `JetStream does not answer: ${describeError(thrown)}`);
  }
}
