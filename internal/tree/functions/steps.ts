import { SvcError } from "../../base/errors.ts";
import { type Changes, type Plan, StateFailure } from "../function/mod.ts";

/** One step of a plan, with its changes. */
export interface Step {
  changes: Changes;
  run(): Promise<void> | void;
}

interface Comments {
  /** When nothing has to change. */
  fine: string;
  /** What would be done. */
  due: string;
  /** What was done. */
  done: string;
}

/** `the database x would be removed`, or `was`. @param fine what is said when nothing has to change */
export const says = (subject: string, changed: string, fine = ""): Comments => ({
  fine,
  due: `${subject} would be ${changed}`,
  done: `${subject} was ${changed}`,
});

/**
 * A plan of sequential steps. When one fails, the failure contains the changes of the steps before it.
 */
export function planSteps(steps: readonly Step[], { fine, due, done }: Comments): Plan {
  if (steps.length === 0) return unchanged(fine);
  return {
    changes: mergeChanges(steps),
    comment: due,
    async apply() {
      const finished: Step[] = [];
      for (const step of steps) {
        try {
          await step.run();
        } catch (thrown) {
          if (!(thrown instanceof SvcError)) throw thrown;
          throw new StateFailure(thrown.message, mergeChanges(finished), { cause: thrown });
        }
        finished.push(step);
      }
      return { comment: done };
    },
  };
}

/** A plan without changes. */
export function unchanged(comment: string): Plan {
  return { changes: {}, comment };
}

/** Fails the plan if there is a problem. @throws StateFailure */
export function refuseWith(problem: string | undefined): void {
  if (problem !== undefined) throw new StateFailure(problem);
}

function mergeChanges(steps: readonly Step[]): Changes {
  return Object.assign({}, ...steps.map(({ changes }) => changes));
}
