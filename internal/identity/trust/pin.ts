import { X509Certificate } from "node:crypto";
import { sha256Hex } from "../../base/sha256.ts";

/** The SPKI pin of a certificate: `sha256:<hex>` of its DER SubjectPublicKeyInfo. */
export function spkiPin(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${sha256Hex(key)}`;
}

/** The certificates of a PEM text, one by one. */
export function splitPem(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
}

/** The self-signed CA certificates of a bundle. Skips everything else. */
export function rootsOf(bundle: string): string[] {
  return splitPem(bundle).filter((pem) => {
    try {
      const certificate = new X509Certificate(pem);
      return (
        certificate.ca && certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey)
      );
    } catch {
      return false;
    }
  });
}

/** The roots of a bundle that match a pin. A root that was reissued for the same key matches as well. */
export function pinnedRoots(bundle: string, pins: readonly string[]): string[] {
  return rootsOf(bundle).filter((pem) => pins.includes(spkiPin(pem)));
}
