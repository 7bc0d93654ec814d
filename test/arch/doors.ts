import { isProduction, parse, resolveImport, type Source, type Violation } from "./source.ts";

/** Rooms whose capabilities are operations. */
const domains = ["bootstrap", "enrollment", "jobs", "reactor", "rollout", "targeting", "upgrade"];

/** What decides and changes: the command line reads storage by itself, and does nothing else past an operation. */
const acting = [
  "internal/fleet/enrollment/approve.ts",
  "internal/fleet/enrollment/reject.ts",
  "internal/fleet/enrollment/revoke.ts",
  "internal/fleet/jobs/cancel.ts",
  "internal/fleet/jobs/dispatch.ts",
  "internal/fleet/rollout/command.ts",
  "internal/fleet/rollout/start.ts",
];

/** Files of the bus door that answer peels, which ask for no operations. */
const forPeels = ["internal/master/doors/peels/fetch.ts", "internal/master/doors/peels/hello.ts"];

/** Doors that reach past the operations of a room, and files that serve what no binding names. */
export function checkDoors(sources: Source[]): Violation[] {
  return sources.filter(isProduction).flatMap((source): Violation[] => {
    const { path } = source;
    if (forPeels.includes(path)) return [];
    const room = /^internal\/(http|admin|cli)\//.exec(path)?.[1];
    if (room === undefined) return [];
    const reached = parse(source).imports.flatMap((specifier): Violation[] => {
      const target = specifier === undefined ? undefined : resolveImport(path, specifier);
      const [, domain = "", file = ""] = /^internal\/([^/]+)\/(.+)$/.exec(target ?? "") ?? [];
      const isPast =
        room === "cli" ? acting.includes(target ?? "") : domains.includes(domain) && file !== "operations.ts";
      if (!isPast) return [];
      return [
        { path, problem: `imports ${target}; ask for an operation of internal/${domain}/operations.ts` },
      ];
    });
    const isBinding = path === "internal/master/doors/bus/bind.ts" || room !== "admin";
    const serves = !isBinding && /\bbus\s*\.\s*serve\s*\(/.test(parse(source).code);
    return serves ? [...reached, { path, problem: "serves a subject; bind an operation to it" }] : reached;
  });
}
