import { longFunctions } from "./function-length.ts";
import { outermostRoomOf, roomOf } from "./house.ts";
import { isProduction, parse, readRepository, resolveImport, type Source } from "./source.ts";
import { approveWalk, countWalk } from "./walk.ts";

// The shape of the house in figures: bun test/arch/figures.ts

const sources = readRepository();
const production = sources.filter(isProduction).filter(({ path }) => /^(?:cmd|internal)\//.test(path));
const lines = (some: readonly Source[]) =>
  some.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);

/** The rooms that the files below a folder import. */
function roomsFrom(folder: string): Set<string> {
  const found = new Set<string>();
  for (const source of production.filter(({ path }) => path.startsWith(folder))) {
    for (const specifier of parse(source).imports) {
      const target = specifier === undefined ? undefined : resolveImport(source.path, specifier);
      const room = target === undefined ? undefined : roomOf(target)?.path;
      if (room !== undefined && room !== roomOf(source.path)?.path) found.add(room);
    }
  }
  return found;
}

const doors = production
  .filter(({ path }) => path.endsWith("/mod.ts"))
  .map((door) => [door.path, parse(door).taken.reduce((sum, { names }) => sum + names.length, 0)] as const)
  .sort(([, one], [, other]) => other - one);
const root = roomsFrom("internal/master/daemon/");
const figures = {
  "production files": production.length,
  "production lines": lines(production),
  "functions over 80 lines": longFunctions(production).length,
  "names of the widest doors": doors.slice(0, 5).map(([path, names]) => `${names} ${path}`),
  "names of all doors": doors.reduce((sum, [, names]) => sum + names, 0),
  "rooms of fleet that agent imports": [...roomsFrom("internal/agent/")].filter((room) =>
    room.startsWith("fleet/"),
  ).length,
  "rooms that the composition root of a master imports": root.size,
  "the same, a room with those inside it once": new Set(
    [...root].map((room) => outermostRoomOf(`internal/${room}/mod.ts`)),
  ).size,
  "walk of an approval": countWalk(approveWalk),
};
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
