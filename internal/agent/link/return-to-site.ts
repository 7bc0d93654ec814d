import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Connection } from "./connection.ts";

/** How often a peel looks whether the bus of its site is back; up to twice that, so that a site does not return at once. */
const checkMs = 60_000;

/**
 * Brings a peel that had to leave the bus of its site back to it.
 *
 * @param options.isAway whether the site has a bus, and this peel is connected elsewhere
 * @param options.open connects to the bus of the site. @throws when nothing answers there
 */
export function returnToSite(options: {
  connection: Pick<Connection, "connected" | "reopen">;
  isAway(): boolean;
  open(): Promise<Bus>;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}): { stop(): void } {
  const { connection, isAway, open, clock, jitter, log } = options;
  const check = async () => {
    if (!connection.connected || !isAway()) return;
    try {
      await connection.reopen(open, () => {});
      log.info("back at the bus of the site");
    } catch (thrown) {
      log.debug("the bus of the site does not answer", { reason: describeError(thrown) });
    }
  };
  const wait = (): Timer =>
    clock.after(checkMs * (1 + jitter()), () => {
      void check().finally(() => {
        if (!stopped) timer = wait();
      });
    });
  let stopped = false;
  let timer = wait();
  return {
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
