import {
  constants,
  createCipheriv,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  publicEncrypt,
} from "node:crypto";
import type { Random } from "../../base/id.ts";
import { sha256 } from "../../base/sha256.ts";
import { tpm2b } from "./tpm-algorithm.ts";

/** A secret that only one TPM can open, and only while it holds one key. */
export interface TpmCredential {
  /** `TPM2B_ID_OBJECT`. */
  blob: Buffer;
  /** `TPM2B_ENCRYPTED_SECRET`. */
  secret: Buffer;
}

const identity = "IDENTITY";

/**
 * Does what `TPM2_MakeCredential` does (TPM 2.0 Library, Part 1, section 24 and annexes B.10.4 and C.6.4), for an
 * endorsement key of the usual templates: RSA with 2048 bits or P-256, SHA-256 and AES-128 in CFB mode.
 *
 * @param endorsement the public endorsement key
 * @param name of the key that the same TPM must hold
 * @param secret at most 32 bytes
 */
export function makeCredential(
  endorsement: KeyObject,
  name: Uint8Array,
  secret: Uint8Array,
  random: Random,
): TpmCredential {
  const { seed, encrypted } =
    endorsement.asymmetricKeyType === "rsa" ? seedForRsa(endorsement, random) : seedForEcc(endorsement);
  const storage = deriveA(seed, "STORAGE", name, 128);
  const cipher = createCipheriv("aes-128-cfb", storage, Buffer.alloc(16));
  const sealed = Buffer.concat([cipher.update(tpm2b(secret)), cipher.final()]);
  const mac = createHmac("sha256", deriveA(seed, "INTEGRITY", Buffer.alloc(0), 256));
  const integrity = mac.update(sealed).update(name).digest();
  return { blob: tpm2b(Buffer.concat([tpm2b(integrity), sealed])), secret: tpm2b(encrypted) };
}

function seedForRsa(key: KeyObject, random: Random) {
  const seed = Buffer.from(random(32));
  const oaepLabel = labelled(identity);
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  return { seed, encrypted: publicEncrypt({ key, padding, oaepHash: "sha256", oaepLabel }, seed) };
}

function seedForEcc(key: KeyObject) {
  const ephemeral = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const [own, other] = [pointOf(ephemeral.publicKey), pointOf(key)];
  const shared = diffieHellman({ privateKey: ephemeral.privateKey, publicKey: key });
  const seed = sha256(Buffer.concat([u32(1), shared, labelled(identity), own.x, other.x]));
  return { seed, encrypted: Buffer.concat([tpm2b(own.x), tpm2b(own.y)]) };
}

function pointOf(key: KeyObject): { x: Buffer; y: Buffer } {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  return { x: Buffer.from(x, "base64url"), y: Buffer.from(y, "base64url") };
}

/** `KDFa` with SHA-256 (Part 1, section 11.4.10.2), for at most 256 bits. */
function deriveA(key: Uint8Array, label: string, context: Uint8Array, bits: 128 | 256): Buffer {
  const content = Buffer.concat([u32(1), labelled(label), context, u32(bits)]);
  return createHmac("sha256", key)
    .update(content)
    .digest()
    .subarray(0, bits / 8);
}

/** With the zero byte that ends it. */
function labelled(text: string): Buffer {
  return Buffer.from(`${text}\0`, "latin1");
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
