import { isPresent } from "../../base/files/new-files.ts";
import { type CertificateSummary, describeCertificate } from "./describe.ts";
import { readPhase } from "./in-force.ts";
import { parseAuthority, readAuthorityFile } from "./load.ts";
import { authorityPaths, rotationPaths } from "./paths.ts";

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
 * The SPKI pins of the roots in a CA directory that peels may enroll with: two while the root is rotated. It opens
 * only certificates.
 *
 * @throws SvcError `bad_request` naming the file and the command that creates a CA
 */
export function rootPins(dir: string): [string, ...string[]] {
  const pinIn = (from: string) => {
    const path = authorityPaths(from).rootCrt;
    return summary(readAuthorityFile(path, from), path).pin;
  };
  const phase = readPhase(dir);
  if (phase === undefined) return [pinIn(dir)];
  const next = pinIn(rotationPaths(dir).next);
  return phase === "finish" ? [next] : [pinIn(dir), next];
}

function summary(pem: string, path: string): CertificateSummary {
  parseAuthority(pem, path);
  return describeCertificate(pem);
}
