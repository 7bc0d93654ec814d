import { describeError } from "../../base/errors.ts";

/** Why a command is not obeyed, in one line. */
export interface Refusal {
  refused: string;
  /** The reason says everything: nothing is put before it. */
  isWhole?: true;
}

class Refused extends Error {
  readonly isWhole: boolean;

  constructor(reason: string, isWhole = false) {
    super(reason);
    this.isWhole = isWhole;
  }
}

/** Ends a judgement. */
export function refuse(reason: string): never {
  throw new Refused(reason);
}

/** Ends a judgement with a reason that says everything. */
export function refuseWhole(reason: string): never {
  throw new Refused(reason, true);
}

/** Whatever is wrong with a command, it is a reason not to obey it. */
export function orRefusal<T>(judge: () => T): T | Refusal {
  try {
    return judge();
  } catch (thrown) {
    if (thrown instanceof Refused) {
      return { refused: thrown.message, ...(thrown.isWhole ? { isWhole: true } : {}) };
    }
    return { refused: `what the operator signed cannot be read: ${describeError(thrown)}` };
  }
}
