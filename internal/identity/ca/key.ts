import { createPrivateKey, type KeyObject } from "node:crypto";
import { SvcError } from "../../base/errors.ts";

/** The algorithm of every CA key (specification: ECDSA P-256). */
const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" } as const;
/** The signature algorithm of those keys. */
export const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" } as const;

/** Creates a key pair, and the PEM (PKCS #8) of its private key, which is secret. */
export async function newSigningKey(): Promise<{ keys: CryptoKeyPair; pem: string }> {
  const keys = await crypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const der = new Uint8Array(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
  return { keys, pem: toPem("PRIVATE KEY", der) };
}

/** PEM of a certificate in DER. */
export const certificatePem = (der: Uint8Array): string => toPem("CERTIFICATE", der);

function toPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/**
 * Reads a private key from PEM (PKCS #8 or SEC 1).
 *
 * @param path the file of the key, for messages; the text itself is never repeated
 * @throws SvcError `bad_request` when it is not an ECDSA P-256 key
 */
export function parsePrivateKey(pem: string, path: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new SvcError("bad_request", `${path} is not an unencrypted private key in PEM`);
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new SvcError("bad_request", `${path} is not an ECDSA P-256 key`);
  }
  return key;
}

/** Imports the key for the certificate library. It can sign and cannot be exported. */
export function importSigningKey(key: KeyObject): Promise<CryptoKey> {
  const der = key.export({ type: "pkcs8", format: "der" });
  return crypto.subtle.importKey("pkcs8", new Uint8Array(der), keyAlgorithm, false, ["sign"]);
}
