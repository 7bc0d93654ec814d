import { existsSync } from "node:fs";
import { describeError } from "../../base/errors.ts";
import { TrustError } from "../../identity/trust/mod.ts";
import { acrossRotations, masterUrls, rungOf } from "../joining/mod.ts";
import { type Accepted, awaitSuccession, createPace, outrank } from "../succession/mod.ts";
import type { PeelDeps } from "./options.ts";

/** What differs between the fleets that a peel is in. */
export type FleetDeps = Pick<PeelDeps, "config" | "env" | "signal" | "succession">;

/**
 * Joins the fleet of this peel, and the one that succeeds it, and so on. A peel that no master satisfies does not
 * end as long as a succession can help it.
 *
 * @param join connects, and resolves when its signal aborts
 * @throws what `join` throws; the reason of the signal
 */
export async function inEachFleet(options: {
  deps: PeelDeps;
  accepted: Accepted;
  isConnected(): boolean;
  join(fleet: FleetDeps): Promise<void>;
  signal: AbortSignal;
}): Promise<void> {
  const { deps, accepted, signal, join } = options;
  const { files, recoveryKeys, log } = deps;
  const pace = createPace(files.successionRequested, deps);
  let refused = "";
  while (!signal.aborted) {
    const { statement } = accepted;
    const ways = outrank(deps, statement);
    const leaving = new AbortController();
    const leave = () => leaving.abort(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    let isRefused = false;
    const satisfied = Promise.withResolvers<void>();
    const fleet: FleetDeps = {
      ...ways,
      signal: leaving.signal,
      ...(statement === undefined ? {} : { succession: statement }),
    };
    const next = awaitSuccession({
      ...deps,
      ...{ accepted, pace, signal: leaving.signal, recoveryKeys },
      urls: masterUrls(ways.config),
      rung: () => rungOf(ways.config, files),
      across: () => acrossRotations(ways, files, deps.roots),
      key: () => (existsSync(files.seed) ? deps.keys.current() : undefined),
      isConnected: options.isConnected,
      isRefused: () => isRefused,
      onSatisfied: satisfied.resolve,
    }).then(
      ({ command_keys }) => {
        deps.commandKeys.replace(command_keys);
        leaving.abort(new Error("the peel joins another fleet"));
      },
      // Its signal aborted, which ends this round as well.
      () => {},
    );
    try {
      await join(fleet);
    } catch (thrown) {
      if (leaving.signal.aborted && !signal.aborted) continue;
      const mayWait = thrown instanceof TrustError && recoveryKeys.current.length > 0;
      if (!mayWait || signal.aborted) throw thrown;
      isRefused = true;
      const reason = describeError(thrown);
      if (reason !== refused) {
        log.error("no master satisfies this peel: waiting for a statement of succession", { reason });
      }
      refused = reason;
      // What answered there may have been a stranger: where a master of this fleet is back, this peel joins it.
      await Promise.race([next, satisfied.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
      await next;
    }
  }
}
