import { outermostRoomOf, roomOf } from "./house.ts";
import { isProduction, parse, resolveImport, type Source, type Violation } from "./source.ts";

/** Rooms whose capabilities are operations. */
const domains = new Set(
  ["bootstrap", "binaries", "enrollment", "jobs", "operators", "reactor", "rollout", "targeting"].map(
    (name) => `fleet/${name}`,
  ),
);

/** Rooms that are doors: of a domain they take its table, and nothing else. */
const doors = new Set(["doors/rest", "doors/bus"]);

/** What decides and changes: `svc` may read what is stored, and does nothing else past an operation. */
const acting = [
  "internal/fleet/enrollment/store/apply.ts",
  "internal/fleet/enrollment/revocation/revoke.ts",
  "internal/fleet/enrollment/revocation/suspend.ts",
  "internal/fleet/jobs/cancel.ts",
  "internal/fleet/jobs/dispatch.ts",
  "internal/fleet/rollout/command.ts",
  "internal/fleet/rollout/start.ts",
];

/** Doors that reach past the operations of a room, and files that serve what no binding names. */
export function checkOperations(sources: Source[]): Violation[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  return sources.filter(isProduction).flatMap((source): Violation[] => {
    const room = roomOf(source.path)?.path ?? "";
    if (!doors.has(room) && room !== "cli") return [];
    const isPast = (origin: string) =>
      room === "cli" ? acting.includes(origin) : !/\/(?:joined|doors)\.ts$/.test(origin);
    const reached = parse(source).taken.flatMap(({ from, names }): Violation[] => {
      const target = resolveImport(source.path, from);
      const domain = target === undefined ? undefined : outermostRoomOf(target);
      if (target === undefined || domain === undefined || !domains.has(domain)) return [];
      return names.flatMap((name) => {
        const origin = originOf(byPath.get(target), target, name);
        if (!isPast(origin)) return [];
        const instead =
          room === "cli"
            ? `ask for an operation of internal/${domain}/operations.ts`
            : `read its table, internal/${domain}/joined.ts`;
        return [{ path: source.path, problem: `takes ${name} of ${origin}; ${instead}` }];
      });
    });
    const isBinding = source.path === "internal/doors/bus/bind.ts" || room !== "doors/bus";
    const serves = !isBinding && /\bbus\s*\.\s*serve\s*\(/.test(parse(source).code);
    if (!serves) return reached;
    return [...reached, { path: source.path, problem: "serves a subject; bind an operation to it" }];
  });
}

/** The file that a name comes from: behind a `mod.ts`, the file that this hands on. */
function originOf(module: Source | undefined, target: string, name: string): string {
  if (module === undefined || !target.endsWith("/mod.ts")) return target;
  const found = parse(module).taken.find(({ names }) => names.includes(name));
  return found === undefined ? target : (resolveImport(target, found.from) ?? target);
}
