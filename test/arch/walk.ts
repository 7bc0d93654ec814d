import { outermostRoomOf } from "./house.ts";
import type { Source, Violation } from "./source.ts";

/** One stop of a request: a file, and the text in it by which the request goes on to the next stop. */
export interface Stop {
  path: string;
  goesOnBy: string;
}

/**
 * The walk of an approval over REST, from the route to the compare-and-swap of the record. A stop that calls several
 * others comes before all of them. Over the bus the first two stops are those of doors/bus.
 */
export const approveWalk: readonly Stop[] = [
  { path: "internal/doors/rest/listener.ts", goesOnBy: "route.handle(" },
  { path: "internal/doors/rest/bind.ts", goesOnBy: "invoke(" },
  { path: "internal/fleet/operation/invoke.ts", goesOnBy: "parse(" },
  { path: "internal/fleet/operation/parse.ts", goesOnBy: "v.safeParse(" },
  { path: "internal/fleet/gate/gate.ts", goesOnBy: "roles.authorize(" },
  { path: "internal/fleet/roles/gate.ts", goesOnBy: "decide(" },
  { path: "internal/fleet/roles/decide.ts", goesOnBy: "decideFor(" },
  { path: "internal/fleet/gate/entry.ts", goesOnBy: "describeSubjects(" },
  { path: "internal/fleet/audit/recorder.ts", goesOnBy: "audit.append(" },
  { path: "internal/fleet/audit/append.ts", goesOnBy: "append" },
  { path: "internal/fleet/enrollment/operations.ts", goesOnBy: "applyEvent(" },
  { path: "internal/fleet/enrollment/store/apply.ts", goesOnBy: "saveEnrollment(" },
  { path: "internal/fleet/enrollment/record/transition.ts", goesOnBy: "approve" },
  { path: "internal/fleet/enrollment/store/store.ts", goesOnBy: "enrollments.update(" },
];

/** How many files and rooms a walk passes. A room with the rooms inside it counts once. */
export function countWalk(walk: readonly Stop[]): { files: number; rooms: number } {
  const passed = new Set(walk.map(({ path }) => outermostRoomOf(path)));
  return { files: new Set(walk.map(({ path }) => path)).size, rooms: passed.size };
}

/** Stops that do not exist, or from which the request does not go on as the walk says. */
export function checkWalk(sources: Source[], walk: readonly Stop[]): Violation[] {
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  return walk.flatMap(({ path, goesOnBy }): Violation[] => {
    const text = texts.get(path);
    if (text === undefined) return [{ path, problem: "is a stop of the walk, and does not exist" }];
    return text.includes(goesOnBy) ? [] : [{ path, problem: `does not contain ${goesOnBy}` }];
  });
}
