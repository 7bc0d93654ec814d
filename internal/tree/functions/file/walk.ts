import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { StateFailure } from "../../function/mod.ts";
import { touching } from "./look.ts";

/** An entry below a directory. */
export interface Entry {
  /** Its path, for messages and comparisons. */
  path: string;
  /** Its path relative to the directory of the walk. */
  relative: string;
  /**
   * Path for system calls, through the open directory, so that a user who can write there cannot redirect the
   * access with a symbolic link. Valid until the walk continues.
   */
  at: string;
  stats: Stats;
}

/** Limits the number of open directories: one per level. */
const maxDepth = 128;
const descriptors = "/proc/self/fd";
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Walks the entries below a directory in sorted order, each directory before its contents. Does not follow
 * symbolic links and does not enter other file systems.
 *
 * @param depth maximum number of levels; unlimited when `undefined`
 * @param enter whether to enter a directory; called after the directory itself is yielded
 * @throws StateFailure when something cannot be read
 */
export function* walk(
  root: string,
  depth: number | undefined,
  enter: (entry: Entry) => boolean = () => true,
): Generator<Entry> {
  const byDescriptor = existsSync(descriptors);
  yield* level({ path: root, relative: "", at: root }, 0);

  function* level(directory: Omit<Entry, "stats">, above: number): Generator<Entry> {
    if (above > maxDepth) throw new StateFailure(`${directory.path} is nested too deep`);
    const open = touching("open", directory.path, () => openSync(directory.at, directoryFlags));
    try {
      const base = byDescriptor ? `${descriptors}/${open}` : directory.at;
      const names = touching("read", directory.path, () => readdirSync(base)).sort();
      const { dev } = lstatSync(`${base}/.`);
      for (const name of names) {
        const at = join(base, name);
        const stats = lstatSync(at, { throwIfNoEntry: false });
        if (stats === undefined) continue;
        const relative = directory.relative === "" ? name : `${directory.relative}/${name}`;
        const entry = { path: join(directory.path, name), relative, at, stats };
        yield entry;
        if (!stats.isDirectory() || stats.dev !== dev) continue;
        if (depth !== undefined && above + 1 >= depth) continue;
        if (enter(entry)) yield* level(entry, above + 1);
      }
    } finally {
      closeSync(open);
    }
  }
}
