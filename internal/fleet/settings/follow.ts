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
  /** Why the directory cannot be read, or its files are refused; the tree then keeps its previous content. */
  readonly problem: string | undefined;
  /** Resolves when what was read so far is checked. */
  readonly checked: Promise<void>;
  /** Calls `run` after each change with the changed paths. @returns a function that unsubscribes */
  onChange(run: (changed: ReadonlySet<string>) => void): () => void;
  /** Checks the directory now. */
  scan(): void;
  stop(): void;
}

/** Why a tree does not come into force; `undefined` when nothing in it is broken. */
export type CheckTree = (tree: SettingsTree) => Promise<string | undefined>;

/**
 * Follows a settings directory, which may be created later or replaced as a whole.
 *
 * @param check what a tree passes before it comes into force; until then, and when it is refused, the last one stays
 */
export function followTree(options: {
  directory: string;
  check?: CheckTree | undefined;
  clock: Clock;
  log: Log;
}): FollowedTree {
  const { directory, check, clock, log } = options;
  const listeners = new Set<(changed: ReadonlySet<string>) => void>();
  let tree: SettingsTree = { directory, files: new Map() };
  /** The newest one that was read. */
  let candidate = tree;
  let unread: string | undefined;
  let refused: string | undefined;
  let checking: Promise<void> = Promise.resolve();

  const adopt = (next: SettingsTree) => {
    const changed = changedPaths(tree, next);
    tree = next;
    if (changed.size === 0) return;
    log.debug("settings files changed", { directory, files: changed.size });
    for (const run of listeners) run(changed);
  };
  const examine = async (next: SettingsTree, passes: CheckTree) => {
    // A newer one was read meanwhile.
    if (next !== candidate) return;
    const reason = await passes(next).catch(describeError);
    if (next !== candidate) return;
    if (reason === undefined) adopt(next);
    else if (reason !== refused) {
      log.error("the settings files are refused: the last good ones stay in force", { directory, reason });
    }
    refused = reason;
  };
  const scan = () => {
    try {
      const next = readTree(directory, candidate);
      unread = undefined;
      // What is under examination stays the candidate when only the times of its files changed.
      if (check !== undefined && changedPaths(candidate, next).size === 0) return;
      candidate = next;
      if (check === undefined) adopt(next);
      else checking = checking.then(() => examine(next, check));
    } catch (thrown) {
      const reason = describeError(thrown);
      if (reason !== unread) log.error("the settings directory cannot be read", { directory, reason });
      unread = reason;
    }
  };
  const watching = watchDirectory(directory, {
    onChange: scan,
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
  scan();
  return {
    get tree() {
      return tree;
    },
    get problem() {
      return unread ?? refused;
    },
    get checked() {
      return checking;
    },
    onChange: (run) => subscribe(listeners, run),
    scan,
    stop: watching.stop,
  };
}
