import { type Plan, StateFailure, type StateFunction } from "../function/mod.ts";

/** A program or a server that a state needs is missing, and an earlier state may provide it. */
export class NotReady extends StateFailure {}

/**
 * States that fail for what is not ready only when they are applied, and not in a test run: until then an earlier
 * state may have installed or started it.
 */
export function deferring(states: readonly StateFunction[]): StateFunction[] {
  return states.map((state) => ({
    ...state,
    plan: async (name, args, context): Promise<Plan> => {
      try {
        return await state.plan(name, args, context);
      } catch (thrown) {
        if (!(thrown instanceof NotReady)) throw thrown;
        return {
          changes: { [name]: "not known yet" },
          comment: `${name} would be looked at: ${thrown.message}`,
          apply: () => Promise.reject(thrown),
        };
      }
    },
  }));
}
