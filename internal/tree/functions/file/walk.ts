import type { Stats } from "node:fs";
import { shownText } from "../../../base/files/byte-text.ts";
import { type OpenedDirectory, openDirectory } from "../../../base/files/opened-directory.ts";
import { StateFailure } from "../../function/mod.ts";
import { touching } from "./inspect.ts";

/** An entry below a directory. Its name need not be UTF-8: people read `shownText` of it. */
export interface Entry {
  /** Its path, for messages and comparisons. */
  path: string;
  /** Its path relative to the directory of the walk. */
  relative: string;
  /** The directory that it is in, open until the walk continues. */
  directory: OpenedDirectory;
  /** Its name in that directory. */
  name: string;
  /** Its path for reading, through that directory. */
  at: string;
  stats: Stats;
}

/** Limits the number of open directories: one per level. */
const maxDepth = 128;

/**
 * Walks the entries below a directory in sorted order, each directory before its contents. Does not follow
 * symbolic links and does not enter other file systems.
 *
 * @param root a path, or a directory that stays open
 * @param depth maximum number of levels; unlimited when `undefined`
 * @param enter whether to enter a directory; called after the directory itself is yielded
 * @throws StateFailure when something cannot be read
 */
export function* walk(
  root: string | OpenedDirectory,
  depth: number | undefined,
  enter: (entry: Entry) => boolean = () => true,
): Generator<Entry> {
  if (typeof root !== "string") return yield* level(root, { path: root.path, relative: "" }, 0);
  using directory = touching("open", root, () => openDirectory(root));
  yield* level(directory, { path: root, relative: "" }, 0);

  function* level(
    directory: OpenedDirectory,
    named: Pick<Entry, "path" | "relative">,
    above: number,
  ): Generator<Entry> {
    if (above > maxDepth) throw new StateFailure(`${shownText(named.path)} is nested too deep`);
    const names = touching("read", named.path, () => directory.names()).sort();
    for (const name of names) {
      const stats = directory.stats(name);
      if (stats === undefined) continue;
      const relative = named.relative === "" ? name : `${named.relative}/${name}`;
      const at = `${directory.reach}/${name}`;
      // Functions of paths would replace what is not UTF-8.
      const entry = {
        path: `${named.path === "/" ? "" : named.path}/${name}`,
        relative,
        directory,
        name,
        at,
        stats,
      };
      yield entry;
      if (!stats.isDirectory() || stats.dev !== directory.own.dev) continue;
      if (depth !== undefined && above + 1 >= depth) continue;
      if (!enter(entry)) continue;
      using inside = touching("open", entry.path, () => directory.enter(name));
      yield* level(inside, entry, above + 1);
    }
  }
}
