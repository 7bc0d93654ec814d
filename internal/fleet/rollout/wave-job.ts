import { defined } from "../../base/defined.ts";
import { filesOfCall } from "../../host/modules/mod.ts";
import type { MerkleTree } from "../../identity/merkle/mod.ts";
import type { PlannedJob, SignedRequestOf } from "../jobs/records/mod.ts";
import type { WaveRequest } from "./jobs.ts";
import { type Intent, peelsOfWave, type Rollout } from "./record.ts";

/**
 * The job of the current wave of a rollout, or of its check.
 *
 * @param targets the frozen list
 * @param checked what to check, and the peels of the wave that succeeded; absent for the wave itself
 */
export function jobOfWave(
  rollout: Rollout,
  targets: readonly string[],
  intent: Intent,
  checked?: { check: NonNullable<Rollout["plan"]["check"]>; succeeded: readonly string[] },
): PlannedJob {
  const { plan, waves } = rollout;
  const peels = peelsOfWave(plan, targets, waves.length - 1);
  const wave = `${waves.length}/${plan.bounds.length}`;
  const metadata = { ...rollout.metadata, rollout: rollout.id, wave };
  const common = { ...intent, createdBy: rollout.createdBy };
  if (checked === undefined) {
    const { function: name, args } = rollout;
    return { ...common, function: name, args, timeoutMs: plan.timeoutMs, targets: peels, metadata };
  }
  const succeeded = new Set(checked.succeeded);
  return {
    ...common,
    ...checked.check,
    targets: peels.filter((peel) => succeeded.has(peel)),
    metadata: { ...metadata, check: true },
  };
}

/** The request that a job of a wave follows from. @param treeOf the tree of the frozen list, which may be long */
export function requestOfWave(
  { requestId, request, approvedBy, content, released, plan, ...wave }: Rollout,
  part: "wave" | "check",
  treeOf: () => MerkleTree,
): WaveRequest {
  const called = part === "wave" ? wave : plan.check;
  const usesFiles = called !== undefined && filesOfCall(called.function, called.args) !== undefined;
  const of = defined({ requestId, approvedBy, ...(usesFiles ? { content, released } : {}) });
  if (request === undefined) return of;
  const signed: SignedRequestOf = part === "check" ? { ...request, step: "check" } : request;
  return { ...of, signed, partOf: (targets) => treeOf().partOf(targets) };
}
