import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { verifySignature } from "../../identity/mod.ts";
import type { SiteRecord } from "./record.ts";

/** How far the clock of a site may be off when it signs a request. */
const skewMs = 5 * 60_000;

/** A request of the server of a site for a certificate of a key that it made. */
interface CertificateRequest {
  /** Name of the site. */
  site: string;
  /** SubjectPublicKeyInfo of the new key, DER. */
  publicKey: Uint8Array;
  /** RFC 3339 UTC with milliseconds. */
  signedAt: string;
  /** Of the key of its link over `certificateMessage`. */
  signature: Uint8Array;
  /** Of the new key over the same: ECDSA with SHA-256, as two numbers of 32 bytes. */
  proof: Uint8Array;
}

/** The bytes that the server of a site signs with the key of its link, and with the new key. */
export function certificateMessage({
  site,
  publicKey,
  signedAt,
}: Pick<CertificateRequest, "site" | "publicKey" | "signedAt">): Uint8Array {
  const digest = createHash("sha256").update(publicKey).digest("hex");
  return Buffer.from(["svc/site-certificate/v1", site, digest, signedAt].join("\0"), "utf8");
}

/** A time as `signedAt` has it. */
export const signedAtField = v.pipe(
  v.string(),
  v.check(
    (text) => !Number.isNaN(Date.parse(text)) && rfc3339(Date.parse(text)) === text,
    "must be a time of RFC 3339 in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z",
  ),
);

/**
 * Judges a request: only who has the key of the link of this site may ask, and only for a key that is theirs.
 *
 * @param site the record of the site that the request names; `undefined` where there is none
 * @param now milliseconds since the Unix epoch
 * @returns the new key
 * @throws SvcError `unauthorized`, `forbidden` for a site that was removed, `bad_request` for the new key
 */
export function judgeCertificateRequest(
  request: CertificateRequest,
  site: Pick<SiteRecord, "name" | "users" | "removedAt"> | undefined,
  now: number,
): KeyObject {
  const message = certificateMessage(request);
  const isSigned =
    site?.name === request.site && verifySignature("user", site.users.link, message, request.signature);
  // The same for a site that does not exist: nobody learns which ones do.
  if (!isSigned) throw new SvcError("unauthorized", "the request is not signed by the key of this site");
  if (Math.abs(Date.parse(request.signedAt) - now) > skewMs) {
    throw new SvcError("unauthorized", "signed_at is more than 5 minutes off: check the clock of the site");
  }
  if (site.removedAt !== undefined) throw new SvcError("forbidden", "this site was removed");
  const key = readKey(request.publicKey);
  if (key === undefined) throw new SvcError("bad_request", "public_key must be an ECDSA P-256 key");
  if (!verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, request.proof)) {
    throw new SvcError("bad_request", "proof must be a signature of the key in public_key");
  }
  return key;
}

/** `undefined` for anything but the one spelling of a key that certificates have. */
function readKey(der: Uint8Array): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" });
    const isCurve = key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
    return isCurve && Buffer.compare(key.export({ format: "der", type: "spki" }), der) === 0
      ? key
      : undefined;
  } catch {
    return undefined;
  }
}
