import type { Clock, Timer } from "../../base/clock.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";

/** How long a value beyond the budget waits; a later one of the same key takes its place. */
const lateMs = 10_000;

/**
 * A bucket whose watches report a key as often as its budget permits. What is beyond is late, not lost: the
 * latest value of each key is reported in the end.
 *
 * @param admit asked with the key and size of each new value
 */
export function paceWatch(
  bucket: Pick<Bucket, "watch">,
  admit: (key: string, bytes: number) => boolean,
  clock: Pick<Clock, "after">,
): Pick<Bucket, "watch"> {
  return {
    watch(onChange, keys) {
      const late = new Map<string, Change>();
      let timer: Timer | undefined;
      const report = () => {
        timer = undefined;
        const changes = [...late.values()];
        late.clear();
        for (const change of changes) onChange(change);
      };
      const watch = bucket.watch((change) => {
        const { key, value } = change;
        late.delete(key);
        if (value === undefined || admit(key, value.length)) return onChange(change);
        late.set(key, change);
        timer ??= clock.after(lateMs, report);
      }, keys);
      return {
        ready: watch.ready,
        caughtUp: () => watch.caughtUp(),
        stop() {
          timer?.cancel();
          watch.stop();
        },
      };
    },
  };
}
