import { SvcError } from "../base/errors.ts";
import { encodePeelId, isPeelId } from "../identity/peel-id.ts";
import { matchGlob } from "./glob.ts";

/** Who a job is for: an expression over the fleet, or explicit peel ids. */
export type Target = { expression: string } | { peels: readonly string[] };

const maxExpressionLength = 1024;

/**
 * Finds the members of the fleet a target means. Dotted peel ids are accepted.
 *
 * @param members encoded peel ids of the fleet's members
 * @returns encoded peel ids in order, each once
 * @throws SvcError `bad_request` for a malformed target
 */
export function resolveTarget(target: Target, members: readonly string[]): string[] {
  if ("peels" in target) {
    const wanted = new Set(target.peels.map(encodePeelId));
    for (const id of wanted) {
      if (!isPeelId(id)) throw new SvcError("bad_request", "targets must be a list of peel ids");
    }
    return members.filter((member) => wanted.has(member));
  }
  const { expression } = target;
  if (expression.trim() === "" || expression.length > maxExpressionLength) {
    throw new SvcError("bad_request", `target must have 1 to ${maxExpressionLength} characters`);
  }
  if (/[@\s()]/.test(expression)) {
    throw new SvcError(
      "bad_request",
      "target: compound expressions are not understood yet; write a glob on the peel id, such as web-*",
    );
  }
  const pattern = encodePeelId(expression);
  return members.filter((member) => matchGlob(pattern, member));
}
