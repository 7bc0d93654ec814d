import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";

/** The error for a name that no operator has. @param known the names that there are, as far as the caller knows */
export function unknownOperator(name: string, known: readonly string[]): SvcError {
  return new SvcError(
    "not_found",
    `there is no operator ${name}${suggestion(name, known)}: see svc operator list`,
  );
}
