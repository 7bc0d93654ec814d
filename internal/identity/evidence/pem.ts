import { decodeBase64 } from "../../base/base64.ts";

const begin = "-----BEGIN CERTIFICATE-----";
const end = "-----END CERTIFICATE-----";

/**
 * The certificates of a PEM text in DER, in their order. Text around them, and other PEM blocks, are ignored.
 *
 * @returns `undefined` when a certificate is cut off or not base64
 */
export function readPemCertificates(text: string): Uint8Array[] | undefined {
  const found: Uint8Array[] = [];
  for (const part of text.split(begin).slice(1)) {
    const length = part.indexOf(end);
    const der = length < 0 ? undefined : decodeBase64(part.slice(0, length).replace(/\s+/g, ""));
    if (der === undefined || der.length === 0) return undefined;
    found.push(der);
  }
  return found;
}

/** The PEM text of certificates in DER. */
export function formatPemCertificates(certificates: readonly Uint8Array[]): string {
  return certificates
    .map((der) => {
      const lines =
        Buffer.from(der)
          .toString("base64")
          .match(/.{1,64}/g) ?? [];
      return [begin, ...lines, end, ""].join("\n");
    })
    .join("");
}
