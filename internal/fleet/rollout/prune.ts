import type { Bucket } from "../../bus/storage/mod.ts";
import { releaseClaim } from "./claim.ts";
import { decodeTargets, isLive, type Rollout, targetsKey } from "./record.ts";

/** Number of ended rollouts to keep. */
const maxFinished = 1_000;

/**
 * Removes the oldest rollouts that have ended, with their frozen lists. Any master may do it, and several at
 * once.
 *
 * @throws SvcError `storage`
 */
export async function pruneRollouts(
  rollouts: Bucket,
  known: readonly { rollout: Rollout; revision: number }[],
  retain = maxFinished,
): Promise<void> {
  const finished = known.filter(({ rollout }) => !isLive(rollout));
  if (finished.length <= retain) return;
  finished.sort((a, b) => b.rollout.createdAt - a.rollout.createdAt);
  for (const { rollout, revision } of finished.slice(retain)) {
    // Remove the list first: it can only be found through the record.
    const list = await rollouts.get(targetsKey(rollout.id));
    if (list !== undefined) {
      await releaseClaim(rollouts, rollout, decodeTargets(list.value));
      await rollouts.remove(list.key, list.revision);
    }
    await rollouts.remove(rollout.id, revision);
  }
}
