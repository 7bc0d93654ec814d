import { type KeyObject, X509Certificate } from "node:crypto";
import type * as X509 from "@peculiar/x509";
import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";

/** Loaded by the caller: it takes 20 ms, which only a master that verifies certificates needs. */
export type X509Library = typeof X509;

/** The fields of a certificate on which its verification depends. */
export interface Certificate {
  der: Uint8Array;
  /** To verify its signature. */
  native: X509Certificate;
  /** Absent when its kind is not supported. */
  key?: KeyObject;
  /** Names in DER and hexadecimal: issuer and subject are compared byte for byte. */
  subjectDer: string;
  issuerDer: string;
  /** `O=Example, CN=web-1`; empty when the certificate has none. */
  subject: string;
  commonNames: readonly string[];
  /** Hexadecimal. */
  serial: string;
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
  signature: { name: string; hash?: string };
  isCa: boolean;
  pathLength?: number;
  /** Bits of `KeyUsageFlags`; absent when every use is allowed. */
  keyUsage?: number;
  /** Object identifiers; absent when every use is allowed. */
  extendedKeyUsage?: readonly string[];
  /** Of the subject alternative name, by their kind: `dns`, `ip`, `url`, `email`, `dn`. */
  names: readonly { type: string; value: string }[];
  /** Object identifiers of the critical extensions, and of name constraints in any case. */
  binding: readonly string[];
}

const nameConstraints = "2.5.29.30";

/**
 * Reads a certificate in DER.
 *
 * @returns `undefined` when it is not exactly one well-formed certificate
 */
export function readCertificate(x509: X509Library, der: Uint8Array): Certificate | undefined {
  try {
    const native = new X509Certificate(der);
    // Both libraries must see the same bytes, and all of them.
    if (!Buffer.from(der).equals(native.raw)) return undefined;
    const parsed = new x509.X509Certificate(Uint8Array.from(der));
    const types = parsed.extensions.map(({ type }) => type);
    if (new Set(types).size !== types.length) return undefined;
    const constraints = parsed.getExtension(x509.BasicConstraintsExtension);
    const usage = parsed.getExtension(x509.KeyUsagesExtension)?.usages;
    const extended = parsed.getExtension(x509.ExtendedKeyUsageExtension)?.usages;
    const names = parsed.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
    const { name, hash } = parsed.signatureAlgorithm as { name: string; hash?: { name: string } };
    return {
      der,
      native,
      ...defined({ key: keyOf(native) }),
      subjectDer: hexOf(parsed.subjectName.toArrayBuffer()),
      issuerDer: hexOf(parsed.issuerName.toArrayBuffer()),
      subject: parsed.subject,
      commonNames: parsed.subjectName.getField("CN"),
      serial: parsed.serialNumber,
      notBefore: parsed.notBefore.getTime(),
      notAfter: parsed.notAfter.getTime(),
      signature: { name, ...defined({ hash: hash?.name }) },
      isCa: constraints?.ca === true,
      ...defined({
        pathLength: constraints?.pathLength,
        keyUsage: usage,
        extendedKeyUsage: extended?.map(String),
      }),
      names: names.map(({ type, value }) => ({ type, value: String(value) })),
      binding: parsed.extensions
        .filter(({ critical, type }) => critical || type === nameConstraints)
        .map(({ type }) => type),
    };
  } catch {
    return undefined;
  }
}

function keyOf(certificate: X509Certificate): KeyObject | undefined {
  return attempt(() => certificate.publicKey);
}

function hexOf(bytes: ArrayBuffer): string {
  return Buffer.from(bytes).toString("hex");
}
