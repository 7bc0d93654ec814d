import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { StateFailure } from "../../function/function.ts";
import { touching } from "./look.ts";

/** Something below a directory. */
export interface Entry {
  /** Its path for people, and for what is compared. */
  path: string;
  /** Its path below the directory of the walk. */
  relative: string;
  /**
   * How it is reached: through the directory that was opened, so that whoever may write there cannot lead
   * this elsewhere with a symbolic link. Good until the walk goes on.
   */
  at: string;
  stats: Stats;
}

/** Bounds the open directories, one for each level. */
const maxDepth = 128;
const descriptors = "/proc/self/fd";
const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Walks through what is below a directory, sorted, each directory before what is in it. Symbolic links are
 * seen and not followed; other file systems are not entered.
 *
 * @param depth how many levels are walked; every one when `undefined`
 * @param enter whether a directory is entered, asked after it was seen
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
    if (above > maxDepth) throw new StateFailure(`${directory.path} is too deep to be walked through`);
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
