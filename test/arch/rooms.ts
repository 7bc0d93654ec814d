import { doesWithout, roomOf, rooms, wingIndex } from "./house.ts";
import { isProduction, parse, resolveImport, type Source, type Violation } from "./source.ts";

/** Files in no room, and imports that leave the house, go up, or reach a wing that stands higher. */
export function checkDirection(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source) => {
    const room = roomOf(source.path);
    if (room === undefined) {
      if (!source.path.startsWith("internal/")) return [];
      return [{ path: source.path, problem: "stands in no room of test/arch/house.ts; move it into one" }];
    }
    return relativeImports(source).flatMap((target): Violation[] => {
      // The manifest carries the version; it is the one file outside that ships.
      if (target === "package.json") return [];
      const other = roomOf(target);
      if (other === undefined)
        return [{ path: source.path, problem: `imports ${target}, which is in no room` }];
      if (other === room) return [];
      if (wingIndex(other) <= wingIndex(room) && other.floor < room.floor && !doesWithout(room, other))
        return [];
      const from = `${room.path} (floor ${room.floor})`;
      const to = `${other.path} (floor ${other.floor})`;
      return [{ path: source.path, problem: `imports ${target}: ${from} may not import ${to}` }];
    });
  });
}

/** Rooms whose floor is higher than what they import demands: the table would tell a house that is not there. */
export function checkFloors(sources: Source[]): Violation[] {
  const highest = new Map<string, number>();
  for (const source of sources.filter(isProduction)) {
    const room = roomOf(source.path);
    if (room === undefined) continue;
    const below = relativeImports(source).map((target) => roomOf(target));
    const floors = below.map((other) => (other === undefined || other === room ? 0 : other.floor));
    highest.set(room.path, Math.max(highest.get(room.path) ?? 0, ...floors));
  }
  return [...rooms.values()].flatMap(({ path, floor }): Violation[] => {
    const under = highest.get(path);
    if (under === undefined) return [{ path: `internal/${path}`, problem: "is a room without a file" }];
    if (under + 1 === floor) return [];
    return [
      { path: `internal/${path}`, problem: `stands on floor ${floor}; its imports put it on ${under + 1}` },
    ];
  });
}

/** A table of operations and their doors is data alone: the console reads it without the room. */
const isTable = (path: string) => /^internal\/fleet\/[^/]+\/doors\.ts$/.test(path);

/** Imports that enter a room of the house elsewhere than by its door. */
export function checkDoors(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source) => {
    const room = roomOf(source.path);
    return relativeImports(source).flatMap((target): Violation[] => {
      const other = roomOf(target);
      if (other === undefined || other === room || other.door === "every file" || isTable(target)) return [];
      const door = `internal/${other.path}/${other.door}`;
      if (target === door) return [];
      return [{ path: source.path, problem: `imports ${target}; the door of ${other.path} is ${door}` }];
    });
  });
}

/** Cycles between rooms of the same floor: each names the rooms in order. */
export function checkRoomCycles(sources: Source[]): Violation[] {
  const edges = new Map<string, Set<string>>();
  for (const source of sources.filter(isProduction)) {
    const room = roomOf(source.path);
    if (room === undefined) continue;
    for (const target of relativeImports(source)) {
      const other = roomOf(target);
      if (other !== undefined && other !== room) add(edges, room.path, other.path);
    }
  }
  return cyclesIn(edges).map((cycle) => ({
    path: `internal/${cycle[0]}`,
    problem: `the rooms import each other: ${cycle.join(" -> ")}`,
  }));
}

/** Cycles between files, type-only and dynamic imports included. */
export function checkFileCycles(sources: Source[]): Violation[] {
  const edges = new Map<string, Set<string>>();
  for (const source of sources.filter(isProduction)) {
    for (const target of relativeImports(source)) add(edges, source.path, target);
  }
  return cyclesIn(edges).map((cycle) => ({
    path: cycle[0] ?? "",
    problem: `the files import each other: ${cycle.join(" -> ")}`,
  }));
}

function relativeImports(source: Source): string[] {
  return parse(source).imports.flatMap((specifier) => {
    const target = specifier === undefined ? undefined : resolveImport(source.path, specifier);
    return target === undefined ? [] : [target];
  });
}

function add(edges: Map<string, Set<string>>, from: string, to: string): void {
  edges.set(from, (edges.get(from) ?? new Set()).add(to));
}

/** Each cycle that a depth-first walk closes, as the nodes along it with the first one repeated. */
function cyclesIn(edges: Map<string, Set<string>>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const walk = (node: string): void => {
    const at = trail.indexOf(node);
    if (at !== -1) {
      found.push([...trail.slice(at), node]);
      return;
    }
    if (done.has(node)) return;
    trail.push(node);
    for (const next of edges.get(node) ?? []) walk(next);
    trail.pop();
    done.add(node);
  };
  for (const node of edges.keys()) walk(node);
  return found;
}
