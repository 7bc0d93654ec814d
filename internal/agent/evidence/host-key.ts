import { createPrivateKey, type KeyObject } from "node:crypto";
import { isSshCurve, Reader, readPositive, sshCurves } from "../../identity/evidence/mod.ts";

const magic = Buffer.from("openssh-key-v1\0", "latin1");

/**
 * Reads the private SSH host key of a file: in the format of OpenSSH (PROTOCOL.key), which no cryptographic library
 * reads, or in PEM, as older versions of OpenSSH wrote it.
 *
 * @returns `undefined` when it is not an unencrypted Ed25519 or ECDSA key
 */
export function readHostKey(text: string): KeyObject | undefined {
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]*)-----END OPENSSH PRIVATE KEY-----/.exec(
    text,
  )?.[1];
  try {
    const key = body === undefined ? createPrivateKey(text) : readOpenSsh(Buffer.from(body, "base64"));
    return key !== undefined && ["ed25519", "ec"].includes(key.asymmetricKeyType ?? "") ? key : undefined;
  } catch {
    // The reason could repeat a part of the key.
    return undefined;
  }
}

function readOpenSsh(bytes: Uint8Array): KeyObject | undefined {
  const reader = new Reader(bytes);
  if (reader.bytes(magic.length)?.equals(magic) !== true) return undefined;
  const [cipher, kdf] = [reader.sshText(), reader.sshText()];
  reader.sshString();
  const count = reader.u32();
  reader.sshString();
  const section = reader.sshString();
  if (cipher !== "none" || kdf !== "none" || count !== 1 || section === undefined) return undefined;
  const inner = new Reader(section);
  // Two equal numbers, which tell whether a section was decrypted well.
  inner.bytes(8);
  const type = inner.sshText() ?? "";
  const jwk = type === "ssh-ed25519" ? readEd25519(inner) : readEc(type, inner);
  return jwk === undefined ? undefined : createPrivateKey({ key: jwk, format: "jwk" });
}

function readEd25519(reader: Reader) {
  const [x, secret] = [reader.sshString(), reader.sshString()];
  if (x?.length !== 32 || secret?.length !== 64) return undefined;
  return { kty: "OKP", crv: "Ed25519", x: text(x), d: text(secret.subarray(0, 32)) };
}

function readEc(type: string, reader: Reader) {
  if (!isSshCurve(type)) return undefined;
  const { jwk: crv, bytes } = sshCurves[type];
  reader.sshText();
  const [point, secret] = [reader.sshString(), readPositive(reader)];
  if (point?.length !== 1 + 2 * bytes || secret === undefined || secret.length > bytes) return undefined;
  const d = Buffer.concat([Buffer.alloc(bytes - secret.length), secret]);
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)];
  return { kty: "EC", crv, x: text(x), y: text(y), d: text(d) };
}

function text(bytes: Buffer): string {
  return bytes.toString("base64url");
}
