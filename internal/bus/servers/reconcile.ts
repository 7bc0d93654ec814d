import type { Clock } from "../../base/clock.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { SystemBus } from "./system.ts";

const everyMs = 60_000;
/** When to look again after the bus did not confirm, or after another writer stored a change. */
const soonMs = 5_000;
/** A request over the bus times out after 5 s: the reply must come earlier. */
const confirmMs = 4_000;
/** How often one run pushes claims; each push after the first reacts to one of another master. */
export const maxPushes = 8;

export interface ReconcileDeps {
  /**
   * Compares the claims on the bus with what is stored, and pushes until they agree.
   *
   * @param checkAgainSoon plans another run, for one that gives up
   * @returns whether every server confirmed
   */
  run(checkAgainSoon: () => void): Promise<boolean>;
  /** After each run in the background. */
  onRun(confirmed: boolean): Promise<void>;
  onFailure(cause: unknown): void;
  /** Reports what other writers store; the result ends it. */
  onForeign(hint: () => void): () => void;
  system: Pick<SystemBus, "onServerJoin">;
  clock: Clock;
}

/** Makes the claims of an account on the bus agree with what is stored. */
export interface Reconciler {
  /**
   * Updates the bus; calls during a run share the next run.
   *
   * @returns whether every server of the cluster confirmed what was stored before this call within 4 s; if not,
   * it is repeated until they do
   */
  enforce(): Promise<boolean>;
  /** Enforces at start, when a server joins, soon after a hint and every minute, until stopped. */
  start(): { stop(): void };
}

export function createReconciler({
  run,
  onRun,
  onFailure,
  onForeign,
  system,
  clock,
}: ReconcileDeps): Reconciler {
  let started = false;
  let again: { cancel(): void } | undefined;

  const checkAgainSoon = () => {
    if (!started) return;
    again ??= clock.after(soonMs, () => {
      again = undefined;
      inBackground();
    });
  };
  // A run in progress may have read the storage before a caller wrote to it.
  const share = shareRuns(() => run(checkAgainSoon));
  const inBackground = () => {
    share()
      .then(onRun)
      .catch((cause) => {
        onFailure(cause);
        checkAgainSoon();
      });
  };
  return {
    async enforce() {
      const late = Promise.withResolvers<boolean>();
      const timer = clock.after(confirmMs, () => late.resolve(false));
      const running = share();
      // Also when it fails after the caller got the answer that it is not confirmed.
      running.catch(checkAgainSoon);
      try {
        return await Promise.race([running, late.promise]);
      } finally {
        timer.cancel();
      }
    },
    start() {
      started = true;
      inBackground();
      const timer = clock.every(everyMs, inBackground);
      const ignoreServers = system.onServerJoin(inBackground);
      const ignoreForeign = onForeign(checkAgainSoon);
      return {
        stop() {
          started = false;
          timer.cancel();
          again?.cancel();
          ignoreServers();
          ignoreForeign();
        },
      };
    },
  };
}
