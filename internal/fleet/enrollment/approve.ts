import { SvcError } from "../../base/errors.ts";
import { type Call, operatorOf } from "../operation/mod.ts";
import { promote, rejectReasons, rejectRivals } from "./joining/mod.ts";
import type { Enrollment } from "./record/mod.ts";
import { type ApplyDeps, applyEvent, type Directory, loadEnrollment } from "./store/mod.ts";

export interface ApproveDeps extends ApplyDeps {
  /** Who waits next to another host with the same peel id; absent without a master. */
  directory?: Pick<Directory, "rivalsOf">;
}

/**
 * Approves a host. Others that wait under its peel id are rejected: one peel id is one host.
 *
 * @returns the record, and the ids of those that were rejected
 */
export async function approve(
  deps: ApproveDeps,
  { id, ...how }: { id: string; force: boolean; dropLabels: boolean },
  call: Call,
): Promise<{ record: Enrollment; rejected: string[] }> {
  const operator = operatorOf(call);
  const event = { type: "approve", operator, ...how } as const;
  const ending = { by: operator, reason: rejectReasons.otherApproved };
  const others = { ...deps, log: call.log };
  const rejected: string[] = [];
  let record: Enrollment;
  await assertAlone(deps, id, call);
  try {
    record = await applyEvent(deps, id, event);
  } catch (thrown) {
    if (!(await isRefusedRival(deps, id, thrown))) throw thrown;
    assertMayChoose(call);
    rejected.push(...((await promote(others, id, ending))?.rejected ?? []));
    record = await applyEvent(deps, id, event);
  }
  if (deps.directory !== undefined) {
    rejected.push(...(await rejectRivals({ ...others, rivals: deps.directory }, record, ending)));
  }
  return { record, rejected };
}

/** Whether an approval was refused because another host waits under the same peel id. */
async function isRefusedRival(deps: ApplyDeps, id: string, thrown: unknown): Promise<boolean> {
  if (!(thrown instanceof SvcError) || thrown.kind !== "invalid_transition") return false;
  const { record } = await loadEnrollment(deps.enrollments, id);
  return record.state === "pending" && record.rivalOf !== undefined;
}

/** @throws SvcError where nobody compares the hosts, or no master can reject the other one */
function assertMayChoose({ caller }: Call): void {
  // The reactor repeats what is refused as a conflict.
  if (caller.kind === "reactor") {
    throw new SvcError(
      "forbidden",
      "several hosts wait under this peel id: an operator decides between them",
    );
  }
  if (caller.kind === "operator" && caller.door === "direct") {
    throw new SvcError(
      "conflict",
      "several hosts wait under this peel id: without a master, reject the others first",
    );
  }
}

/** A rule does not compare hosts, so it approves none of several. @throws SvcError `forbidden` */
async function assertAlone({ enrollments, directory }: ApproveDeps, id: string, call: Call): Promise<void> {
  if (call.caller.kind !== "reactor" || directory === undefined) return;
  const { record } = await loadEnrollment(enrollments, id);
  if (record.state === "pending" && directory.rivalsOf(record.peelId).length > 0) assertMayChoose(call);
}
