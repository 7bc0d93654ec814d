import type { Bus } from "../connection/mod.ts";
import { type ListedStream, listStreams } from "../jetstream/mod.ts";

/** The list of streams, for several readers that look at it again and again. */
export interface RecentStreams {
  /**
   * Lists the streams of the account, as `listStreams`. The answer to a request that began within the last `withinMs`
   * serves as well: it is the largest that a master asks for.
   *
   * @throws JetStreamError, NatsError when JetStream does not answer
   */
  list(withinMs: number): Promise<ListedStream[]>;
}

export function createRecentStreams(bus: Pick<Bus, "nats" | "clock">): RecentStreams {
  let last: { beganAt: number; streams: Promise<ListedStream[]> } | undefined;
  return {
    list(withinMs) {
      const now = bus.clock.monotonic();
      if (last !== undefined && now - last.beganAt < withinMs) return last.streams;
      const streams = listStreams(bus);
      const began = { beganAt: now, streams };
      last = began;
      // A failure is not kept for later callers.
      streams.catch(() => {
        if (last === began) last = undefined;
      });
      return streams;
    },
  };
}
