import { timingSafeEqual } from "node:crypto";
import { decodeBase64 } from "../../base/base64.ts";
import { defined } from "../../base/defined.ts";
import type { Random } from "../../base/id.ts";
import { sha256, sha256Hex } from "../../base/sha256.ts";
import { type Certificate, readCertificate, type X509Library } from "./certificate.ts";
import { keyUsage, type Purpose, verifyChain } from "./chain.ts";
import type { Claim, Proven } from "./claim.ts";
import { evidenceMessage } from "./message.ts";
import { refused } from "./refused.ts";
import { shownText } from "./shown-text.ts";
import { makeCredential, type TpmCredential } from "./tpm-credential.ts";
import { type AttestationKey, readAttestationKey } from "./tpm-public.ts";
import { isTpmSigned, readQuote } from "./tpm-quote.ts";

/** A TPM 2.0: its endorsement certificate, and a key of it. All in base64. */
export interface TpmKeys {
  /** In DER. */
  ekCertificate: string;
  /** `TPM2B_PUBLIC` of the attestation key. */
  akPublic: string;
}

export interface TpmEvidence extends TpmKeys {
  /** `TPMS_ATTEST` of a quote over the challenge. */
  attest: string;
  /** `TPMT_SIGNATURE` of it. */
  signature: string;
  /** What the TPM found in the credential. */
  secret: string;
}

export interface TpmRules {
  x509: X509Library;
  /** Certificates of the makers of TPMs. */
  trusted: readonly Certificate[];
  /** Milliseconds since the Unix epoch. */
  now: number;
  /**
   * Derives the secret of a credential: all masters find the same one, and nobody else can. So no master needs to
   * remember it until the answer comes.
   */
  secretFor(content: readonly Uint8Array[]): Uint8Array;
}

const endorsementCertificate = "2.23.133.8.1";
const purpose: Purpose = {
  usages: keyUsage.keyEncipherment | keyUsage.keyAgreement,
  extended: endorsementCertificate,
  // A certificate for something else could have a key that is in no TPM.
  requiresExtended: true,
};

/**
 * The first round trip: a secret that only the TPM of this endorsement certificate can open, while it holds this
 * attestation key.
 *
 * @throws SvcError `unauthorized` with the reason
 */
export function challengeTpm(
  keys: TpmKeys,
  claim: Claim,
  rules: TpmRules & { random: Random },
): TpmCredential {
  const { endorsement, attestation } = readKeys(keys, rules);
  const secret = secretOf({ endorsement, attestation }, claim, rules);
  return makeCredential(endorsement.key, attestation.name, secret, rules.random);
}

/**
 * The second: verifies that the TPM opened the secret, and that its attestation key signed the challenge.
 *
 * @throws SvcError `unauthorized` with the reason
 */
export function verifyTpm(evidence: TpmEvidence, claim: Claim, rules: TpmRules): Proven {
  const { endorsement, attestation } = readKeys(evidence, rules);
  const [attest, signature, secret] = [evidence.attest, evidence.signature, evidence.secret].map(
    decodeBase64,
  );
  const expected = secretOf({ endorsement, attestation }, claim, rules);
  if (secret?.length !== expected.length || !timingSafeEqual(secret, expected)) {
    throw refused("the secret does not match the credential for this TPM, this key and this challenge");
  }
  if (attest === undefined || signature === undefined || !isTpmSigned(attestation, attest, signature)) {
    throw refused("the quote is not signed by the attestation key");
  }
  const message = evidenceMessage("tpm", claim.challenge, claim.publicKey);
  if (readQuote(attest)?.equals(sha256(message)) !== true) {
    throw refused("the quote is not over this challenge and this public key");
  }
  const { certificate, anchor } = endorsement;
  const device = certificate.names.find(({ type }) => type === "dn")?.value;
  return {
    type: "tpm",
    fields: {
      ...defined({ device: device === undefined ? undefined : shownText(device, "the name of the TPM") }),
      ek_fingerprint: `sha256:${endorsement.fingerprint}`,
      ak_name: attestation.name.toString("hex"),
      serial: shownText(certificate.serial, "the serial number"),
      authority: shownText(anchor.subject, "the name of the authority"),
    },
  };
}

type Keys = ReturnType<typeof readKeys>;

/** @throws SvcError `unauthorized` with the reason */
function readKeys({ ekCertificate, akPublic }: TpmKeys, rules: TpmRules) {
  const [der, area] = [decodeBase64(ekCertificate), decodeBase64(akPublic)];
  const certificate = der === undefined ? undefined : readCertificate(rules.x509, der);
  if (certificate === undefined) throw refused("ek_certificate is not a certificate in DER");
  const anchor = verifyChain([certificate], rules.trusted, purpose, rules.now);
  const { key } = certificate;
  const details = key?.asymmetricKeyDetails;
  if (key === undefined || (details?.modulusLength !== 2048 && details?.namedCurve !== "prime256v1")) {
    throw refused("the endorsement key is not RSA with 2048 bits or P-256");
  }
  const attestation = area === undefined ? undefined : readAttestationKey(area);
  if (attestation === undefined) {
    throw refused(
      "ak_public is not a restricted signing key of a TPM: ECDSA on P-256 or RSASSA, with SHA-256",
    );
  }
  const fingerprint = sha256Hex(key.export({ type: "spki", format: "der" }));
  return { endorsement: { certificate, anchor, key, fingerprint }, attestation };
}

function secretOf(
  { endorsement, attestation }: { endorsement: Keys["endorsement"]; attestation: AttestationKey },
  { challenge, publicKey }: Claim,
  { secretFor }: TpmRules,
): Uint8Array {
  const texts = [publicKey, endorsement.fingerprint].map((text) => Buffer.from(text, "latin1"));
  return secretFor([challenge, attestation.name, ...texts]);
}
