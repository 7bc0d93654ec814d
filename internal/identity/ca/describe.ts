import { X509Certificate } from "node:crypto";
import { spkiPin } from "../trust/pin.ts";

/** What people compare and watch of a certificate. */
export interface CertificateSummary {
  /** `O=Example, CN=Example Root CA`. */
  subject: string;
  issuer: string;
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
  /** SHA-256 of the DER certificate as OpenSSL writes it: upper case, in pairs, with colons. */
  fingerprint: string;
  /** SPKI pin `sha256:<hex>`; it stays when the certificate is issued again for the same key. */
  pin: string;
}

/** Reads the summary of a PEM certificate; of a chain, that of the first one. */
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
