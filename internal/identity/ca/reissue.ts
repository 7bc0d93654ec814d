import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { newSerial, rebuildAuthorityCertificate } from "./build.ts";
import { type CertificateSummary, describeCertificate } from "./describe.ts";
import { loadRoot, parseAuthority, readAuthorityFile } from "./load.ts";
import { authorityPaths } from "./paths.ts";
import { assertRootValidity, intermediateValidityMs, type Validity, validityFrom } from "./validity.ts";

interface Reissuing {
  dir: string;
  clock: Clock;
  random: Random;
}

/** A certificate before and after its reissue. */
export interface Reissued {
  before: CertificateSummary;
  after: CertificateSummary;
}

/**
 * Reissues the root certificate for the same key. Its SPKI pin stays the same, and every intermediate and
 * leaf below it verifies with the new one. Replaces `root.crt` atomically, and no other file.
 *
 * @throws SvcError `bad_request` when `root.key` is missing or does not match, or nothing would be gained
 */
export async function reissueRoot(options: Reissuing & { validityMs: number }): Promise<Reissued> {
  const { dir, clock, random, validityMs } = options;
  assertRootValidity(clock.now(), validityMs);
  const root = await loadRoot(dir);
  const before = describeCertificate(root.pem);
  const validity = validityFrom(clock.now(), validityMs);
  assertLater(validity, before, "give a longer --root-validity");
  const pem = await rebuildAuthorityCertificate(
    { certificate: root.pem, serial: newSerial(random), validity },
    { selfSigningKey: root.signingKey },
  );
  replace(authorityPaths(dir).rootCrt, pem);
  return { before, after: describeCertificate(pem) };
}

/**
 * Reissues the intermediate certificate for the same key and five years. Every leaf below it verifies with
 * the new one. Replaces `intermediate.crt` atomically, and no other file.
 *
 * @throws SvcError `bad_request` when `root.key` is missing or does not match, or nothing would be gained
 */
export async function reissueIntermediate({ dir, clock, random }: Reissuing): Promise<Reissued> {
  const path = authorityPaths(dir).subCrt;
  const root = await loadRoot(dir);
  const old = readAuthorityFile(path, dir);
  const certificate = parseAuthority(old, path);
  const issuer = parseAuthority(root.pem, authorityPaths(dir).rootCrt);
  if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
    throw new SvcError(
      "bad_request",
      `${path} does not belong to the CA in ${dir}: copy the files of one CA there`,
    );
  }
  const before = describeCertificate(old);
  const validity = validityFrom(clock.now(), intermediateValidityMs, describeCertificate(root.pem));
  assertLater(validity, before, "it ends with the root: first run svc ca renew-root");
  const pem = await rebuildAuthorityCertificate(
    { certificate: old, serial: newSerial(random), validity },
    { certificate: root.pem, key: root.signingKey },
  );
  replace(path, pem);
  return { before, after: describeCertificate(pem) };
}

function assertLater(next: Validity, before: CertificateSummary, remedy: string): void {
  if (next.notAfter > before.notAfter) return;
  throw new SvcError(
    "bad_request",
    `the certificate is valid until ${rfc3339(before.notAfter)}, and the new one would not end later: ${remedy}`,
  );
}

function replace(path: string, pem: string): void {
  writing(path, () => writeFileAtomic(path, pem, publicMode));
}
