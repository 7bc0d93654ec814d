import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { rfc3339 } from "../../base/clock.ts";
import { attempt, SvcError } from "../../base/errors.ts";

/**
 * Checks that a TLS server can use a certificate chain and a private key together now.
 *
 * @param pair PEM texts, the leaf first in the chain
 * @param names their names in messages; the PEM texts are never repeated
 * @param now milliseconds since the Unix epoch
 * @returns the validity of the leaf, milliseconds since the Unix epoch
 * @throws SvcError `bad_request` with the reason
 */
export function checkPair(
  pair: { cert: string; key: string },
  names: { cert: string; key: string },
  now: number,
): { notBefore: number; notAfter: number } {
  const refuse = (reason: string) => new SvcError("bad_request", reason);
  let leaf: X509Certificate;
  let key: KeyObject;
  try {
    leaf = new X509Certificate(pair.cert);
  } catch {
    throw refuse(`${names.cert} is not a certificate in PEM`);
  }
  try {
    key = createPrivateKey(pair.key);
  } catch {
    throw refuse(`${names.key} is not an unencrypted private key in PEM`);
  }
  if (!leaf.checkPrivateKey(key)) throw refuse(`${names.key} is not the key of ${names.cert}`);
  const [notBefore, notAfter] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  if (now < notBefore) throw refuse(`${names.cert} is not valid before ${rfc3339(notBefore)}`);
  if (now >= notAfter) throw refuse(`${names.cert} expired at ${rfc3339(notAfter)}: replace it`);
  try {
    createSecureContext(pair);
  } catch {
    throw refuse(`TLS cannot use ${names.cert} and ${names.key}`);
  }
  return { notBefore, notAfter };
}

/** The names of a certificate, as `issueCertificate` takes them. */
export function namesOfLeaf(leaf: X509Certificate): string[] {
  return (leaf.subjectAltName ?? "").split(", ").flatMap((entry) => {
    const [, name] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? [];
    return name ?? [];
  });
}

/** Whether a private key is that of a certificate. @param keyPem may be anything */
export function isKeyOf(leaf: X509Certificate, keyPem: string): boolean {
  return attempt(() => leaf.checkPrivateKey(createPrivateKey(keyPem)), false);
}
