import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import { decode, encode } from "../../../base/msgpack.ts";
import type { Committed } from "../../../fleet/binaries/binaries.ts";
import { openReply } from "./message.ts";

// What operators ask of masters about binaries for peels over the bus, and the answers.

const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const putRequest = v.object({ digest, data: v.instance(Uint8Array) });
const commitRequest = v.object({
  operator: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  manifest: v.instance(Uint8Array),
});
const putReply = v.object({ ok: v.literal(true) });
const commitReply = v.object({ ok: v.literal(true), missing: v.array(digest) });

/** @throws SvcError `bad_request` naming the field */
export function decodePutRequest(data: Uint8Array): v.InferOutput<typeof putRequest> {
  return readRequest(putRequest, data);
}

/** @throws SvcError `bad_request` naming the field */
export function decodeCommitRequest(data: Uint8Array): v.InferOutput<typeof commitRequest> {
  return readRequest(commitRequest, data);
}

export function encodePutReply(): Uint8Array {
  return encode({ ok: true });
}

/** Without anything missing, the binary is committed. */
export function encodeCommitReply(committed: Committed): Uint8Array {
  return encode({ ok: true, missing: "missing" in committed ? committed.missing : [] });
}

/** @throws SvcError what the master answered */
export function decodePutReply(reply: Uint8Array): void {
  readReply(putReply, reply);
}

/** @returns what has to be stored before it can be committed. @throws SvcError what the master answered */
export function decodeCommitReply(reply: Uint8Array): { missing: string[] } {
  return { missing: readReply(commitReply, reply).missing };
}

function readRequest<T>(schema: v.GenericSchema<unknown, T>, data: Uint8Array): T {
  const parsed = v.safeParse(schema, decode(data));
  if (parsed.success) return parsed.output;
  const field = v.getDotPath(parsed.issues[0]) ?? "the request";
  throw new SvcError("bad_request", `${field}: not valid`);
}

function readReply<T>(schema: v.GenericSchema<unknown, T>, reply: Uint8Array): T {
  const parsed = v.safeParse(schema, openReply(reply));
  if (parsed.success) return parsed.output;
  throw new SvcError("internal", "the master sent a malformed reply");
}
