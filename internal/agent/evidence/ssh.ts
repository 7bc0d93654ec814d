import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { evidenceMessage, isSshCurve, sshCurves } from "../../identity/evidence/mod.ts";
import type { EvidenceBody, ToSign } from "./evidence-request.ts";
import { readHostKey } from "./host-key.ts";

/**
 * Evidence of the SSH host key of a file, and of the certificate that OpenSSH keeps next to it.
 *
 * @throws SvcError `bad_request` naming the key of the configuration
 */
export function proveSsh(path: string, { challenge, publicKey }: ToSign): EvidenceBody {
  const key = readHostKey(readTextFile(path, "evidence.ssh_host_key"));
  const form = key === undefined ? undefined : sshForm(key);
  if (key === undefined || form === undefined) {
    throw new SvcError(
      "bad_request",
      `evidence.ssh_host_key: ${path} is not an unencrypted Ed25519 or ECDSA private key, such as /etc/ssh/ssh_host_ed25519_key`,
    );
  }
  const certificate = readTextIfPresent(`${path}-cert.pub`)?.trim().split(/\s+/).slice(0, 2).join(" ");
  const { type, blob } = form;
  return {
    type: "ssh",
    public_key: `${type} ${blob.toString("base64")}`,
    ...(certificate === undefined ? {} : { certificate }),
    signature: signBlob(type, key, evidenceMessage("ssh", challenge, publicKey)).toString("base64"),
  };
}

/** The type and the encoding of a public key in SSH. */
function sshForm(key: KeyObject): { type: string; blob: Buffer } | undefined {
  const { crv, x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  if (crv === "Ed25519") {
    const type = "ssh-ed25519";
    return { type, blob: Buffer.concat([sshString(type), sshString(bytes(x))]) };
  }
  const [type, found] = Object.entries(sshCurves).find(([, { jwk }]) => jwk === crv) ?? [];
  if (type === undefined || found === undefined) return undefined;
  const point = Buffer.concat([Buffer.of(4), bytes(x), bytes(y)]);
  return { type, blob: Buffer.concat([sshString(type), sshString(found.curve), sshString(point)]) };
}

/** A signature blob of SSH: the algorithm, then the signature. */
function signBlob(type: string, key: KeyObject, message: Uint8Array): Buffer {
  if (!isSshCurve(type)) return Buffer.concat([sshString(type), sshString(sign(null, message, key))]);
  const { hash, bytes: length } = sshCurves[type];
  const pair = sign(hash, message, { key, dsaEncoding: "ieee-p1363" });
  const numbers = Buffer.concat([positive(pair.subarray(0, length)), positive(pair.subarray(length))]);
  return Buffer.concat([sshString(type), sshString(numbers)]);
}

function sshString(content: string | Uint8Array): Buffer {
  const body = typeof content === "string" ? Buffer.from(content, "latin1") : content;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** A positive integer: without leading zeros, but for the one that keeps its first bit clear. */
function positive(number: Buffer): Buffer {
  const start = Math.max(
    0,
    number.findIndex((byte) => byte !== 0),
  );
  const digits = number.subarray(start);
  return sshString((digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits);
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "base64url");
}
