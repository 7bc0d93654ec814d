import { posix } from "node:path";
import { isProduction, parse, type Source, type Violation } from "./source.ts";

const folderFiles = 40;
const doorNames = 40;

/** Folders with too many files, and doors that hand on too many names. */
export function checkRoomSizes(sources: Source[]): Violation[] {
  const code = sources.filter(isProduction).filter(({ path }) => path.startsWith("internal/"));
  const folders = [...Map.groupBy(code, ({ path }) => posix.dirname(path))].flatMap(([path, { length }]) =>
    length <= folderFiles
      ? []
      : [
          {
            path,
            problem: `has ${length} files; make folders of its subjects (${folderFiles} are allowed)`,
          },
        ],
  );
  const doors = code.flatMap((door) => {
    if (!door.path.endsWith("/mod.ts")) return [];
    const count = parse(door).taken.reduce((sum, { names }) => sum + names.length, 0);
    return count <= doorNames
      ? []
      : [
          {
            path: door.path,
            problem: `has ${count} names; hand on fewer, or split the room (${doorNames} are allowed)`,
          },
        ];
  });
  return [...folders, ...doors];
}
