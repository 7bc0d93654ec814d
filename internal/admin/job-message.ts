import * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { encode } from "../base/msgpack.ts";
import type { Job } from "../jobs/record.ts";
import { openReply } from "./message.ts";

// Dispatch requests of operators over the bus (`svc.job.request`).

const sender = v.object({ operator: v.pipe(v.string(), v.minLength(1), v.maxLength(256)) });
const jobReply = v.object({ ok: v.literal(true), jid: v.string(), targets: v.array(v.string()) });

/** Who asks. @throws SvcError `bad_request` */
export function operatorOf(request: unknown): string {
  const parsed = v.safeParse(sender, request);
  if (!parsed.success) throw new SvcError("bad_request", "operator is required");
  return parsed.output.operator;
}

export function encodeJobReply(job: Job): Uint8Array {
  return encode({ ok: true, jid: job.jid, targets: job.targets, status: "running" });
}

/** @throws SvcError what the master answered */
export function decodeJobReply(bytes: Uint8Array): { jid: string; targets: string[] } {
  const parsed = v.safeParse(jobReply, openReply(bytes));
  if (!parsed.success) throw new SvcError("internal", "the master sent a malformed reply");
  return { jid: parsed.output.jid, targets: parsed.output.targets };
}
