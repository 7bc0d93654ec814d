import type * as v from "valibot";
import type { Call, InputSchema, Operation, Passenger } from "../operation/mod.ts";

/** How to start an operation again when others have agreed. */
export interface Starter {
  kind: Passenger["kind"];
  scope: Passenger["scope"];
  touched(input: unknown): Passenger["touched"];
  /** @param input as it was parsed @throws SvcError what the operation throws */
  run(input: unknown, call: Call): Promise<unknown>;
}

/** The operations whose requests may wait. */
export interface Starters {
  add<Deps, Input extends InputSchema, Output extends v.GenericSchema>(
    operation: Operation<Deps, Input, Output>,
    run: Starter["run"],
  ): void;
  get(operation: string): Starter | undefined;
}

/** What can wait for others: what is asked once, and means the same later. */
const kinds: ReadonlySet<string> = new Set(["jobs", "rollouts", "upgrades", "enrollments", "operators"]);

/** Whether requests of an operation can wait for others. To cancel a job needs no agreement, whatever the rule says. */
export function mayWait({ kind, scope }: Pick<Operation<never, never, never>, "kind" | "scope">): boolean {
  if (scope === "public" || scope === "self" || kind === "read") return false;
  return kinds.has(scope.kind) && !(scope.kind === "jobs" && scope.action === "cancel");
}

export function createStarters(): Starters {
  const known = new Map<string, Starter>();
  return {
    add({ name, kind, scope, touches }, run) {
      if (scope === "public" || scope === "self" || !mayWait({ kind, scope })) return;
      known.set(name, { kind, scope, touched: (input) => touches(input as never), run });
    },
    get: (operation) => known.get(operation),
  };
}
