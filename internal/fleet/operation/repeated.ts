import { SvcError } from "../../base/errors.ts";

/** The refusal of a signed request that was taken before, on whichever master. */
export function repeatedRequest(operator: string): SvcError {
  return new SvcError(
    "unauthorized",
    `the request of ${operator} is refused: it was taken before, and each signed request counts once: ask again`,
  );
}
