import { SvcError } from "../base/errors.ts";
import { type Hints, hintFor } from "../fleet/operation/door-table/mod.ts";

/** An error of an operation with what its hints say of it. */
export function withHint(hints: Hints = {}, error: SvcError): SvcError {
  const hint = hintFor(hints, error);
  // A part of an operation that is done here has said it already.
  if (hint === undefined || error.message.includes(hint)) return error;
  return new SvcError(error.kind, `${error.message}: ${hint}`, { cause: error });
}

/** Does a part of an operation here, without a master. @throws SvcError with the hint of the operation */
export async function hinted<T>(hints: Hints | undefined, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    throw thrown instanceof SvcError ? withHint(hints, thrown) : thrown;
  }
}
