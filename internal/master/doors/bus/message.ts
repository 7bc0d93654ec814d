import * as v from "valibot";
import { type AdminErrorCode, meaningOf, SvcError, toSvcError } from "../../../base/errors.ts";
import { decode, encode } from "../../../base/msgpack.ts";
import { type Enrollment, fromStored, toStored } from "../../../fleet/enrollment/record.ts";

// Requests of operators to the masters over the bus (specification, "Bus admin operations").

const adminRequest = v.object({
  id: v.pipe(v.string(), v.maxLength(64)),
  operator: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  reason: v.optional(v.pipe(v.string(), v.maxLength(1024))),
  force: v.optional(v.boolean()),
});
export type AdminRequest = v.InferOutput<typeof adminRequest>;

const failure = v.object({
  ok: v.literal(false),
  error: v.object({ code: v.string(), message: v.string() }),
});

const enrollmentReply = v.object({
  ok: v.literal(true),
  enrollment: v.unknown(),
  closed_in_ms: v.optional(v.number()),
});

/** @throws SvcError `bad_request` naming the field */
export function decodeAdminRequest(bytes: Uint8Array): AdminRequest {
  const parsed = v.safeParse(adminRequest, decode(bytes));
  if (parsed.success) return parsed.output;
  throw new SvcError("bad_request", `malformed request: ${v.getDotPath(parsed.issues[0]) ?? "not a map"}`);
}

/** @param closedInMs how long a revocation took to end the peel's live connection, if it had one */
export function encodeEnrollmentReply(record: Enrollment, closedInMs?: number): Uint8Array {
  return encode({ ok: true, enrollment: toStored(record), closed_in_ms: closedInMs });
}

/** Encodes any failure as the error of a reply; what nobody expected is told as `internal` only. */
export function encodeFailure(thrown: unknown): Uint8Array {
  const error = toSvcError(thrown);
  return encode({ ok: false, error: { code: meaningOf(error.kind).bus, message: error.message } });
}

/**
 * Reads the reply to an admin request.
 *
 * @throws SvcError what the master answered
 */
export function decodeEnrollmentReply(bytes: Uint8Array): { record: Enrollment; closedInMs?: number } {
  const parsed = v.safeParse(enrollmentReply, openReply(bytes));
  if (!parsed.success) throw new SvcError("internal", "the master sent a malformed reply");
  const { enrollment, closed_in_ms: closedInMs } = parsed.output;
  return { record: fromStored(enrollment), ...(closedInMs === undefined ? {} : { closedInMs }) };
}

/** Decodes a reply and throws its error if it is one. */
export function openReply(bytes: Uint8Array): unknown {
  const reply = decode(bytes);
  const failed = v.safeParse(failure, reply);
  if (!failed.success) return reply;
  const { code, message } = failed.output.error;
  throw new SvcError(kinds[code as AdminErrorCode] ?? "internal", message);
}

const kinds: Record<AdminErrorCode, SvcError["kind"]> = {
  not_found: "not_found",
  invalid_transition: "invalid_transition",
  trust_mismatch: "trust_mismatch",
  bad_request: "bad_request",
  unavailable: "unavailable",
  internal: "internal",
};
