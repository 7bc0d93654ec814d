import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { type AdminErrorCode, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { WaitingRequest } from "../../base/waiting.ts";

// The form of replies of masters over the bus: `{ok: true, ...}` to operators, and `{ok: false, error: {code,
// message}}` to every client when they refuse.

const success = v.object({ ok: v.literal(true) });
const waiting = v.object({
  ok: v.literal(true),
  approval: v.pipe(
    v.string(),
    v.check((text) => isId("apr", text)),
  ),
  needs: v.pipe(v.number(), v.integer(), v.minValue(1)),
});
const failure = v.object({
  ok: v.literal(false),
  error: v.object({
    code: v.string(),
    message: v.string(),
    /** When the same request may succeed, milliseconds from now. */
    retry_after_ms: v.exactOptional(v.number()),
  }),
});

export function encodeSuccess(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return encode({ ok: true, ...(fields as Record<string, Plain>) });
}

/**
 * Encodes any failure; an unexpected one becomes `internal` without details. A request that waits for others did not
 * fail: `{ok: true, approval, needs}`.
 */
export function encodeFailure(thrown: unknown): Uint8Array {
  if (thrown instanceof WaitingRequest) {
    return encodeSuccess({ approval: thrown.approval, needs: thrown.needs });
  }
  const error = toSvcError(thrown);
  const later = defined({ retry_after_ms: error.retryAfterMs });
  return encode({ ok: false, error: { code: meaningOf(error.kind).bus, message: error.message, ...later } });
}

/** The reply to a peel that sends too many requests. Encode it once, so that a refusal costs nothing. */
export function encodeRateLimited(): Uint8Array {
  const error = { code: "rate_limited", message: "too many requests of this peel; ask again later" };
  return encode({ ok: false, error });
}

/** The error in a decoded reply, if it has one. */
export function failureOf(answer: unknown): v.InferOutput<typeof failure>["error"] | undefined {
  return v.is(failure, answer) ? answer.error : undefined;
}

/**
 * Reads a reply. Fields that the schema does not know are left out, because a newer master may send more.
 *
 * @throws WaitingRequest when the request waits for others
 * @throws SvcError the error in the reply; `internal` when the reply is malformed
 */
export function openReply<Schema extends v.GenericSchema>(
  schema: Schema,
  bytes: Uint8Array,
): v.InferOutput<Schema> {
  const reply = decode(bytes);
  const failed = failureOf(reply);
  if (failed !== undefined) {
    const kind = kinds[failed.code as AdminErrorCode] ?? "internal";
    throw new SvcError(kind, failed.message, defined({ retryAfterMs: failed.retry_after_ms }));
  }
  if (v.is(waiting, reply)) throw new WaitingRequest(reply.approval, reply.needs);
  const parsed = v.safeParse(schema, reply);
  if (v.is(success, reply) && parsed.success) return parsed.output;
  throw new SvcError("internal", "the master sent a malformed reply");
}

const kinds: Record<AdminErrorCode, SvcError["kind"]> = {
  not_found: "not_found",
  conflict: "conflict",
  invalid_transition: "invalid_transition",
  trust_mismatch: "trust_mismatch",
  bad_request: "bad_request",
  forbidden: "forbidden",
  unauthorized: "unauthorized",
  unavailable: "unavailable",
  rate_limited: "rate_limited",
  internal: "internal",
};
