import { rfc3339 } from "../../../base/clock.ts";
import { isVouched, type RecordMac } from "../../../identity/mod.ts";
import type { CommandKind } from "../../../wire/command.ts";
import { content } from "../../../wire/content.ts";
import { releasedContent } from "../../../wire/released-content.ts";
import type { Job } from "./record.ts";

// The record of a job is stored on the bus, and masters sign commands from it until each target has accepted
// it. So a MAC in the record proves that a master created it, and another that a master cancelled it.

/** A job as a master makes it. */
export function withJobMac(mac: RecordMac, job: Job): Job {
  return { ...job, voucher: mac("job", contentOf(job)) };
}

/** A job as a master cancels it. */
export function withCancelMac(mac: RecordMac, job: Job): Job {
  return { ...job, cancelVoucher: mac("cancel", job.jid) };
}

/** Whether masters made what a command of this kind about a job follows from. */
export function isGenuineJob(mac: RecordMac, kind: CommandKind, job: Job): boolean {
  const { jid, voucher, cancelVoucher } = job;
  if (!isVouched(mac, jid, voucher, (one) => one("job", contentOf(job)))) return false;
  return kind === "dispatch" || isVouched(mac, jid, cancelVoucher, (one) => one("cancel", jid));
}

/** The fields that never change, in their stored form. */
function contentOf(job: Job): unknown {
  const { jid, function: name, args, target, targets, metadata, timeoutMs, createdBy, requestId } = job;
  const times = [timeoutMs, rfc3339(job.createdAt), rfc3339(job.deadline)];
  const always = [jid, name, args, target ?? null, targets, metadata, ...times, createdBy, requestId ?? null];
  const agreed = job.approvedBy === undefined ? [] : [job.approvedBy];
  const files = [
    ...(job.content === undefined ? [] : [content.write(job.content)]),
    ...(job.released === undefined ? [] : [releasedContent.write(job.released)]),
  ];
  // Otherwise the bus could have what a return hides sealed to a key of its own.
  const sealed = job.sealTo === undefined ? [] : [job.sealTo];
  return [...always, ...agreed, ...files, ...sealed];
}
