import { attempt } from "../../base/errors.ts";
import type { Certificate } from "./certificate.ts";
import { refused } from "./refused.ts";
import { isSoundKey } from "./sound-key.ts";

/** Of `KeyUsageFlags` (RFC 5280 section 4.2.1.3). */
export const keyUsage = {
  digitalSignature: 1,
  keyEncipherment: 4,
  keyAgreement: 16,
  keyCertSign: 32,
} as const;

/** What the leaf must be for. */
export interface Purpose {
  /** Key usages, of which it must have one if it names any. */
  usages: number;
  /** The extended key usage that it must have if it names any. */
  extended: string;
  /** Whether it must name an extended key usage. */
  requiresExtended?: true;
}

const anyExtended = "2.5.29.37.0";
/** Extensions that are checked here, or that restrict nothing here: basic constraints, usages, names, policies. */
const understood = new Set(["2.5.29.19", "2.5.29.15", "2.5.29.37", "2.5.29.17", "2.5.29.32"]);
const signatures = new Set(["RSASSA-PKCS1-v1_5", "RSA-PSS", "ECDSA", "Ed25519", "EdDSA"]);
const hashes = new Set(["SHA-256", "SHA-384", "SHA-512"]);

/**
 * Verifies that a certificate authority vouches for the leaf now, and for this purpose. Every trusted certificate
 * ends a chain, also one that is not a root. Revocation is not looked up.
 *
 * @param chain the leaf first, each signed by the next; what follows a certificate that a trusted one signed is
 *   ignored
 * @param trusted certificates of authorities
 * @param now milliseconds since the Unix epoch
 * @returns the trusted certificate at the end
 * @throws SvcError `unauthorized` with the reason
 */
export function verifyChain(
  chain: readonly Certificate[],
  trusted: readonly Certificate[],
  purpose: Purpose,
  now: number,
): Certificate {
  const [leaf, ...authorities] = chain;
  if (leaf === undefined) throw refused("the chain has no certificate");
  if (leaf.isCa) throw refused("the certificate is that of an authority, not of a host");
  checkLeafUsage(leaf, purpose);
  const path: Certificate[] = [leaf];
  for (const next of [...authorities, undefined]) {
    const last = path.at(-1) ?? leaf;
    checkCertificate(last, now);
    const anchor = trusted.find((one) => isIssued(last, one) && isUsable(one, path, purpose, now));
    if (anchor !== undefined) return anchor;
    if (next === undefined) break;
    if (!isIssued(last, next)) throw refused("a certificate of the chain is not signed by the next one");
    const problem = authorityProblem(next, path, purpose);
    if (problem !== undefined) throw refused(`a certificate authority of the chain ${problem}`);
    path.push(next);
  }
  throw refused("no certificate authority that this master trusts signed the certificate");
}

function checkLeafUsage(leaf: Certificate, { usages, extended, requiresExtended }: Purpose): void {
  if (leaf.keyUsage !== undefined && (leaf.keyUsage & usages) === 0) {
    throw refused("the key usage of the certificate does not allow it");
  }
  const found = leaf.extendedKeyUsage;
  if (found === undefined && requiresExtended !== true) return;
  if (found?.includes(extended) === true || (found?.includes(anyExtended) && requiresExtended !== true))
    return;
  throw refused("the extended key usage of the certificate does not allow it");
}

function checkCertificate(certificate: Certificate, now: number): void {
  const problem = problemOf(certificate, now);
  if (problem !== undefined) throw refused(`a certificate of the chain ${problem}`);
}

function problemOf({ notBefore, notAfter, binding, key }: Certificate, now: number): string | undefined {
  if (now < notBefore) return "is not valid yet";
  if (now > notAfter) return "has expired";
  if (!binding.every((type) => understood.has(type))) return "has a restriction that is not supported";
  if (!isSoundKey(key)) return "has a key that is too weak or not supported";
  return undefined;
}

function isUsable(anchor: Certificate, path: readonly Certificate[], purpose: Purpose, now: number): boolean {
  return problemOf(anchor, now) === undefined && authorityProblem(anchor, path, purpose) === undefined;
}

/** @param path from the leaf to what this authority signed */
function authorityProblem(
  authority: Certificate,
  path: readonly Certificate[],
  { extended }: Purpose,
): string | undefined {
  if (!authority.isCa) return "is not an authority";
  if (authority.keyUsage !== undefined && (authority.keyUsage & keyUsage.keyCertSign) === 0) {
    return "may not sign certificates";
  }
  // A certificate that an authority issued to itself does not count (RFC 5280 section 4.2.1.9).
  const below = path.slice(1).filter(({ subjectDer, issuerDer }) => subjectDer !== issuerDer).length;
  if (authority.pathLength !== undefined && below > authority.pathLength)
    return "allows no authority below it";
  const uses = authority.extendedKeyUsage;
  if (uses !== undefined && !uses.includes(extended) && !uses.includes(anyExtended)) {
    return "may not issue such certificates";
  }
  return undefined;
}

function isIssued(certificate: Certificate, by: Certificate): boolean {
  const { name, hash } = certificate.signature;
  if (certificate.issuerDer !== by.subjectDer || !signatures.has(name)) return false;
  if (hash !== undefined && !hashes.has(hash)) return false;
  return attempt(
    () => by.key !== undefined && isSoundKey(by.key) && certificate.native.verify(by.key),
    false,
  );
}
