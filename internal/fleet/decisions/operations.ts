import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { described, integer, titled } from "../../base/schema.ts";
import { operation } from "../operation/mod.ts";
import type { NewestDecision } from "./order.ts";
import { problems, type Verification } from "./verify.ts";

/** The newest decision, as it is shown and as a backup contains it. */
export function showNewest({ at, peelId, ...rest }: NewestDecision): Record<string, string> {
  return { at: rfc3339(at), ...rest, peel_id: peelId };
}

/** Most differences that an answer lists; the count is always whole. */
const maxListed = 1_000;

export const verifyDecisions = operation({
  name: "decisions.verify",
  kind: "read",
  summary: "Compare the decisions on the bus with the log of this master",
  scope: { kind: "enrollments", action: "list" },
  output: titled(
    "DecisionVerification",
    v.object({
      logged: described(integer, "Decisions in the log of the master"),
      stored: described(integer, "Decisions on the bus"),
      differing: described(integer, "Number of records that differ"),
      differences: v.array(
        v.object({
          bucket: v.string(),
          key: v.string(),
          peel_id: v.string(),
          problem: v.picklist(problems),
        }),
      ),
      problem: v.exactOptional(described(v.string(), "Why the master does not log or compare")),
    }),
  ),
  async run(deps: VerifyDeps) {
    const { logged, stored, differences } = await deps.verify();
    const { problem } = deps;
    return {
      logged,
      stored,
      differing: differences.length,
      differences: differences
        .slice(0, maxListed)
        .map(({ peelId, ...rest }) => ({ ...rest, peel_id: peelId })),
      ...(problem === undefined ? {} : { problem }),
    };
  },
});

export interface VerifyDeps {
  verify(): Promise<Verification>;
  readonly problem: string | undefined;
}
