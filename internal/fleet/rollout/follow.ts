import type { Bucket } from "../../bus/bucket.ts";
import type { Bus } from "../../bus/connect.ts";
import { keySubject } from "../../bus/subjects.ts";
import { isLive, type Rollout } from "./record.ts";
import { loadRollout } from "./show.ts";

export interface FollowDeps {
  bus: Pick<Bus, "nats" | "onReconnect">;
  rollouts: Bucket;
}

/**
 * Follows a rollout until it has ended. Nothing is asked in between: a change of the record tells it.
 *
 * @param onChange called at the start and with everything new, but for mere heartbeats
 * @returns the rollout as it ended
 * @throws SvcError `not_found`; the signal's reason
 */
export async function followRollout(
  { bus, rollouts }: FollowDeps,
  id: string,
  onChange: (rollout: Rollout) => void,
  signal: AbortSignal,
): Promise<Rollout> {
  let changed = Promise.withResolvers<void>();
  changed.promise.catch(() => {});
  const wake = () => changed.resolve();
  // Subscribed first and read after: what comes between the two is seen twice, never missed.
  const subscription = bus.nats.subscribe(keySubject("rollouts", id), { callback: wake });
  const unsubscribe = bus.onReconnect(wake);
  const abort = () => changed.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await bus.nats.flush();
    let shown: Rollout | undefined;
    for (;;) {
      signal.throwIfAborted();
      changed = Promise.withResolvers();
      changed.promise.catch(() => {});
      const rollout = await loadRollout(rollouts, id);
      if (shown === undefined || !isSame(shown, rollout)) onChange(rollout);
      shown = rollout;
      if (!isLive(rollout)) return rollout;
      await changed.promise;
    }
  } finally {
    subscription.unsubscribe();
    unsubscribe();
    signal.removeEventListener("abort", abort);
  }
}

function isSame({ heartbeatAt: _, ...before }: Rollout, { heartbeatAt: __, ...after }: Rollout): boolean {
  return Bun.deepEquals(before, after);
}
