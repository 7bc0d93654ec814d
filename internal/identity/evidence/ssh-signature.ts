import { verify } from "node:crypto";
import { Reader } from "./reader.ts";
import { isSshCurve, readPositive, type SshPublicKey, sshCurves } from "./ssh-key.ts";

/**
 * Verifies a signature blob of SSH: the name of the algorithm, then the signature (RFC 4253 section 6.6, RFC 5656
 * section 3.1.2, RFC 8332, RFC 8709). SHA-1 is not accepted.
 */
export function isSshSigned({ type, key }: SshPublicKey, message: Uint8Array, blob: Uint8Array): boolean {
  const reader = new Reader(blob);
  const [algorithm = "", signature] = [reader.sshText(), reader.sshString()];
  if (signature === undefined || !reader.done) return false;
  try {
    if (type === "ssh-ed25519") return algorithm === type && verify(null, message, key, signature);
    if (type === "ssh-rsa") {
      const hash = { "rsa-sha2-256": "sha256", "rsa-sha2-512": "sha512" }[algorithm];
      return hash !== undefined && verify(hash, message, key, signature);
    }
    if (!isSshCurve(type) || algorithm !== type) return false;
    const { bytes, hash } = sshCurves[type];
    const pair = readPair(signature, bytes);
    return pair !== undefined && verify(hash, message, { key, dsaEncoding: "ieee-p1363" }, pair);
  } catch {
    return false;
  }
}

/** The two numbers of an ECDSA signature, each in `length` bytes. */
function readPair(signature: Uint8Array, length: number): Buffer | undefined {
  const reader = new Reader(signature);
  const [r, s] = [readPositive(reader), readPositive(reader)];
  if (r === undefined || s === undefined || !reader.done) return undefined;
  if (r.length > length || s.length > length) return undefined;
  const padded = (number: Buffer) => Buffer.concat([Buffer.alloc(length - number.length), number]);
  return Buffer.concat([padded(r), padded(s)]);
}
