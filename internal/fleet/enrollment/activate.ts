import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import { type ApplyDeps, applyEvent, type Directory, findByPeel } from "./store/mod.ts";

export interface ActivateDeps extends ApplyDeps {
  facts: Pick<Bucket, "watch">;
  directory: Pick<Directory, "ready" | "stateOf" | "caughtUp">;
  log: Log;
}

/**
 * Moves an enrollment from `issued` to `active` when its peel publishes facts. Every master watches;
 * the compare-and-swap lets one of them do it.
 */
export function watchFacts(deps: ActivateDeps): { stop(): void } {
  let replaying = true;
  const replayed: Published[] = [];
  const isKnown = shareRuns(async () => {
    try {
      await deps.directory.caughtUp();
      return true;
    } catch {
      return false;
    }
  });
  const consider = (change: Published) => {
    const decide = async () => {
      // Nearly all facts are from members that are active already, and after the bus was away all of them are repeated.
      const isIdle = (await isKnown()) && deps.directory.stateOf(change.key) !== "issued";
      if (!isIdle) await activate(deps, change);
    };
    decide().catch((cause) =>
      deps.log.error("enrollment not activated", { peel_id: change.key, error: describeError(cause) }),
    );
  };
  const watch = deps.facts.watch(({ key, storedAt, value }) => {
    if (value === undefined) return;
    // Without the facts themselves: there may be many thousands.
    if (replaying) replayed.push({ key, storedAt });
    else consider({ key, storedAt });
  });
  // Of the facts stored before this master started, only those of issued peels matter.
  Promise.all([watch.ready, deps.directory.ready])
    .then(() => {
      replaying = false;
      for (const change of replayed.splice(0)) {
        if (deps.directory.stateOf(change.key) === "issued") consider(change);
      }
    })
    .catch((cause) => deps.log.error("facts cannot be watched", { error: cause }));
  return { stop: () => watch.stop() };
}

/** That a peel published facts, and when. */
type Published = Pick<Change, "key" | "storedAt">;

async function activate(deps: ActivateDeps, change: Published): Promise<void> {
  const record = (await findByPeel(deps.enrollments, change.key))?.current?.record;
  if (record?.state !== "issued") return;
  // Facts from an earlier enrollment of the same peel ID do not prove that the new credentials work.
  if (record.issuedAt !== undefined && change.storedAt < record.issuedAt) return;
  try {
    await applyEvent(deps, record.id, { type: "activate" });
    deps.log.info("enrollment active", { enrollment_id: record.id, peel_id: record.peelId });
  } catch (thrown) {
    // Another master was first, or the enrollment was revoked meanwhile.
    if (!(thrown instanceof SvcError && thrown.kind === "invalid_transition")) throw thrown;
  }
}
