import { existsSync, type FSWatcher, watch } from "node:fs";
import type { Clock, Timer } from "./clock.ts";
import { describeError } from "./errors.ts";
import type { Log } from "./log.ts";

/** Changes come in bursts: from an editor, a checkout or a copy. */
const debounceMs = 300;
/** A watch may miss changes, or may not work at all on this file system. */
const rescanMs = 60_000;

/**
 * Calls `onChange` shortly after something below a directory changed, and at least once a minute. The
 * directory may be removed and created again.
 */
export function watchDirectory(
  root: string,
  { onChange, clock, log }: { onChange: () => void; clock: Clock; log: Log },
): { stop(): void } {
  let watcher: FSWatcher | undefined;
  let pending: Timer | undefined;
  const notice = () => {
    pending ??= clock.after(debounceMs, () => {
      pending = undefined;
      onChange();
    });
  };
  const close = () => {
    watcher?.close();
    watcher = undefined;
  };
  const open = () => {
    if (!existsSync(root)) return close();
    if (watcher !== undefined) return;
    try {
      watcher = watch(root, { recursive: true }, notice);
      watcher.on("error", (thrown) => {
        log.debug("directory watch ended", { directory: root, reason: describeError(thrown) });
        close();
      });
    } catch (thrown) {
      log.warn("directory cannot be watched; it is checked every minute", {
        directory: root,
        reason: describeError(thrown),
      });
    }
  };
  open();
  const rescan = clock.every(rescanMs, () => {
    open();
    onChange();
  });
  return {
    stop() {
      rescan.cancel();
      pending?.cancel();
      close();
    },
  };
}
