import { type KeyObject, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { describeError, SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { importSigningKey, parsePrivateKey } from "./key.ts";
import { authorityPaths } from "./paths.ts";

/** What helps when a file of a CA is broken or belongs to another CA. */
const remedy = "copy the files of one CA, or create a CA in an empty directory with svc ca init --dir DIR";

/** A CA that can issue leaf certificates. */
export interface Authority {
  rootPem: string;
  intermediatePem: string;
  /** Signs leaf certificates. It cannot be exported. */
  signingKey: CryptoKey;
  /** Whether the root key is present too. It is optional. */
  hasRootKey: boolean;
  /**
   * PEM that follows the chain of everything it issues while a root is rotated: with it, a client that trusts only
   * the previous root verifies that as well.
   */
  crossPem?: string;
}

/**
 * Reads a CA directory: `root.crt`, `intermediate.crt` and `intermediate.key`. `root.key` is optional.
 * The files must belong to the same CA.
 *
 * @throws SvcError `bad_request` naming the file and the command that creates a CA
 */
export async function loadAuthority(dir: string): Promise<Authority> {
  const paths = authorityPaths(dir);
  const rootPem = readAuthorityFile(paths.rootCrt, dir);
  const intermediatePem = readAuthorityFile(paths.subCrt, dir);
  const root = parseAuthority(rootPem, paths.rootCrt);
  const intermediate = parseAuthority(intermediatePem, paths.subCrt);
  const key = parseAuthorityKey(readAuthorityFile(paths.subKey, dir), paths.subKey);

  if (!root.checkIssued(root) || !root.verify(root.publicKey)) throw mismatch(paths.rootCrt, "itself");
  if (!intermediate.checkIssued(root) || !intermediate.verify(root.publicKey)) {
    throw mismatch(paths.subCrt, paths.rootCrt);
  }
  assertOwnKey(intermediate, key, paths.subKey, paths.subCrt);
  const rootKeyPem = readTextIfPresent(paths.rootKey);
  if (rootKeyPem !== undefined) {
    assertOwnKey(root, parseAuthorityKey(rootKeyPem, paths.rootKey), paths.rootKey, paths.rootCrt);
  }
  return {
    rootPem,
    intermediatePem,
    signingKey: await importSigningKey(key),
    hasRootKey: rootKeyPem !== undefined,
  };
}

/**
 * Reads the root of a CA directory and its key, to reissue a CA certificate.
 *
 * @throws SvcError `bad_request` naming the missing file: the root key may be kept elsewhere
 */
export async function loadRoot(dir: string): Promise<{ pem: string; signingKey: CryptoKey }> {
  const paths = authorityPaths(dir);
  const pem = readAuthorityFile(paths.rootCrt, dir);
  const root = parseAuthority(pem, paths.rootCrt);
  const keyPem = readTextIfPresent(paths.rootKey);
  if (keyPem === undefined) {
    throw new SvcError(
      "bad_request",
      `${paths.rootKey} does not exist, and this command needs the root key: run it where root.key is kept, then copy the new certificate to the masters`,
    );
  }
  const key = parseAuthorityKey(keyPem, paths.rootKey);
  assertOwnKey(root, key, paths.rootKey, paths.rootCrt);
  return { pem, signingKey: await importSigningKey(key) };
}

/**
 * Reads a required file of a CA directory.
 *
 * @throws SvcError `bad_request` naming the file and what to do: `svc ca init` refuses a directory that has a CA
 */
export function readAuthorityFile(path: string, dir: string): string {
  try {
    return readTextFile(path, "the CA file");
  } catch (cause) {
    const next = hasAny(dir) ? remedy : `create a CA with svc ca init --dir ${dir}`;
    throw new SvcError("bad_request", `${describeError(cause)}: ${next}`, { cause });
  }
}

function hasAny(dir: string): boolean {
  return Object.values(authorityPaths(dir)).some((path) => existsSync(path));
}

/** Parses a CA certificate. @throws SvcError `bad_request` naming the file */
export function parseAuthority(pem: string, path: string): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    throw new SvcError("bad_request", `${path} is not a certificate in PEM: ${remedy}`);
  }
  if (!certificate.ca) throw new SvcError("bad_request", `${path} is not a CA certificate: ${remedy}`);
  return certificate;
}

function parseAuthorityKey(pem: string, path: string): KeyObject {
  try {
    return parsePrivateKey(pem, path);
  } catch (cause) {
    throw new SvcError("bad_request", `${describeError(cause)}: ${remedy}`, { cause });
  }
}

function mismatch(path: string, signer: string): SvcError {
  return new SvcError("bad_request", `${path} is not signed by ${signer}: ${remedy}`);
}

function assertOwnKey(certificate: X509Certificate, key: KeyObject, keyPath: string, path: string): void {
  if (certificate.checkPrivateKey(key)) return;
  throw new SvcError("bad_request", `${keyPath} is not the key of ${path}: ${remedy}`);
}
