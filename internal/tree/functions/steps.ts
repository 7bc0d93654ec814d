import { SvcError } from "../../base/errors.ts";
import { type Changes, type Plan, StateFailure } from "../function/function.ts";

/** One thing that is to be done, with what it changes. */
export interface Step {
  changes: Changes;
  run(): Promise<void> | void;
}

interface Comments {
  /** When there is nothing to do. */
  fine: string;
  /** What is to be done. */
  due: string;
  /** What was done. */
  done: string;
}

/**
 * A plan of steps that are done one after the other. When one fails, the failure says what the steps before
 * it have changed.
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

/** A plan that has nothing to do. */
export function unchanged(comment: string): Plan {
  return { changes: {}, comment };
}

/** Ends a plan with what is wrong, if anything is. @throws StateFailure */
export function refuseWith(problem: string | undefined): void {
  if (problem !== undefined) throw new StateFailure(problem);
}

function mergeChanges(steps: readonly Step[]): Changes {
  return Object.assign({}, ...steps.map(({ changes }) => changes));
}
