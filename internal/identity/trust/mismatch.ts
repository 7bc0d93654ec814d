import { describeError, SvcError } from "../../base/errors.ts";
import type { Rung } from "./ladder.ts";

/** The server failed verification. This is final: nothing is sent, and no lower rung is tried. */
export class TrustError extends SvcError {
  constructor(message: string) {
    super("forbidden", message);
  }
}

/**
 * Describes the failure of a rung in one line, with the remedy for the operator.
 *
 * @param failed why no certificate was verified: a text, or what a request threw
 */
export function mismatch(rung: Rung, url: string, failed: unknown): TrustError {
  const reason = typeof failed === "string" ? failed : describeError(failed);
  const remedy = remedies.find(({ code }) => reason.includes(code))?.remedy ?? remedyOf(rung);
  return new TrustError(`${url} is not trusted by ${nameOfRung(rung)}: ${reason}; ${remedy}`);
}

/** What a master says that has no embedded CA. A pin needs the certificate that it is of. */
export const servesNoCa = "it does not serve a CA";

/** Remedies of a reason, whatever verifies. A wrong clock is the usual cause of the first two. */
const remedies = [
  {
    code: "CERT_NOT_YET_VALID",
    remedy: "check the clock of this host first (date -u), then that of the master",
  },
  {
    code: "CERT_HAS_EXPIRED",
    remedy: "check the clock of this host first (date -u), then renew the certificate of the master",
  },
  {
    code: servesNoCa,
    remedy: "where its ca.mode is external, set enroll_ca to the certificate of its CA",
  },
];

/** What verifies a master, as operators know it. */
export function nameOfRung(rung: Rung): string {
  switch (rung.rung) {
    case 1:
      return `enroll_ca (${rung.ca.path})`;
    case 2:
      return "enroll_ca_pin";
    case 3:
      return `the stored root (${rung.ca.path})`;
    case 4:
      return rung.firstUse ? "trust on first use" : "the trust store of this host";
  }
}

function remedyOf(rung: Rung): string {
  switch (rung.rung) {
    case 1:
      return "if the fleet's CA was replaced, replace this file";
    case 2:
      return "compare enroll_ca_pin in peel.yaml with svc ca fingerprint on a master";
    case 3:
      return `if the fleet's CA was replaced on purpose, delete ${rung.ca.path}, set enroll_ca_pin, and restart`;
    case 4:
      return "set enroll_ca or enroll_ca_pin";
  }
}

// The JavaScript names of BoringSSL's X509_V_ERR codes for a certificate without a path to a trusted root.
const authorityCodes = new Set([
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_UNTRUSTED",
]);
const certificateCodes = new Set([
  ...authorityCodes,
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "IP_ADDRESS_MISMATCH",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_SIGNATURE_FAILURE",
  "CERT_REJECTED",
  "CERT_REVOKED",
  "CERT_CHAIN_TOO_LONG",
  "PATH_LENGTH_EXCEEDED",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "INVALID_NON_CA",
  "INVALID_EXTENSION",
  "KEYUSAGE_NO_CERTSIGN",
  "KEYUSAGE_NO_DIGITAL_SIGNATURE",
  "AKID_SKID_MISMATCH",
  "AKID_ISSUER_SERIAL_MISMATCH",
  "SUBJECT_ISSUER_MISMATCH",
  "UNHANDLED_CRITICAL_EXTENSION",
  "ERROR_IN_CERT_NOT_BEFORE_FIELD",
  "ERROR_IN_CERT_NOT_AFTER_FIELD",
  "UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY",
  "UNABLE_TO_DECRYPT_CERT_SIGNATURE",
  "PERMITTED_VIOLATION",
  "EXCLUDED_VIOLATION",
  "UNSPECIFIED",
]);

/** Whether a request failed because of certificate verification, as opposed to the network. */
export function isCertificateError(thrown: unknown): boolean {
  return certificateCodes.has(codeOf(thrown));
}

/** Whether it failed because the certificate's CA is not trusted. */
export function isUnknownAuthority(thrown: unknown): boolean {
  return authorityCodes.has(codeOf(thrown));
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
