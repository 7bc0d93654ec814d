import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { encode } from "../../../base/msgpack.ts";
import type { JobSummary } from "../../../fleet/jobs/board.ts";
import { jobStatuses } from "../../../fleet/jobs/outcome.ts";
import type { Job } from "../../../fleet/jobs/record.ts";
import type { JobView } from "../../../fleet/jobs/show.ts";
import { openReply } from "./message.ts";

// What operators ask of masters about jobs over the bus, and the answers.

const maxListed = 1_000;

const sender = v.object({ operator: v.pipe(v.string(), v.minLength(1), v.maxLength(256)) });
const jobReply = v.object({
  ok: v.literal(true),
  jid: v.string(),
  targets: v.array(v.string()),
  away: v.optional(v.number(), 0),
});
const listRequest = v.object({
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxListed)), 20),
  status: v.optional(v.picklist(jobStatuses)),
  cursor: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => isId("job", text)),
    ),
  ),
});
const listReply = v.object({
  ok: v.literal(true),
  jobs: v.array(v.custom<JobSummary>((value) => typeof value === "object" && value !== null)),
  next: v.optional(v.string()),
});
const cancelReply = v.object({
  ok: v.literal(true),
  job: v.custom<JobView>((value) => typeof value === "object" && value !== null),
});

/** Who asks. @throws SvcError `bad_request` */
export function operatorOf(request: unknown): string {
  const parsed = v.safeParse(sender, request);
  if (!parsed.success) throw new SvcError("bad_request", "operator is required");
  return parsed.output.operator;
}

/** @param away how many of the targets are not connected now */
export function encodeJobReply(job: Job, away: number): Uint8Array {
  return encode({ ok: true, jid: job.jid, targets: job.targets, status: "running", away });
}

/** @throws SvcError what the master answered */
export function decodeJobReply(bytes: Uint8Array): { jid: string; targets: string[]; away: number } {
  const { jid, targets, away } = readReply(jobReply, bytes);
  return { jid, targets, away };
}

/** Which jobs are asked for. @throws SvcError `bad_request` naming the field */
export function decodeListRequest(request: unknown): v.InferOutput<typeof listRequest> {
  const parsed = v.safeParse(listRequest, request);
  if (parsed.success) return parsed.output;
  const field = v.getDotPath(parsed.issues[0]) ?? "the request";
  throw new SvcError("bad_request", `${field}: ${field === "limit" ? `1 to ${maxListed}` : "not valid"}`);
}

/** @param next the cursor of the next page, when there is one */
export function encodeListReply(jobs: readonly JobSummary[], next?: string): Uint8Array {
  return encode({ ok: true, jobs, next });
}

/** @throws SvcError what the master answered */
export function decodeListReply(bytes: Uint8Array): { jobs: JobSummary[]; next?: string } {
  const { jobs, next } = readReply(listReply, bytes);
  return { jobs, ...(next === undefined ? {} : { next }) };
}

/** The answer to a cancellation: the job as it stands, without the values its targets returned. */
export function encodeCancelReply({ returns: _, ...view }: JobView): Uint8Array {
  return encode({ ok: true, job: view });
}

/** @throws SvcError what the master answered */
export function decodeCancelReply(bytes: Uint8Array): Omit<JobView, "returns"> {
  return readReply(cancelReply, bytes).job;
}

function readReply<T>(schema: v.GenericSchema<unknown, T>, bytes: Uint8Array): T {
  const parsed = v.safeParse(schema, openReply(bytes));
  if (!parsed.success) throw new SvcError("internal", "the master sent a malformed reply");
  return parsed.output;
}
