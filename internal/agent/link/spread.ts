import { busClientSettings } from "../../bus/connection/mod.ts";

/** How a peel spreads the connections that the whole fleet opens at the same moment, after the bus was away. */
export interface Spread {
  /** Milliseconds until the next attempt to connect: a fixed pause, and a random part. */
  reconnectDelayMs(): number;
  /** Takes what masters said last; anything else than a number counts as unsaid. */
  reported(spreadMs: unknown): void;
}

const unsaidMs = 1_000;
/** Whatever a master says: a peel is not away for longer than that because of it. */
const maxMs = 120_000;

/**
 * Spreads reconnects over the time that masters name: they know the size of the fleet, and a connection costs the bus
 * processor time.
 *
 * @param jitter a number in [0, 1)
 */
export function createSpread(jitter: () => number): Spread {
  let spreadMs = unsaidMs;
  // Drawn once for each outage: the client library asks again after each pause, and waits longer when it hears more.
  // With a new part each time, most peels would come at the end.
  let part = jitter();
  return {
    reconnectDelayMs: () => Math.round(busClientSettings.reconnectWaitMs + spreadMs * part),
    reported(said) {
      const isNumber = typeof said === "number" && Number.isFinite(said);
      part = jitter();
      spreadMs = isNumber ? Math.min(Math.max(said, unsaidMs), maxMs) : unsaidMs;
    },
  };
}
