import { posix } from "node:path";
import { isProduction, parse, type Source, type Violation } from "./source.ts";

const folderFiles = 40;
const doorNames = 40;

/** What is larger than allowed: folders by their files, doors by the names that they hand on. */
export interface Sizes {
  folders: Readonly<Record<string, number>>;
  doors: Readonly<Record<string, number>>;
}

/** Folders and doors that are too large, and entries of the list that are larger than what they stand for. */
export function checkRoomSizes(sources: Source[], limits: Sizes): Violation[] {
  const found = roomSizes(sources);
  return [
    ...compare(found.folders, limits.folders, folderFiles, "files; make folders of its subjects"),
    ...compare(found.doors, limits.doors, doorNames, "names; hand on fewer, or split the room"),
  ];
}

/** Every folder with more files, and every door with more names, than allowed. */
export function roomSizes(sources: Source[]): Sizes {
  const code = sources.filter(isProduction).filter(({ path }) => path.startsWith("internal/"));
  const folders = Map.groupBy(code, ({ path }) => posix.dirname(path));
  const doors = code.filter(({ path }) => path.endsWith("/mod.ts"));
  const namesOf = (door: Source) => parse(door).taken.reduce((sum, { names }) => sum + names.length, 0);
  return {
    folders: larger(
      [...folders].map(([path, files]) => [path, files.length] as const),
      folderFiles,
    ),
    doors: larger(
      doors.map((door) => [door.path, namesOf(door)] as const),
      doorNames,
    ),
  };
}

const larger = (sizes: readonly (readonly [string, number])[], max: number) =>
  Object.fromEntries(sizes.filter(([, size]) => size > max).sort(([one], [other]) => (one < other ? -1 : 1)));

function compare(
  found: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>,
  max: number,
  what: string,
): Violation[] {
  return [...new Set([...Object.keys(found), ...Object.keys(limits)])].sort().flatMap((path): Violation[] => {
    const limit = limits[path] ?? max;
    const size = found[path] ?? 0;
    if (size > limit) return [{ path, problem: `has ${size} ${what} (${limit} are allowed)` }];
    if (path in limits && size < limit) {
      return [{ path, problem: `is down to ${size}; lower or remove its limit of ${limit}` }];
    }
    return [];
  });
}
