import type { Bus } from "../../bus/connection/mod.ts";
import { type Bucket, type KeyCheck, untilKey } from "../../bus/storage/mod.ts";
import { isLive, type Rollout } from "./record.ts";
import { loadRollout } from "./show.ts";

export interface FollowDeps {
  bus: Pick<Bus, "nats" | "onReconnect" | "clock">;
  rollouts: Bucket;
}

/**
 * Follows a rollout until it has ended. It does not poll, but watches the record.
 *
 * @param onChange called at the start and after each change, except heartbeats
 * @returns the rollout as it ended
 * @throws SvcError `not_found`; the signal's reason
 */
export function followRollout(
  { bus, rollouts }: FollowDeps,
  id: string,
  onChange: (rollout: Rollout) => void,
  signal: AbortSignal,
): Promise<Rollout> {
  let shown: Rollout | undefined;
  return untilKey(bus, { bucket: "rollouts", key: id, signal }, async (): Promise<KeyCheck<Rollout>> => {
    const rollout = await loadRollout(rollouts, id);
    if (shown === undefined || !isSame(shown, rollout)) onChange(rollout);
    shown = rollout;
    return isLive(rollout) ? {} : { found: rollout };
  });
}

function isSame({ heartbeatAt: _, ...before }: Rollout, { heartbeatAt: __, ...after }: Rollout): boolean {
  return Bun.deepEquals(before, after);
}
