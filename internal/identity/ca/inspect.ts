import { isPresent } from "../../base/new-files.ts";
import { type CertificateSummary, describeCertificate } from "./describe.ts";
import { parseAuthority, readAuthorityFile } from "./load.ts";
import { authorityPaths } from "./paths.ts";

/** The public content of a CA directory. */
export interface Hierarchy {
  root: CertificateSummary;
  intermediate: CertificateSummary;
  /** PEM of the root, which clients trust. */
  bundlePem: string;
  /** Whether the root key is in the directory. */
  hasRootKey: boolean;
}

/**
 * Reads the certificates of a CA directory. It does not open any key.
 *
 * @throws SvcError `bad_request` naming the file and the command that creates a CA
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
 * The SPKI pin of the root in a CA directory. It reads only `root.crt`.
 *
 * @throws SvcError `bad_request` naming the file and the command that creates a CA
 */
export function rootPin(dir: string): string {
  const path = authorityPaths(dir).rootCrt;
  return summary(readAuthorityFile(path, dir), path).pin;
}

function summary(pem: string, path: string): CertificateSummary {
  parseAuthority(pem, path);
  return describeCertificate(pem);
}
