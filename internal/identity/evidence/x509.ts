import { type KeyObject, verify } from "node:crypto";
import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type Certificate, readCertificate, type X509Library } from "./certificate.ts";
import { keyUsage, type Purpose, verifyChain } from "./chain.ts";
import type { Claim, Proven } from "./claim.ts";
import { evidenceMessage } from "./message.ts";
import { readPemCertificates } from "./pem.ts";
import { refused } from "./refused.ts";
import { shownText, shownTexts } from "./shown-text.ts";

/** A certificate of a company's authority, and a signature by its key. */
export interface X509Evidence {
  /** PEM, the leaf first. */
  chainPem: string;
  /** Base64: ECDSA with SHA-256 in DER, RSA PKCS#1 v1.5 with SHA-256, or Ed25519. */
  signature: string;
}

export interface X509Rules {
  x509: X509Library;
  /** Certificates of authorities. */
  trusted: readonly Certificate[];
  /** Whether the certificate must name the peel. */
  names: "peel" | "any";
  /** Milliseconds since the Unix epoch. */
  now: number;
}

const maxCertificates = 8;
const clientAuth = "1.3.6.1.5.5.7.3.2";
const purpose: Purpose = { usages: keyUsage.digitalSignature, extended: clientAuth };

/**
 * Verifies evidence of kind `x509`.
 *
 * @throws SvcError `unauthorized` with the reason
 */
export function verifyX509(evidence: X509Evidence, claim: Claim, rules: X509Rules): Proven {
  const chain = readChain(rules.x509, evidence.chainPem);
  const anchor = verifyChain(chain, rules.trusted, purpose, rules.now);
  const [leaf] = chain;
  if (leaf === undefined) throw refused("the chain has no certificate");
  const signature = decodeBase64(evidence.signature);
  const message = evidenceMessage("x509", claim.challenge, claim.publicKey);
  if (signature === undefined || leaf.key === undefined || !isSigned(leaf.key, message, signature)) {
    throw refused(
      "the signature is not by the key of the certificate over this challenge and this public key",
    );
  }
  const names = namesOf(leaf, "dns");
  if (rules.names === "peel" && !isNamed(leaf, names, claim.host)) {
    throw refused("the certificate was issued for another host: none of its DNS names is the peel ID");
  }
  return {
    type: "x509",
    fields: {
      subject: shownText(leaf.subject, "the subject"),
      ...defined({
        names: shownTexts(names, "the DNS names"),
        addresses: shownTexts(namesOf(leaf, "ip"), "the addresses"),
        uris: shownTexts(namesOf(leaf, "url"), "the URIs"),
      }),
      serial: shownText(leaf.serial, "the serial number"),
      fingerprint: `sha256:${sha256Hex(leaf.der)}`,
      not_after: rfc3339(leaf.notAfter),
      authority: shownText(anchor.subject, "the name of the authority"),
    },
  };
}

/** @throws SvcError `unauthorized` when the text is not a chain */
function readChain(x509: X509Library, pem: string): Certificate[] {
  const ders = readPemCertificates(pem);
  if (ders === undefined || ders.length === 0)
    throw refused("chain_pem is not a chain of certificates in PEM");
  if (ders.length > maxCertificates) throw refused(`chain_pem has more than ${maxCertificates} certificates`);
  return ders.map((der) => {
    const certificate = readCertificate(x509, der);
    if (certificate === undefined) throw refused("a certificate of chain_pem is malformed");
    return certificate;
  });
}

function isSigned(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  return attempt(
    () => verify(key.asymmetricKeyType === "ed25519" ? null : "sha256", message, key, signature),
    false,
  );
}

function namesOf({ names }: Certificate, wanted: string): string[] {
  return names.filter(({ type }) => type === wanted).map(({ value }) => value);
}

/**
 * A wildcard stands for several hosts, so it names none of them. A common name counts only in a certificate without
 * DNS names and URIs (RFC 6125 section 6.4.4), and where it is the only one.
 */
function isNamed(leaf: Certificate, names: readonly string[], host: string): boolean {
  const isOld = names.length === 0 && namesOf(leaf, "url").length === 0 && leaf.commonNames.length === 1;
  const candidates = isOld ? leaf.commonNames : names;
  return candidates.some((name) => name.toLowerCase() === host.toLowerCase());
}
