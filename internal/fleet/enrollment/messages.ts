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

/** Signed by the peel's key to download credentials. */
export function credentialsMessage(enrollmentId: string): Uint8Array {
  return ascii(enrollmentId);
}
