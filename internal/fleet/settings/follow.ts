import { type FSWatcher, watch } from "node:fs";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { changedPaths, readTree, type SettingsTree } from "./tree.ts";

/** Files are usually changed in groups. */
const quietMs = 250;
/** Interval of polling, which finds changes without notification, such as on a network file system. */
const rescanMs = 30_000;

/** A view of the current settings directory. */
export interface FollowedTree {
  readonly tree: SettingsTree;
  /** Why the directory cannot be read; the tree then keeps its previous content. */
  readonly problem: string | undefined;
  /** Calls `run` after each change with the changed paths. @returns a function that unsubscribes */
  onChange(run: (changed: ReadonlySet<string>) => void): () => void;
  /** Checks the directory now. */
  scan(): void;
  stop(): void;
}

/** Follows a settings directory, which may be created later or replaced as a whole. */
export function followTree(options: { directory: string; clock: Clock; log: Log }): FollowedTree {
  const { directory, clock, log } = options;
  const listeners = new Set<(changed: ReadonlySet<string>) => void>();
  let tree: SettingsTree = { directory, files: new Map() };
  let problem: string | undefined;
  let watcher: FSWatcher | undefined;
  let soon: Timer | undefined;
  let stopped = false;

  const look = () => {
    soon?.cancel();
    soon = undefined;
    try {
      const next = readTree(directory, tree);
      problem = undefined;
      const changed = changedPaths(tree, next);
      tree = next;
      if (changed.size === 0) return;
      log.debug("settings files changed", { directory, files: changed.size });
      for (const run of listeners) run(changed);
    } catch (thrown) {
      const reason = describeError(thrown);
      if (reason !== problem) log.error("the settings directory cannot be read", { directory, reason });
      problem = reason;
    }
  };
  const listen = () => {
    watcher?.close();
    watcher = undefined;
    try {
      watcher = watch(directory, { recursive: true }, () => {
        // Each event restarts the timer, so that a copy in progress is read after it is complete.
        soon?.cancel();
        if (!stopped) soon = clock.after(quietMs, look);
      });
      watcher.on("error", () => {
        watcher?.close();
        watcher = undefined;
      });
    } catch {
      // The directory may not exist yet; polling finds it when it is created.
    }
  };
  listen();
  look();
  const rescan = clock.every(rescanMs, () => {
    // After a directory is replaced, the old watch no longer reports changes.
    listen();
    look();
  });
  return {
    get tree() {
      return tree;
    },
    get problem() {
      return problem;
    },
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    scan: look,
    stop() {
      stopped = true;
      rescan.cancel();
      soon?.cancel();
      watcher?.close();
    },
  };
}
