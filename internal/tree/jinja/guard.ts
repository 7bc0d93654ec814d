import type { Evaluate, Execute, Frame } from "./frame.ts";
import type { Statement, Target } from "./syntax/mod.ts";
import { Fault, Missing, type Undefined, Unknown, type World } from "./values/mod.ts";

// In a check, much of what a template works with is unknown. What fails because of it is unknown as well, and the
// evaluation continues: nobody can tell for which hosts it would fail.

/** An expression whose value is unknown where it cannot be worked out. */
export function guardExpression(evaluate: Evaluate, at: number): Evaluate {
  return (frame) => {
    const { world } = frame.run.surroundings;
    if (world === undefined) return evaluate(frame);
    try {
      return evaluate(frame);
    } catch (thrown) {
      return recover(thrown, frame, world, at);
    }
  };
}

/** A statement that is skipped where it cannot be carried out; the names that it sets are unknown then. */
export function guardStatement(execute: Execute, statement: Statement): Execute {
  const names = namesSetBy(statement);
  return (frame) => {
    const { world } = frame.run.surroundings;
    if (world === undefined) return execute(frame);
    try {
      return execute(frame);
    } catch (thrown) {
      const unknown = recover(thrown, frame, world, statement.at);
      for (const name of names) frame.set(name, unknown);
      return undefined;
    }
  };
}

/** @throws what is wrong whatever is unknown */
function recover(thrown: unknown, { run }: Frame, world: World, at: number): Undefined {
  if (!(thrown instanceof Fault) || thrown.isFinal) throw thrown;
  const { missing, undefinedName = "" } = thrown;
  if (missing.length > 0 && !missing.some((name) => world.isIn(name))) throw thrown;
  // What no name gives is allowed, and unknown from then on.
  if (!world.isTouched && undefinedName === "") throw thrown;
  if (undefinedName !== "" && run.template !== undefined) {
    run.surroundings.onUndefined(undefinedName, run.template, at);
  }
  // A refusal writes nothing.
  return thrown.isRaised ? new Missing("", world) : new Unknown(world);
}

function namesSetBy(statement: Statement): readonly string[] {
  switch (statement.kind) {
    case "set":
    case "set-block":
    case "load":
      return namesIn(statement.target);
    case "import-data":
    case "import":
      return [statement.name];
    case "from-import":
      return statement.names.map(({ as }) => as);
    default:
      return [];
  }
}

function namesIn(target: Target): readonly string[] {
  if (target.kind === "name") return [target.name];
  return target.kind === "tuple" ? target.items.flatMap(namesIn) : [];
}
