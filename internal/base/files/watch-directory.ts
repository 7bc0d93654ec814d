import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import type { Clock, Timer } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";

export interface WatchOptions {
  onChange(): void;
  /**
   * Changes come in bunches: an editor, a checkout, a copy. `onChange` is called this long after the first of
   * them, milliseconds; 300 unless given.
   */
  settleMs?: number;
  /** Whether every change restarts that time, so that a copy in progress is read when it is complete. */
  untilQuiet?: boolean;
  /** How often `onChange` is called in any case, milliseconds; a minute unless given. */
  rescanMs?: number;
  /** Whether directories below count as well; they do by default. */
  recursive?: boolean;
  /** Called instead of the log, once until it is watched again, when the directory is there and cannot be. */
  onUnwatched?(thrown: unknown): void;
  clock: Clock;
  log: Log;
}

/**
 * Calls `onChange` some time after anything in a directory changed, and now and then in any case: a watch may
 * miss something, or not work at all on this file system. The directory may come, go and be replaced.
 */
export function watchDirectory(root: string, options: WatchOptions): { stop(): void } {
  const { onChange, settleMs = 300, rescanMs = 60_000, recursive = true, clock, log } = options;
  let watched: { watcher: FSWatcher; place: string } | undefined;
  let isReported = false;
  let pending: Timer | undefined;
  const notice = () => {
    if (options.untilQuiet === true) {
      pending?.cancel();
      pending = undefined;
    }
    pending ??= clock.after(settleMs, () => {
      pending = undefined;
      onChange();
    });
  };
  const close = () => {
    watched?.watcher.close();
    watched = undefined;
  };
  const report = (level: "debug" | "warn", message: string, thrown: unknown) => {
    close();
    if (isReported) return;
    isReported = true;
    if (options.onUnwatched !== undefined) return options.onUnwatched(thrown);
    log[level](message, { directory: root, reason: describeError(thrown) });
  };
  const open = () => {
    // A directory that was replaced leaves a watch on the old one, which tells nothing any more.
    const place = placeOf(root);
    if (place === watched?.place) return;
    close();
    if (place === undefined) return;
    watchPlace(place);
  };
  const watchPlace = (place: string) => {
    try {
      const watcher = watch(root, { recursive, persistent: false }, notice);
      watcher.on("error", (thrown) => {
        if (watched?.watcher === watcher) report("debug", "directory watch ended", thrown);
      });
      watched = { watcher, place };
      isReported = false;
    } catch (thrown) {
      report("warn", "directory cannot be watched; it is looked at every minute", thrown);
    }
  };
  open();
  const arrival = watchForArrival(root, () => {
    open();
    notice();
  });
  const rescan = clock.every(rescanMs, () => {
    open();
    arrival.check();
    onChange();
  });
  return {
    stop() {
      rescan.cancel();
      arrival.stop();
      pending?.cancel();
      close();
    },
  };
}

/**
 * Calls `onArrival` when a directory is made, removed or replaced. It watches the nearest directory above that
 * exists; where that cannot be watched, only the regular check is left.
 */
function watchForArrival(root: string, onArrival: () => void): { check(): void; stop(): void } {
  const path = resolve(root);
  let watched: { watcher: FSWatcher; above: string; place: string } | undefined;
  const close = () => {
    watched?.watcher.close();
    watched = undefined;
  };
  const check = () => {
    for (;;) {
      const above = nearestAbove(path);
      const place = placeOf(above);
      if (place === undefined || (watched?.above === above && watched.place === place)) return;
      close();
      const [name = ""] = relative(above, path).split(sep);
      const changed = (_: unknown, file: string | null) => {
        if (file !== null && file !== name) return;
        check();
        onArrival();
      };
      try {
        const watcher = watch(above, { persistent: false }, changed);
        watcher.on("error", close);
        // The next directory may have been made since: then the loop goes one step down.
        watched = { watcher, above, place };
      } catch {
        return;
      }
    }
  };
  check();
  return { check, stop: close };
}

/** The nearest directory above a path that exists. */
function nearestAbove(path: string): string {
  const above = dirname(path);
  return above === path || placeOf(above) !== undefined ? above : nearestAbove(above);
}

/** What tells a directory from another of the same name; `undefined` when there is none. */
function placeOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
