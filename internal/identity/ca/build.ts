import type { Extension, X509Certificate } from "@peculiar/x509";
import type { Random } from "../../base/id.ts";
import { signingAlgorithm } from "./key.ts";
import type { Validity } from "./validity.ts";
import { loadX509 } from "./x509.ts";

/**
 * The parts of a distinguished name, outermost first, as plain text; or the subject of a certificate in PEM, byte
 * for byte.
 */
export type DistinguishedName = readonly (readonly [type: "O" | "CN", text: string])[] | { of: string };

interface Template {
  subject: DistinguishedName;
  publicKey: CryptoKey;
  serial: string;
  validity: Validity;
}

/** The issuing certificate. Absent means self-signed. */
interface Issuer {
  /** PEM. */
  certificate: string;
  key: CryptoKey;
}

/** A serial number in hexadecimal: 158 random bits, positive and never zero (RFC 5280 section 4.1.2.2). */
export function newSerial(random: Random): string {
  const bytes = Uint8Array.from(random(20));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString("hex");
}

/**
 * Builds a CA certificate.
 *
 * @param pathLength maximum number of CAs below it
 * @returns PEM
 */
export async function buildAuthorityCertificate(
  template: Template & { pathLength: number },
  issuer: Issuer | { selfSigningKey: CryptoKey },
): Promise<string> {
  const x509 = await loadX509();
  return build(template, issuer, [
    new x509.BasicConstraintsExtension(true, template.pathLength, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
  ]);
}

/**
 * Builds a certificate for the key of another root, signed by this root: a client that trusts only this root then
 * trusts what the other signed. Both have the same name, so the certificate counts as self-issued, and the path
 * length of this root does not count it (RFC 5280 section 4.2.1.9).
 *
 * @param template the other root, in PEM
 * @returns PEM
 */
export async function buildCrossCertificate(
  template: Pick<Template, "serial" | "validity"> & { root: string },
  issuer: Issuer,
): Promise<string> {
  const x509 = await loadX509();
  const publicKey = await new x509.X509Certificate(template.root).publicKey.export();
  return buildAuthorityCertificate(
    { ...template, subject: { of: template.root }, publicKey, pathLength: 1 },
    issuer,
  );
}

/** A CA certificate to reissue for the same key. */
interface Reissue {
  /** PEM of the certificate to replace. */
  certificate: string;
  serial: string;
  validity: Validity;
}

/**
 * Rebuilds a CA certificate. Everything stays the same, byte for byte, except the serial number and the
 * validity. The key and its identifier stay too, so everything that the old certificate signed verifies
 * with the new one.
 *
 * @param signer of the new certificate: its own key for a root
 * @returns PEM
 */
export async function rebuildAuthorityCertificate(
  { certificate, serial, validity }: Reissue,
  signer: Issuer | { selfSigningKey: CryptoKey },
): Promise<string> {
  const x509 = await loadX509();
  const old = new x509.X509Certificate(certificate);
  const issued = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: old.subjectName,
    issuer:
      "selfSigningKey" in signer ? old.subjectName : new x509.X509Certificate(signer.certificate).subjectName,
    notBefore: new Date(validity.notBefore),
    notAfter: new Date(validity.notAfter),
    publicKey: old.publicKey,
    signingKey: "selfSigningKey" in signer ? signer.selfSigningKey : signer.key,
    signingAlgorithm,
    extensions: old.extensions,
  });
  return toPem(issued);
}

async function build(
  template: Template,
  issuer: Issuer | { selfSigningKey: CryptoKey },
  extensions: readonly Extension[],
): Promise<string> {
  const x509 = await loadX509();
  const signer = "selfSigningKey" in issuer ? undefined : new x509.X509Certificate(issuer.certificate);
  const named = template.subject;
  const subject =
    "of" in named
      ? new x509.X509Certificate(named.of).subjectName
      : // The library takes an object literally; in a string it interprets quotes and "#".
        new x509.Name(named.map(([type, text]) => ({ [type]: [{ utf8String: text }] })));
  // A CA made by another tool may derive its key identifier in another way.
  const signerKeyId = signer?.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: template.serial,
    subject,
    issuer: signer?.subjectName ?? subject,
    notBefore: new Date(template.validity.notBefore),
    notAfter: new Date(template.validity.notAfter),
    publicKey: template.publicKey,
    signingKey: "selfSigningKey" in issuer ? issuer.selfSigningKey : issuer.key,
    signingAlgorithm,
    extensions: [
      ...extensions,
      await x509.SubjectKeyIdentifierExtension.create(template.publicKey),
      signerKeyId === undefined
        ? await x509.AuthorityKeyIdentifierExtension.create(signer?.publicKey ?? template.publicKey)
        : new x509.AuthorityKeyIdentifierExtension(signerKeyId),
    ],
  });
  return toPem(certificate);
}

function toPem(certificate: X509Certificate): string {
  return `${certificate.toString("pem").trimEnd()}\n`;
}
