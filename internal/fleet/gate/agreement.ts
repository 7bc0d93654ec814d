import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import type { Agreement, Passenger } from "../operation/mod.ts";

const withApprovals = v.object({ approvals: v.number(), dry_run: v.optional(v.literal(false)) });

/** How many others must agree because the request itself demands it. */
export const requestedApprovals = ({ caller, input }: Pick<Passenger, "caller" | "input">): number =>
  caller.kind === "operator" && v.is(withApprovals, input) ? input.approvals : 0;

/**
 * Checks that what others agreed to is still enough, and still about the same peels.
 *
 * @param needs how many must agree by the roles in force now
 * @param peels the peels that the request would run on now
 * @throws SvcError `forbidden`, `conflict`
 */
export function assertAgreed(
  agreement: Agreement,
  needs: number,
  peels: readonly string[] | undefined,
): void {
  if (agreement.by.length < needs) {
    throw new SvcError("forbidden", `the roles need the agreement of ${needs} now: ask again`);
  }
  const agreed = agreement.peels?.length;
  if (agreed !== undefined && agreed !== peels?.length) {
    throw new SvcError(
      "conflict",
      `of the ${agreed} peels that others agreed to ${peels?.length ?? 0} are in the fleet now: ask again`,
    );
  }
}
