import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import { decodeForeign } from "../../base/msgpack.ts";
import type { RekeyRequest, RenewalRequest } from "./decide-renewal.ts";
import { curvePublicKeyField, publicKeyField } from "./validate.ts";

/** A request has a few hundred bytes; a longer one is not from a peel. */
const maxRequestBytes = 2048;

const signature = v.pipe(
  v.instance(Uint8Array, "must be 64 bytes"),
  v.check((bytes) => bytes.length === 64, "must be 64 bytes"),
);
const signed = {
  enrollment_id: v.pipe(
    v.string(),
    v.check((text) => isId("enr", text), "must be enr- and a KSUID"),
  ),
  bus_public_key: publicKeyField,
  signed_at: v.pipe(
    v.string(),
    v.check(
      isInstant,
      "must be a time of RFC 3339 in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z",
    ),
  ),
};
// Fields that this version does not know are left out: later peels may send more.
const renewalSchema = v.object({ ...signed, renews: publicKeyField, signature });
const rekeySchema = v.object({
  ...signed,
  public_key: publicKeyField,
  curve_public_key: curvePublicKeyField,
  signature_old: signature,
  signature_new: signature,
});

/** Reads what a peel sends to renew its credentials. @throws SvcError `bad_request` naming the field */
export function readRenewal(data: Uint8Array): RenewalRequest {
  const { enrollment_id, renews, bus_public_key, signed_at, signature } = read(renewalSchema, data);
  return {
    enrollmentId: enrollment_id,
    renews,
    busPublicKey: bus_public_key,
    signedAt: signed_at,
    signature,
  };
}

/** Reads what a peel sends to change its keys. @throws SvcError `bad_request` naming the field */
export function readRekey(data: Uint8Array): RekeyRequest {
  const found = read(rekeySchema, data);
  return {
    enrollmentId: found.enrollment_id,
    publicKey: found.public_key,
    curvePublicKey: found.curve_public_key,
    busPublicKey: found.bus_public_key,
    signedAt: found.signed_at,
    signatureOld: found.signature_old,
    signatureNew: found.signature_new,
  };
}

function read<Schema extends v.GenericSchema>(schema: Schema, data: Uint8Array): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, decodeForeign(data, maxRequestBytes));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue);
  if (path === null) throw new SvcError("bad_request", "a request must be a map");
  // Messages of the library repeat the input.
  const reason = issue.kind === "validation" ? issue.message : "is missing or has the wrong type";
  throw new SvcError("bad_request", `${path} ${reason}`);
}

function isInstant(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return false;
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}
