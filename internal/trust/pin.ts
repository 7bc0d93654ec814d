import { createHash, X509Certificate } from "node:crypto";

/** The SPKI pin of a certificate: `sha256:<hex>` of its DER SubjectPublicKeyInfo. */
export function spkiPin(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/** The certificates of a PEM text, one by one. */
export function splitPem(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
}

/** The one certificate of a bundle that matches a pin; the rest of the bundle is not trusted. */
export function findPinned(bundle: string, pins: readonly string[]): string | undefined {
  return splitPem(bundle).find((pem) => {
    try {
      return pins.includes(spkiPin(pem));
    } catch {
      return false;
    }
  });
}
