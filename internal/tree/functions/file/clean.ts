import { shownText } from "../../../base/files/byte-text.ts";
import { type Changes, type StateContext, StateFailure } from "../../function/mod.ts";
import { kindOf, realPathOf, touching } from "./inspect.ts";
import { mountsAt } from "./mounts.ts";
import { removalProblem } from "./path.ts";
import { readPatterns } from "./pattern.ts";
import { type Entry, walk } from "./walk.ts";

/**
 * Plans the removal of unmanaged files in a directory. Paths of other states of the run are kept, with
 * everything below them and the directories above them.
 *
 * @param own the paths that the state itself manages, relative to the directory
 * @throws StateFailure when the directory must not be cleaned
 */
export function planClean(
  directory: string,
  excluded: readonly string[] | undefined,
  own: { files: readonly string[]; directories: readonly string[] },
  { described }: StateContext,
): { changes: Changes; apply(): void } {
  const real = realPathOf(directory);
  const [mount] = mountsAt(real).filter((point) => point !== real);
  const problem = removalProblem(directory) ?? removalProblem(real);
  if (problem !== undefined) throw new StateFailure(`clean: ${problem}`);
  if (mount !== undefined) throw new StateFailure(`clean: a file system is mounted on ${mount}`);
  const prefix = `${directory}/`;
  const names = described.map(({ name }) => name).filter((name) => name.startsWith(prefix));
  const whole = new Set([...names, ...own.files.map((each) => `${prefix}${each}`)]);
  const isExcluded = readPatterns(excluded) ?? (() => false);
  const leading = own.directories.map((each) => `${prefix}${each}`);
  const kept = keptPaths(directory, { whole, leading: new Set(leading) }, isExcluded);
  const changes: Changes = {};
  for (const { path, at, stats } of removable(directory, kept)) {
    changes[shownText(path)] = { removed: kindOf(at, stats) };
  }
  return {
    changes,
    apply() {
      for (const { path, directory: parent, name } of removable(directory, kept)) {
        touching("remove", path, () => parent.removeTree(name));
      }
    },
  };
}

interface Kept {
  /** Kept with all their contents. */
  whole: ReadonlySet<string>;
  /** Kept because of something below them. */
  leading: ReadonlySet<string>;
}

/** Adds the excluded paths, and the directories above the kept paths. */
function keptPaths(directory: string, known: Kept, isExcluded: (relative: string) => boolean): Kept {
  const whole = new Set(known.whole);
  const leading = new Set(known.leading);
  for (const { path, relative } of walk(directory, undefined, (entry) => !whole.has(entry.path))) {
    if (!whole.has(path) && !isExcluded(relative)) continue;
    whole.add(path);
    for (let at = above(path); at !== directory; at = above(at)) leading.add(at);
  }
  return { whole, leading };
}

/** The directory of an entry. Functions of paths would replace what is not UTF-8. */
function above(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function* removable(directory: string, { whole, leading }: Kept): Generator<Entry> {
  for (const entry of walk(directory, undefined, ({ path }) => leading.has(path))) {
    if (!whole.has(entry.path) && !leading.has(entry.path)) yield entry;
  }
}
