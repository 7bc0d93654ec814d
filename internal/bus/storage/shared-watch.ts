import type { Bucket } from "./bucket.ts";
import type { Change, Watch } from "./entry.ts";

/** One watch of a bucket for several followers: the bus sends every value once. */
export interface SharedWatch {
  /**
   * Follows the bucket, as `Bucket.watch` does; the last follower that stops ends the watch.
   *
   * @throws Error when the watch already runs: earlier values would be missed
   */
  watch(onChange: (change: Change) => void): Watch;
  /** Starts the watch, after all followers were added. */
  start(): void;
}

export function shareWatch(bucket: Pick<Bucket, "watch">): SharedWatch {
  const followers = new Set<(change: Change) => void>();
  const started = Promise.withResolvers<Watch>();
  let source: Watch | undefined;
  return {
    watch(onChange) {
      if (source !== undefined) throw new Error("a shared watch was followed after its start");
      const follower = (change: Change) => onChange(change);
      followers.add(follower);
      return {
        ready: started.promise.then((watch) => watch.ready),
        caughtUp: async () => (await started.promise).caughtUp(),
        stop() {
          followers.delete(follower);
          if (followers.size === 0) source?.stop();
        },
      };
    },
    start() {
      if (source !== undefined) return;
      source = bucket.watch((change) => {
        for (const report of followers) report(change);
      });
      started.resolve(source);
    },
  };
}
