import * as v from "valibot";
import { type AdminErrorCode, meaningOf, SvcError, toSvcError } from "../base/errors.ts";
import { decode, encode, type Plain } from "../base/msgpack.ts";

// The form of replies of masters over the bus: `{ok: true, ...}` to operators, and `{ok: false, error: {code,
// message}}` to every client when they refuse.

const success = v.object({ ok: v.literal(true) });
const failure = v.object({
  ok: v.literal(false),
  error: v.object({ code: v.string(), message: v.string() }),
});

export function encodeSuccess(fields: Readonly<Record<string, unknown>>): Uint8Array {
  return encode({ ok: true, ...(fields as Record<string, Plain>) });
}

/** Encodes any failure; an unexpected one becomes `internal` without details. */
export function encodeFailure(thrown: unknown): Uint8Array {
  const error = toSvcError(thrown);
  return encode({ ok: false, error: { code: meaningOf(error.kind).bus, message: error.message } });
}

/** The error in a decoded reply, if it has one. */
export function failureOf(answer: unknown): { code: string; message: string } | undefined {
  return v.is(failure, answer) ? answer.error : undefined;
}

/**
 * Reads a reply. Fields that the schema does not know are left out, because a newer master may send more.
 *
 * @throws SvcError the error in the reply; `internal` when the reply is malformed
 */
export function openReply<Schema extends v.GenericSchema>(
  schema: Schema,
  bytes: Uint8Array,
): v.InferOutput<Schema> {
  const reply = decode(bytes);
  const failed = failureOf(reply);
  if (failed !== undefined) {
    throw new SvcError(kinds[failed.code as AdminErrorCode] ?? "internal", failed.message);
  }
  const parsed = v.safeParse(schema, reply);
  if (v.is(success, reply) && parsed.success) return parsed.output;
  throw new SvcError("internal", "the master sent a malformed reply");
}

const kinds: Record<AdminErrorCode, SvcError["kind"]> = {
  not_found: "not_found",
  invalid_transition: "invalid_transition",
  trust_mismatch: "trust_mismatch",
  bad_request: "bad_request",
  unavailable: "unavailable",
  internal: "internal",
};
