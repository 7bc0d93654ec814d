import { rfc3339 } from "../base/clock.ts";
import { type ErrorKind, SvcError } from "../base/errors.ts";
import { decode, encode } from "../base/msgpack.ts";
import { isMap } from "../base/plain-map.ts";
import { type RecordOf, record } from "../base/record.ts";
import { bytes, id, isExactTime, textOf } from "../base/record-kinds.ts";
import { encodeSuccess, failureOf } from "../bus/subjects/envelope.ts";
import { type LearnedKeys, learnedKeys } from "./learned-keys.ts";
import { curvePublicKeyField, publicKeyField } from "./public-keys.ts";

// What a peel sends for other credentials: `renew` with the same keys, `rekey` with new ones. `enrollment-messages.ts`
// has the bytes that it signs.

/** A request has a few hundred bytes; a longer one is not from a peel. */
const maxRequestBytes = 2048;
const maxReason = 500;

const enrollmentId = ["enrollment_id", id("enr")] as const;
/** The next bus key, `U…`. */
const busPublicKey = ["bus_public_key", publicKeyField] as const;
const signedAt = [
  "signed_at",
  textOf(isExactTime, "a time of RFC 3339 in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z"),
] as const;

const renewalFields = {
  enrollmentId,
  /** The bus key of the credentials in use. */
  renews: publicKeyField,
  busPublicKey,
  signedAt,
  signature: bytes(64),
} as const;
const rekeyFields = {
  enrollmentId,
  publicKey: ["public_key", publicKeyField],
  curvePublicKey: ["curve_public_key", curvePublicKeyField],
  busPublicKey,
  signedAt,
  signatureOld: ["signature_old", bytes(64)],
  signatureNew: ["signature_new", bytes(64)],
} as const;
// Fields that this version does not know are left out: later peels may send more.
const options = {
  isOpen: true,
  limits: { bytes: maxRequestBytes, elements: maxRequestBytes },
  malformed(field: string, problem: string, kind: string) {
    if (field === "(root)") return new SvcError("bad_request", "a request must be a map");
    // Messages of the library repeat the input.
    const reason = kind === "validation" ? problem : "is missing or has the wrong type";
    return new SvcError("bad_request", `${field} ${reason}`);
  },
};

export type RenewalRequest = RecordOf<typeof renewalFields>;
export type RekeyRequest = RecordOf<typeof rekeyFields>;

/** `decode` throws SvcError `bad_request` naming the field. */
export const { encode: encodeRenewal, decode: openRenewal } = record("renewal", renewalFields, options);
export const { encode: encodeRekey, decode: openRekey } = record("rekey", rekeyFields, options);

/** The codes of a refusal, and what they are to the peel. */
const kinds = {
  bad_request: "unavailable",
  unauthorized: "unauthorized",
  not_found: "not_found",
  forbidden: "forbidden",
  clone_suspected: "forbidden",
  rate_limited: "rate_limited",
  unavailable: "unavailable",
} as const satisfies Record<string, ErrorKind>;
export type RenewalCode = keyof typeof kinds;

/** Masters refused. */
export class RenewalRefused extends SvcError {
  /** As on the wire, where it may be one of a later version. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(Object.hasOwn(kinds, code) ? kinds[code as RenewalCode] : "unavailable", message);
    this.code = code;
  }
}

export const encodeRenewalRefused = (code: RenewalCode, message: string): Uint8Array =>
  encode({ ok: false, error: { code, message } });

/** @param jwt for the key of the request; `expiresAt` is when it ends, milliseconds since the Unix epoch */
export const encodeIssued = (issued: { jwt: string; expiresAt: number }, keys: LearnedKeys): Uint8Array =>
  encodeSuccess({ jwt: issued.jwt, expires_at: rfc3339(issued.expiresAt), ...learnedKeys(keys) });

/** The fields of what masters issued; the peel judges them. @throws RenewalRefused, SvcError `bad_request` */
export function openIssued(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const answer = decode(bytes);
  const failed = failureOf(answer);
  if (failed !== undefined) throw new RenewalRefused(failed.code, failed.message.slice(0, maxReason));
  return isMap(answer) ? answer : {};
}
