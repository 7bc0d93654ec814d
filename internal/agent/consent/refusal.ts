import { describeError } from "../../base/errors.ts";

/** Why a command is not obeyed, in one line. */
export interface Refusal {
  refused: string;
}

class Refused extends Error {}

/** Ends a judgement. */
export function refuse(reason: string): never {
  throw new Refused(reason);
}

/** Whatever is wrong with a command, it is a reason not to obey it. */
export function orRefusal<T>(judge: () => T): T | Refusal {
  try {
    return judge();
  } catch (thrown) {
    if (thrown instanceof Refused) return { refused: thrown.message };
    return { refused: `what the operator signed cannot be read: ${describeError(thrown)}` };
  }
}
