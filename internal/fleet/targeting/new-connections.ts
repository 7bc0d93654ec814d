import type { Clock } from "../../base/clock.ts";
import { aliveMs } from "./fleet.ts";

interface Connection {
  id: string;
  name: string;
}

/** The connections of peels that began a moment ago: their first heartbeat may be under way. */
export interface NewConnections {
  began(connection: Connection): void;
  ended(connection: Connection): void;
  /** Whether a peel has one. */
  has(peel: string): boolean;
}

/** Remembers each for as long as a heartbeat counts. */
export function createNewConnections(clock: Pick<Clock, "monotonic">): NewConnections {
  // In the order in which they began.
  const known = new Map<string, { id: string; at: number }>();
  const forget = (now: number) => {
    for (const [peel, { at }] of known) {
      if (now - at < aliveMs) return;
      known.delete(peel);
    }
  };
  return {
    began({ id, name }) {
      const at = clock.monotonic();
      forget(at);
      known.delete(name);
      known.set(name, { id, at });
    },
    ended({ id, name }) {
      if (known.get(name)?.id === id) known.delete(name);
    },
    has(peel) {
      const at = known.get(peel)?.at;
      return at !== undefined && clock.monotonic() - at < aliveMs;
    },
  };
}
