import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import type { EnrollmentState } from "../record/mod.ts";
import { digestOfDirect, lastVouched, saveEnrollment, type Vouchers } from "../store/mod.ts";
import { listRevocations, type RevokeDeps } from "./revoke.ts";

export interface TakeOverDeps extends Pick<RevokeDeps, "enrollments" | "revocations"> {
  vouchers: Vouchers;
  /** Writes to the audit that a decision is taken over. @throws SvcError `unavailable`: then it is not */
  begin(
    what: DirectDecision,
  ): Promise<(end: { outcome: "done" | "failed"; reason?: string }) => Promise<void>>;
  log: Log;
}

/** A direct decision, as the audit names it. */
export interface DirectDecision {
  /** `enrollments.approve` */
  action: string;
  enrollment: string;
  peel: string;
  operator: string;
  /** Public key of the operator; empty where none signed. */
  key: string;
  /** SHA-256 of what is signed. */
  digest: Uint8Array;
}

/** Takes over direct decisions, which `svc enroll … --direct-kv` writes without a master. */
export interface TakeOver {
  /** Checks a record. If it cannot be taken over, this is logged, and the record stays unchanged. */
  consider(id: string): void;
  /** Resolves when all records have been checked. */
  settled(): Promise<void>;
}

export function createTakeOver(deps: TakeOverDeps): TakeOver {
  const { log } = deps;
  const under = new Set<Promise<void>>();
  return {
    consider(id) {
      const work: Promise<void> = takeOver(deps, id)
        .catch((cause) =>
          log.error("a direct decision could not be taken over", {
            enrollment_id: id,
            error: describeError(cause),
          }),
        )
        .finally(() => under.delete(work));
      under.add(work);
    },
    async settled() {
      while (under.size > 0) await Promise.all(under);
    },
  };
}

const actionOf: Partial<Record<EnrollmentState, string>> = {
  approved: "approve",
  rejected: "reject",
  revoked: "revoke",
};

async function takeOver(deps: TakeOverDeps, id: string): Promise<void> {
  const { enrollments, vouchers, log } = deps;
  const now = await enrollments.get(id);
  const last = await lastVouched(enrollments, vouchers, id);
  // Another master was first.
  if (now === undefined || (last?.byMaster === true && last.revision === now.revision)) return;
  if (last === undefined || last.revision !== now.revision) {
    log.error("an enrollment record that no master vouches for is ignored", {
      enrollment_id: id,
      revision: now.revision,
      reason:
        vouchers.mayDecide === undefined
          ? "it is not an allowed direct decision"
          : "it is not an allowed direct decision that an operator with role admin signed",
    });
    return;
  }
  const { record } = last;
  const action = actionOf[record.state] ?? record.state;
  const end = await deps.begin({
    ...{ action: `enrollments.${action}`, enrollment: id, peel: record.peelId },
    ...{ operator: record.decidedBy ?? "", key: record.directSignature?.key ?? "" },
    digest: digestOfDirect(record),
  });
  try {
    // As with every revocation: on the list first.
    if (record.state === "revoked") await listRevocations(deps, last.decidedOn ?? record, record);
    if ((await saveEnrollment(enrollments, record, now.revision)) === undefined) {
      return await end({ outcome: "failed", reason: "another master took it over" });
    }
  } catch (thrown) {
    await end({ outcome: "failed", reason: describeError(thrown) });
    throw thrown;
  }
  await end({ outcome: "done" });
  log.info("enrollment admin operation", {
    action,
    id,
    operator: record.decidedBy,
    peel_id: record.peelId,
    direct: true,
  });
}
