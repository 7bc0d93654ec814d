import { decodePublicKey, encodePublicKey } from "./nkey.ts";

/**
 * The public key of `deriveCurveKey`, from the public key of the pair alone: the u coordinate of the same point, which is
 * (1 + y) / (1 - y) (RFC 7748, section 4.1). Nothing here is secret.
 *
 * @param publicKey of a user, `U…`
 * @returns `undefined` when it is not one, or is of small order
 */
export function curvePublicKeyOf(publicKey: string): string | undefined {
  const raw = decodePublicKey("user", publicKey);
  if (raw === undefined) return undefined;
  // The highest bit is the sign of x.
  const y = BigInt(`0x${Buffer.from(raw).reverse().toString("hex")}`) & (2n ** 255n - 1n);
  const u = modulo((1n + y) * inverse(modulo(1n - y)));
  return encodePublicKey("curve", Buffer.from(u.toString(16).padStart(64, "0"), "hex").reverse());
}

/** Of the field of both curves. */
const prime = 2n ** 255n - 19n;
const modulo = (value: bigint): bigint => ((value % prime) + prime) % prime;

/** By Fermat: the power of the prime minus two. */
function inverse(value: bigint): bigint {
  let found = 1n;
  let square = value;
  for (let left = prime - 2n; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) found = modulo(found * square);
    square = modulo(square * square);
  }
  return found;
}
