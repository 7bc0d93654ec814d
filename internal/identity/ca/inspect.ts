import { isPresent } from "../../base/new-files.ts";
import { type CertificateSummary, describeCertificate } from "./describe.ts";
import { parseAuthority, readAuthorityFile } from "./load.ts";
import { authorityPaths } from "./paths.ts";

/** What a CA directory holds, as far as anybody may know. */
export interface Hierarchy {
  root: CertificateSummary;
  intermediate: CertificateSummary;
  /** PEM of the root: what a client trusts. */
  bundlePem: string;
  /** Whether the key of the root is in the directory. */
  hasRootKey: boolean;
}

/**
 * Reads the certificates of a CA directory; no key is opened.
 *
 * @throws SvcError `bad_request` naming the file and the command that makes a CA
 */
export function inspectAuthority(dir: string): Hierarchy {
  const paths = authorityPaths(dir);
  const bundlePem = readAuthorityFile(paths.rootCrt, dir);
  return {
    root: summary(bundlePem, paths.rootCrt),
    intermediate: summary(readAuthorityFile(paths.subCrt, dir), paths.subCrt),
    bundlePem,
    hasRootKey: isPresent(paths.rootKey),
  };
}

/**
 * The SPKI pin of the root in a CA directory; nothing but `root.crt` is read.
 *
 * @throws SvcError `bad_request` naming the file and the command that makes a CA
 */
export function rootPin(dir: string): string {
  const path = authorityPaths(dir).rootCrt;
  return summary(readAuthorityFile(path, dir), path).pin;
}

function summary(pem: string, path: string): CertificateSummary {
  parseAuthority(pem, path);
  return describeCertificate(pem);
}
