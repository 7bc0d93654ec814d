import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import {
  createFileAtomic,
  publicMode,
  readTextIfPresent,
  secretMode,
  syncDirectory,
  writeFileAtomic,
} from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";

/** The files of the certificate of a bus server, and of the one that takes its place. */
export function certificateFiles(dir: string) {
  const at = (name: string) => join(dir, name);
  return {
    dir,
    cert: at("nats-server.crt"),
    key: at("nats-server.key"),
    nextCert: at("nats-server.crt.next"),
    nextKey: at("nats-server.key.next"),
  } as const;
}
export type CertificateFiles = ReturnType<typeof certificateFiles>;

/**
 * Ends what an interrupted replacement left: the next certificate is on the disk only together with its key, or after
 * the key has taken its place.
 *
 * @returns whether the next certificate took the place of the last one
 * @throws SvcError `storage`
 */
export function settleFiles({ dir, cert, key, nextCert, nextKey }: CertificateFiles): boolean {
  if (!existsSync(nextCert)) return false;
  writing(nextCert, () => {
    if (existsSync(nextKey)) renameSync(nextKey, key);
    renameSync(nextCert, cert);
    syncDirectory(dir);
  });
  return true;
}

/**
 * Puts a certificate and its key, which is on the disk as the next one, in the place of those before.
 *
 * @throws SvcError `storage`
 */
export function replaceFiles(files: CertificateFiles, certPem: string): void {
  writing(files.nextCert, () => writeFileAtomic(files.nextCert, certPem, publicMode));
  settleFiles(files);
}

/** A key that masters are going to be asked to certify. */
export interface NextKey {
  privateKey: KeyObject;
  pem: string;
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Uint8Array;
}

/** The key that is on the disk since an earlier request, or a new one. @throws SvcError `storage` */
export function loadNextKey({ nextKey }: CertificateFiles): NextKey {
  const kept = readKey(readTextIfPresent(nextKey));
  if (kept !== undefined) return kept;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const write = existsSync(nextKey) ? writeFileAtomic : createFileAtomic;
  writing(nextKey, () => write(nextKey, pem, secretMode));
  return nextKeyOf(privateKey, pem);
}

function readKey(pem: string | undefined): NextKey | undefined {
  try {
    if (pem === undefined) return undefined;
    const privateKey = createPrivateKey(pem);
    return privateKey.asymmetricKeyType === "ec" ? nextKeyOf(privateKey, pem) : undefined;
  } catch {
    return undefined;
  }
}

const nextKeyOf = (privateKey: KeyObject, pem: string): NextKey => ({
  privateKey,
  pem,
  publicKey: createPublicKey(privateKey).export({ format: "der", type: "spki" }),
});
