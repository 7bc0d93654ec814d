import { defined } from "../../base/defined.ts";
import type { Approval } from "../approvals/mod.ts";
import { type ChangeTeller, publishChanges } from "./publish-changes.ts";

/** Reports that a request waits for others, that one of them agreed, and how it ended. */
export type ApprovalTeller = ChangeTeller<Approval>;

const stateOf = (state: string, agreed: number, outcome = "") => `${state} ${agreed} ${outcome}`;

export const publishApprovals = (deps: Parameters<typeof publishChanges>[1]): ApprovalTeller =>
  publishChanges<Approval>(
    {
      name: "approval",
      idOf: ({ id }) => id,
      stateOf: ({ state, agreed, outcome }) => stateOf(state, agreed.length, outcome),
      stateSaid: ({ state, agreed, outcome }) =>
        typeof state === "string" && typeof agreed === "number"
          ? stateOf(state, agreed, typeof outcome === "string" ? outcome : undefined)
          : undefined,
      // The request itself needs a role for approvals: it may contain secrets.
      dataOf: ({ id, operation, state, needs, agreed, asker, deniedBy, outcome, job, rollout }) => ({
        ...{ id, operation, state, needs, agreed: agreed.length, asked_by: asker.name },
        ...defined({ by: deniedBy ?? agreed.at(-1)?.name, outcome, job, rollout }),
      }),
      // Operators ask, and no rule does.
      depthOf: () => 0,
      isLive: ({ state, outcome }) => state === "waiting" || (state === "started" && outcome === undefined),
      storedAt: ({ asker, agreed, startedAt }) => startedAt ?? agreed.at(-1)?.at ?? asker.at,
    },
    deps,
  );
