import { defined } from "../../base/defined.ts";
import { depthOf } from "../reactor/events/mod.ts";
import { isLive, type Rollout } from "../rollout/mod.ts";
import { type ChangeTeller, publishChanges } from "./publish-changes.ts";
import { filesOf } from "./publish-jobs.ts";

/** Reports that a rollout came to another status, or to its next wave. */
export type RolloutTeller = ChangeTeller<Rollout>;

export const publishRollouts = (deps: Parameters<typeof publishChanges>[1]): RolloutTeller =>
  publishChanges<Rollout>(
    {
      name: "rollout",
      idOf: ({ id }) => id,
      stateOf: ({ status, waves }) => `${status} ${waves.length}`,
      stateSaid: ({ status, wave }) =>
        typeof status === "string" && typeof wave === "number" ? `${status} ${wave}` : undefined,
      dataOf({ id, status, waves, plan, failures, createdBy, pause, abort, reason, ...rollout }) {
        const by = abort?.by ?? pause?.by;
        const why = reason ?? pause?.reason;
        return {
          ...{ id, function: rollout.function, status, wave: waves.length, waves: plan.bounds.length },
          ...{ failures, ...defined({ by, reason: why }), ...filesOf(rollout), created_by: createdBy },
        };
      },
      depthOf: ({ metadata }) => depthOf(metadata),
      isLive,
      storedAt: ({ finishedAt, heartbeatAt }) => finishedAt ?? heartbeatAt,
    },
    deps,
  );
