import { SvcError } from "../../base/errors.ts";

/**
 * Why evidence proves nothing. The reason repeats nothing of the evidence, because its sender controls that, and
 * reasons are logged.
 */
export function refused(reason: string): SvcError {
  return new SvcError("unauthorized", `evidence does not verify: ${reason}`);
}
