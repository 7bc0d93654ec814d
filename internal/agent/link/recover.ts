import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Connection } from "./connection.ts";

const checkMs = 10_000;
/** How long the bus may be unreachable before its URLs are fetched again (specification, "Limits"). */
const unhealthyMs = 5 * 60_000;
/** The same at a site: the peel does not know other servers then. */
const unhealthyAtSiteMs = 60_000;

export interface RecoverOptions {
  connection: Connection;
  /** Fetches the bus URLs from the masters. @returns `undefined` when they have none */
  discover(): Promise<readonly string[] | undefined>;
  /** Whether the peel was connected to the bus of its site. */
  isAtSite(): boolean;
  /** Whether masters said that the bus refuses this peel until a person ends that. */
  isHalted(): boolean;
  clock: Clock;
  /** A number in [0, 1) that spreads a fleet over half a minute. */
  jitter: () => number;
  log: Log;
}

/** Fetches the bus URLs again when the bus was unreachable for more than five minutes, and connects there. */
export function startRecovery(options: RecoverOptions): { stop(): void } {
  const { connection, clock, log } = options;
  let downSince: number | undefined;
  let actAt = 0;
  let acting = false;

  const patienceMs = () => (options.isAtSite() ? unhealthyAtSiteMs : unhealthyMs);
  const act = async () => {
    acting = true;
    try {
      log.warn("the bus is away for long; asking the masters where it is");
      const urls = await options.discover();
      if (!connection.connected) await connection.repoint(urls ?? connection.urls);
    } catch (thrown) {
      log.error("the masters could not be asked where the bus is", { error: describeError(thrown) });
      // A site without its bus may be without a way to the masters' listener too, and the bus of the masters is known.
      if (options.isAtSite() && !connection.connected) await connection.repoint(connection.urls);
    } finally {
      acting = false;
      actAt = clock.monotonic() + patienceMs() * (0.5 + options.jitter() / 2);
    }
  };
  const timer = clock.every(checkMs, () => {
    if (connection.connected || options.isHalted()) {
      downSince = undefined;
      return;
    }
    const now = clock.monotonic();
    if (downSince === undefined) {
      downSince = now;
      actAt = now + patienceMs() + options.jitter() * 30_000;
    }
    if (!acting && now > actAt) void act();
  });
  return { stop: () => timer.cancel() };
}
