import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import { changedPaths, readTree, type SettingsTree } from "../../tree/settings/mod.ts";

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

  const check = () => {
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
  const watching = watchDirectory(directory, {
    onChange: check,
    settleMs: quietMs,
    // A copy in progress is read after it is complete.
    untilQuiet: true,
    rescanMs,
    onUnwatched() {
      // Polling finds the changes.
    },
    clock,
    log,
  });
  check();
  return {
    get tree() {
      return tree;
    },
    get problem() {
      return problem;
    },
    onChange: (run) => subscribe(listeners, run),
    scan: check,
    stop: watching.stop,
  };
}
