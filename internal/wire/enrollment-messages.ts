// The exact bytes that a peel signs while it enrolls (decisions, "Enrollment wire details"). Both sides build
// them here, so that they cannot differ.

const ascii = (text: string): Buffer => Buffer.from(text, "latin1");
const nul = Buffer.of(0);

/** Signed by the peel's key for `POST enroll`: the challenge, then the curve key it binds. */
export function enrollmentMessage(challenge: Uint8Array, curvePublicKey: string): Uint8Array {
  return Buffer.concat([challenge, ascii(curvePublicKey)]);
}

/** Signed by the peel's key: the CA root that it trusted, bound to this challenge and purpose. */
export function attestationMessage(challenge: Uint8Array, caSpki: string): Uint8Array {
  return Buffer.concat([
    ascii("svc/trust-attestation/v1"),
    nul,
    ascii("enroll"),
    nul,
    challenge,
    nul,
    ascii(caSpki),
  ]);
}

/** Signed by the key that a copied disk brought along: the host that holds it asks to join with another key. */
export function copyMessage(challenge: Uint8Array, publicKey: string): Uint8Array {
  return Buffer.concat([ascii("svc/copy/v1"), nul, challenge, nul, ascii(publicKey)]);
}

/** The purpose and each field, with a NUL byte between any two. */
const separated = (purpose: string, fields: readonly string[]): Uint8Array =>
  ascii([purpose, ...fields].join("\0"));

/** Signed by the peel's key to renew its credentials on the bus. `signedAt` is RFC 3339 with milliseconds. */
export function renewalMessage(renewal: {
  enrollmentId: string;
  /** The `U…` key of the credentials in use. */
  renews: string;
  /** The `U…` key of the next ones. */
  busPublicKey: string;
  signedAt: string;
}): Uint8Array {
  const { enrollmentId, renews, busPublicKey, signedAt } = renewal;
  return separated("svc/renew/v1", [enrollmentId, renews, busPublicKey, signedAt]);
}

/** Signed by the peel's key to recover credentials over HTTPS. */
export function recoveryMessage(recovery: {
  challenge: Uint8Array;
  enrollmentId: string;
  /** The `U…` key of the next credentials. */
  busPublicKey: string;
}): Uint8Array {
  const { challenge, enrollmentId, busPublicKey } = recovery;
  return Buffer.concat([challenge, separated("svc/recover/v1", [enrollmentId, busPublicKey])]);
}

/** Signed by the peel's old and by its new key to change its keys. */
export function rekeyMessage(rekey: {
  enrollmentId: string;
  publicKey: string;
  curvePublicKey: string;
  busPublicKey: string;
  signedAt: string;
}): Uint8Array {
  const { enrollmentId, publicKey, curvePublicKey, busPublicKey, signedAt } = rekey;
  return separated("svc/rekey/v1", [enrollmentId, publicKey, curvePublicKey, busPublicKey, signedAt]);
}

/** Signed by the peel's key to download credentials. */
export function credentialsMessage(enrollmentId: string): Uint8Array {
  return ascii(enrollmentId);
}
