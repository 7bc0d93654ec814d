import type { Door } from "../../fleet/operation/door-table/mod.ts";
import { nameOfScope, type Scope, type ScopeName } from "../../fleet/operation/mod.ts";
import { rooms } from "./rooms.ts";

interface GrantingDoor extends Door {
  operation: { scope: Scope | "public" | "self" };
}
const doors = Object.values(rooms).flatMap((room): GrantingDoor[] => Object.values(room));

/** The subjects that each scope may send requests to, by its name. */
export const subjectsOfScopes: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Map.groupBy(doors.flatMap(grantsOf), ({ scope }) => scope)
    .entries()
    .map(([scope, grants]) => [scope, grants.map(({ subject }) => subject)]),
);

function grantsOf({ operation: { scope }, bus }: GrantingDoor): { scope: ScopeName; subject: string }[] {
  if (bus === undefined || typeof scope === "string") return [];
  return [nameOfScope(scope), ...(bus.also ?? [])].map((name) => ({ scope: name, subject: bus.subject }));
}
