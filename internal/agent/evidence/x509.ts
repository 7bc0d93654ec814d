import { createPrivateKey, type KeyObject, sign, X509Certificate } from "node:crypto";
import { attempt, SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { evidenceMessage, formatPemCertificates, readPemCertificates } from "../../identity/evidence/mod.ts";
import type { EvidenceBody, ToSign } from "./evidence-request.ts";

/**
 * Evidence of a certificate. Only the certificates of the file are sent, whatever else is in it.
 *
 * @throws SvcError `bad_request` naming the key of the configuration
 */
export function proveX509(
  paths: { cert: string; key: string },
  { challenge, publicKey }: ToSign,
): EvidenceBody {
  const chain = readPemCertificates(readTextFile(paths.cert, "evidence.x509_cert"));
  const leaf = chain?.[0] === undefined ? undefined : readLeaf(chain[0]);
  if (chain === undefined || leaf === undefined) {
    throw new SvcError("bad_request", `evidence.x509_cert: ${paths.cert} holds no certificates in PEM`);
  }
  const key = readKey(paths.key);
  if (!leaf.checkPrivateKey(key)) {
    const first = `the first certificate of ${paths.cert}`;
    throw new SvcError("bad_request", `evidence.x509_key: ${paths.key} is not the key of ${first}`);
  }
  const message = evidenceMessage("x509", challenge, publicKey);
  const signature = sign(key.asymmetricKeyType === "ed25519" ? null : "sha256", message, key);
  return { type: "x509", chain_pem: formatPemCertificates(chain), signature: signature.toString("base64") };
}

function readLeaf(der: Uint8Array): X509Certificate | undefined {
  return attempt(() => new X509Certificate(der));
}

function readKey(path: string): KeyObject {
  const text = readTextFile(path, "evidence.x509_key");
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey(text);
  } catch {
    // The reason could repeat a part of the key.
  }
  if (key !== undefined && ["ec", "rsa", "ed25519"].includes(key.asymmetricKeyType ?? "")) return key;
  throw new SvcError(
    "bad_request",
    `evidence.x509_key: ${path} is not an unencrypted EC, RSA or Ed25519 private key in PEM`,
  );
}
