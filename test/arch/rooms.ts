import { isProduction, parse, resolveImport, type Source, type Violation } from "./source.ts";

/** The floor of every room. Imports go down or stay on the same floor. A room without a floor is an error. */
const floors: Record<string, number> = {
  base: 1,

  config: 2,
  bus: 2,
  identity: 2,
  template: 2,

  ca: 3,
  trust: 3,
  enrollment: 3,
  bootstrap: 3,
  jobs: 3,
  targeting: 3,
  facts: 3,
  settings: 3,
  states: 3,
  modules: 3,
  host: 3,
  schedule: 3,
  reactor: 3,
  rollout: 3,
  upgrade: 3,
  gitfs: 3,
  lease: 3,
  natsauth: 3,
  natsserver: 3,
  setup: 3,
  diagnosis: 3,

  http: 4,
  admin: 4,
  health: 4,

  master: 5,
  peel: 5,
  watchdog: 5,
  cli: 5,

  cmd: 6,
};

/** The room a file is in: `internal/<room>/`, or `cmd` for everything under cmd/. */
function roomOf(path: string): string | undefined {
  if (path.startsWith("cmd/")) return "cmd";
  return /^internal\/([^/]+)\//.exec(path)?.[1];
}

/** Rooms without a floor, imports that go up, and imports that leave the house. */
export function checkDirection(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source) => {
    const room = roomOf(source.path);
    if (room === undefined) {
      if (!source.path.startsWith("internal/")) return [];
      return [{ path: source.path, problem: "stands in no room; move it into one" }];
    }
    const floor = floors[room];
    if (floor === undefined) {
      return [{ path: source.path, problem: `the room ${room} has no floor in test/arch/rooms.ts` }];
    }
    return relativeImports(source).flatMap((target): Violation[] => {
      // The manifest carries the version; it is the one file outside that ships.
      if (target === "package.json") return [];
      const targetRoom = roomOf(target);
      if (targetRoom === undefined) {
        return [{ path: source.path, problem: `imports ${target}, which is in no room` }];
      }
      const targetFloor = floors[targetRoom];
      if (targetFloor === undefined || targetFloor <= floor) return [];
      return [
        {
          path: source.path,
          problem: `imports ${target}: ${room} (floor ${floor}) may not know ${targetRoom} (floor ${targetFloor})`,
        },
      ];
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
      const targetRoom = roomOf(target);
      if (targetRoom !== undefined && targetRoom !== room) add(edges, room, targetRoom);
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
