import { rfc3339 } from "../../base/clock.ts";
import { isVouched, type Vouch } from "../../identity/mod.ts";
import type { CommandKind } from "./command.ts";
import type { Job } from "./record.ts";

// The record of a job is stored on the bus, and masters sign commands from it until each target has accepted
// it. So a MAC in the record proves that a master created it, and another that a master cancelled it.

/** A job as a master creates it. */
export function vouchForJob(vouch: Vouch, job: Job): Job {
  return { ...job, voucher: vouch("job", contentOf(job)) };
}

/** A job as a master cancels it. */
export function vouchForCancel(vouch: Vouch, job: Job): Job {
  return { ...job, cancelVoucher: vouch("cancel", job.jid) };
}

/** Whether masters made the data from which a command of this kind follows. */
export function isGenuine(vouch: Vouch, kind: CommandKind, job: Job): boolean {
  if (!isVouched(vouch("job", contentOf(job)), job.voucher)) return false;
  return kind === "dispatch" || isVouched(vouch("cancel", job.jid), job.cancelVoucher);
}

/** The fields that never change, in their stored form. */
function contentOf(job: Job): unknown {
  const { jid, function: name, args, target, targets, metadata, timeoutMs, createdBy, requestId } = job;
  const times = [timeoutMs, rfc3339(job.createdAt), rfc3339(job.deadline)];
  return [jid, name, args, target ?? null, targets, metadata, ...times, createdBy, requestId ?? null];
}
