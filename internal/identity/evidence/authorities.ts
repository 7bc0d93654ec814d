import { SvcError } from "../../base/errors.ts";
import { type Certificate, readCertificate, type X509Library } from "./certificate.ts";
import { readPemCertificates } from "./pem.ts";

const maxAuthorities = 1_000;

/**
 * Reads a PEM file of certificates of authorities.
 *
 * @param name of the file, for messages
 * @throws SvcError `bad_request` that says what is wrong
 */
export function readAuthorities(x509: X509Library, pem: string, name: string): Certificate[] {
  const problem = (reason: string) => new SvcError("bad_request", `${name}: ${reason}`);
  const ders = readPemCertificates(pem);
  if (ders === undefined || ders.length === 0) throw problem("expected certificates in PEM");
  if (ders.length > maxAuthorities) throw problem(`more than ${maxAuthorities} certificates`);
  return ders.map((der, at) => {
    const certificate = readCertificate(x509, der);
    if (certificate === undefined) throw problem(`certificate ${at + 1} is malformed`);
    if (!certificate.isCa) throw problem(`certificate ${at + 1} is not that of a certificate authority`);
    return certificate;
  });
}
