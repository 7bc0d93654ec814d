import { type Clock, untilAborted } from "../../../base/clock.ts";
import { caughtUpInTime } from "../../../bus/storage/mod.ts";
import type { Directory, PendingCount } from "../store/mod.ts";

/** How long the watch of the directory may take before the bus is asked what it lacks. */
const watchMs = 1_000;

/**
 * Stores a record that takes a place, and withdraws it when masters that took places at the same moment stored theirs
 * before and left none: the order of the stream decides, so that the first of them stays.
 *
 * @param store returns `undefined` when nothing was stored
 * @param withdraw returns whether the record is gone: one that was decided about meanwhile stays
 * @throws SvcError `unavailable` with a time to come again when it was withdrawn
 */
export type Occupy = <T>(
  id: string,
  store: () => Promise<T | undefined>,
  withdraw: () => Promise<boolean>,
) => Promise<T | undefined>;

export interface OccupyOptions {
  directory: Pick<Directory, "ready" | "caughtUp" | "onCounted">;
  /** Why a record that was stored does not stay; `undefined` when it does. */
  refusalOf(pending: PendingCount): string | undefined;
  /** @throws SvcError `unavailable` with this message */
  refuse(message: string): never;
  clock: Clock;
}

export function createOccupy({ directory, refusalOf, refuse, clock }: OccupyOptions): Occupy {
  return async (id, store, withdraw) => {
    const counted = Promise.withResolvers<PendingCount | undefined>();
    let isCounted = false;
    const stop = directory.onCounted(id, (pending) => {
      isCounted = true;
      counted.resolve(pending);
    });
    try {
      const stored = await store();
      if (stored === undefined) return undefined;
      let refusal: string | undefined;
      try {
        await elapsedOr(counted.promise, clock);
        if (!isCounted) await caughtUpInTime(directory, "enrollments", clock);
        counted.resolve(undefined);
        const pending = await counted.promise;
        // Without a count, it was decided about or removed before this master saw it.
        refusal = pending === undefined ? undefined : refusalOf(pending);
      } catch (thrown) {
        if (await withdraw()) throw thrown;
      }
      if (refusal !== undefined && (await withdraw())) refuse(refusal);
      return stored;
    } finally {
      stop();
    }
  };
}

/** Resolves when the directory counted the record, or should have. */
async function elapsedOr(counted: Promise<unknown>, clock: Clock): Promise<void> {
  const late = new AbortController();
  const timer = clock.after(watchMs, () => late.abort());
  await Promise.race([counted, untilAborted(late.signal)]);
  timer.cancel();
}
