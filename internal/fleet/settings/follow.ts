import { type FSWatcher, watch } from "node:fs";
import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { changedPaths, readTree, type SettingsTree } from "./tree.ts";

/** Files are mostly changed several at once. */
const quietMs = 250;
/** What the system does not tell, as over a network file system, is found this much later. */
const rescanMs = 30_000;

/** A settings directory as it is now. */
export interface FollowedTree {
  readonly tree: SettingsTree;
  /** Why the directory cannot be read; then the tree is as it was before. */
  readonly problem: string | undefined;
  /** Calls `run` after each change with the paths whose content changed. @returns the way to stop */
  onChange(run: (changed: ReadonlySet<string>) => void): () => void;
  /** Looks now. */
  scan(): void;
  stop(): void;
}

/** Follows a settings directory; it may come later, and may be replaced as a whole. */
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
        // Each event waits anew, so that a copy in progress is read when it is over.
        soon?.cancel();
        if (!stopped) soon = clock.after(quietMs, look);
      });
      watcher.on("error", () => {
        watcher?.close();
        watcher = undefined;
      });
    } catch {
      // There may be none yet: the slow look finds it when it comes.
    }
  };
  listen();
  look();
  const rescan = clock.every(rescanMs, () => {
    // A directory that was replaced leaves a watch on the old one, which tells nothing any more.
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
