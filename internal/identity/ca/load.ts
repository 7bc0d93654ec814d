import { type KeyObject, X509Certificate } from "node:crypto";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/file.ts";
import { importSigningKey, parsePrivateKey } from "./key.ts";
import { authorityPaths } from "./paths.ts";

/** An authority that can issue leaves. */
export interface Authority {
  rootPem: string;
  intermediatePem: string;
  /** Signs leaves; it cannot be exported. */
  signingKey: CryptoKey;
  /** Whether the key of the root is here as well; it need not be. */
  hasRootKey: boolean;
}

/**
 * Reads a CA directory: `root.crt`, `intermediate.crt` and `intermediate.key`; `root.key` may be away.
 * The parts must belong together.
 *
 * @throws SvcError `bad_request` naming the file and the command that makes a CA
 */
export async function loadAuthority(dir: string): Promise<Authority> {
  const paths = authorityPaths(dir);
  const rootPem = readAuthorityFile(paths.rootCrt, dir);
  const intermediatePem = readAuthorityFile(paths.subCrt, dir);
  const root = parseAuthority(rootPem, paths.rootCrt);
  const intermediate = parseAuthority(intermediatePem, paths.subCrt);
  const key = parsePrivateKey(readAuthorityFile(paths.subKey, dir), paths.subKey);

  if (!root.checkIssued(root) || !root.verify(root.publicKey)) throw mismatch(paths.rootCrt, "itself", dir);
  if (!intermediate.checkIssued(root) || !intermediate.verify(root.publicKey)) {
    throw mismatch(paths.subCrt, paths.rootCrt, dir);
  }
  assertOwnKey(intermediate, key, paths.subKey, paths.subCrt);
  const rootKeyPem = readTextIfPresent(paths.rootKey);
  if (rootKeyPem !== undefined) {
    assertOwnKey(root, parsePrivateKey(rootKeyPem, paths.rootKey), paths.rootKey, paths.rootCrt);
  }
  return {
    rootPem,
    intermediatePem,
    signingKey: await importSigningKey(key),
    hasRootKey: rootKeyPem !== undefined,
  };
}

/**
 * Reads the root of a CA directory with its key, to issue an authority's certificate again.
 *
 * @throws SvcError `bad_request` naming what is missing: the key of the root may be kept elsewhere
 */
export async function loadRoot(dir: string): Promise<{ pem: string; signingKey: CryptoKey }> {
  const paths = authorityPaths(dir);
  const pem = readAuthorityFile(paths.rootCrt, dir);
  const root = parseAuthority(pem, paths.rootCrt);
  const keyPem = readTextIfPresent(paths.rootKey);
  if (keyPem === undefined) {
    throw new SvcError(
      "bad_request",
      `${paths.rootKey} is not here, and only the key of the root can do this: run it where root.key is kept, then copy the new certificate to the masters`,
    );
  }
  const key = parsePrivateKey(keyPem, paths.rootKey);
  assertOwnKey(root, key, paths.rootKey, paths.rootCrt);
  return { pem, signingKey: await importSigningKey(key) };
}

/** Reads a file that a CA directory must have. @throws SvcError `bad_request` naming file and command */
export function readAuthorityFile(path: string, dir: string): string {
  try {
    return readTextFile(path, "the CA file");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    throw new SvcError("bad_request", `${reason}: make a CA with svc ca init --dir ${dir}`);
  }
}

/** Parses the certificate of an authority. @throws SvcError `bad_request` naming the file */
export function parseAuthority(pem: string, path: string): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    throw new SvcError("bad_request", `${path} is not a certificate in PEM`);
  }
  if (!certificate.ca) throw new SvcError("bad_request", `${path} is not the certificate of a CA`);
  return certificate;
}

function mismatch(path: string, signer: string, dir: string): SvcError {
  return new SvcError(
    "bad_request",
    `${path} is not signed by ${signer}: copy the files of one CA to ${dir}, or make one with svc ca init --dir in an empty directory`,
  );
}

function assertOwnKey(certificate: X509Certificate, key: KeyObject, keyPath: string, path: string): void {
  if (certificate.checkPrivateKey(key)) return;
  throw new SvcError("bad_request", `${keyPath} is not the key of ${path}: copy the files of one CA`);
}
