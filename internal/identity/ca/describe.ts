import { X509Certificate } from "node:crypto";
import { spkiPin } from "../trust/mod.ts";

/** The fields of a certificate that operators compare and monitor. */
export interface CertificateSummary {
  /** `O=Example, CN=Example Root CA`. */
  subject: string;
  issuer: string;
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
  /** SHA-256 of the DER certificate as OpenSSL writes it: upper case, in pairs, with colons. */
  fingerprint: string;
  /** SPKI pin `sha256:<hex>`. It stays the same when the certificate is reissued for the same key. */
  pin: string;
}

/** Reads the summary of a PEM certificate; for a chain, of the first certificate. */
export function describeCertificate(pem: string): CertificateSummary {
  const certificate = new X509Certificate(pem);
  return {
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
    fingerprint: certificate.fingerprint256,
    pin: spkiPin(pem),
  };
}

function oneLine(name: string): string {
  return name.split("\n").join(", ");
}
