import { verify } from "node:crypto";
import { Reader } from "./reader.ts";
import { tpmAlgorithm } from "./tpm-algorithm.ts";
import type { AttestationKey } from "./tpm-public.ts";

/** `TPM_GENERATED_VALUE`: a restricted key signs nothing that begins with it, unless its TPM made it. */
const generated = 0xff544347;
/** `TPM_ST_ATTEST_QUOTE`. */
const quote = 0x8018;
const maxSelections = 16;

/**
 * Reads a `TPMS_ATTEST` of a quote.
 *
 * @returns the data that the TPM was asked to sign; `undefined` when it is not exactly one quote
 */
export function readQuote(bytes: Uint8Array): Buffer | undefined {
  const reader = new Reader(bytes);
  if (reader.u32() !== generated || reader.u16() !== quote) return undefined;
  // The name of the key, the data, then the clock with three counters and the version of the firmware.
  reader.tpm2b();
  const data = reader.tpm2b();
  reader.bytes(8 + 4 + 4 + 1 + 8);
  const selections = reader.u32() ?? 0;
  if (selections > maxSelections) return undefined;
  for (let at = 0; at < selections; at++) {
    reader.u16();
    reader.bytes(reader.u8() ?? 0);
  }
  reader.tpm2b();
  return reader.done ? data : undefined;
}

/** Verifies a `TPMT_SIGNATURE` with SHA-256: RSASSA, or ECDSA with two numbers of 32 bytes. */
export function isTpmSigned({ key }: AttestationKey, message: Uint8Array, signature: Uint8Array): boolean {
  const reader = new Reader(signature);
  const [scheme, hash, first] = [reader.u16(), reader.u16(), reader.tpm2b()];
  if (hash !== tpmAlgorithm.sha256 || first === undefined) return false;
  try {
    if (scheme === tpmAlgorithm.rsassa) {
      return reader.done && key.asymmetricKeyType === "rsa" && verify("sha256", message, key, first);
    }
    const second = reader.tpm2b();
    if (scheme !== tpmAlgorithm.ecdsa || second === undefined || !reader.done) return false;
    if (key.asymmetricKeyType !== "ec" || first.length > 32 || second.length > 32) return false;
    const pair = Buffer.concat([padded(first), padded(second)]);
    return verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, pair);
  } catch {
    return false;
  }
}

function padded(number: Uint8Array): Buffer {
  return Buffer.concat([Buffer.alloc(32 - number.length), number]);
}
