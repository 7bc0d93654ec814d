import { expect, test } from "bun:test";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { systemRandom } from "../base/id.ts";
import { decodePublicKey, encodePublicKey, newKeyPair, verifySignature } from "./nkey.ts";
import { isSmallOrder } from "./small-order.ts";

const prime = 2n ** 255n - 19n;

function encoded(value: bigint, sign: boolean): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let at = 0, rest = value; at < 32; at++, rest >>= 8n) bytes[at] = Number(rest & 255n);
  if (sign) bytes[31] = (bytes[31] ?? 0) | 0x80;
  return bytes;
}

/** A point of order 8, found by taking the part of prime order out of points. */
function pointOfOrderEight() {
  for (let y = 2n; ; y++) {
    try {
      const point = ed25519.Point.fromBytes(encoded(y, false), true);
      const torsion = point.multiplyUnsafe(ed25519.Point.Fn.ORDER - 1n).add(point);
      if (!torsion.double().double().is0()) return torsion;
    } catch {
      // Not every y is on the curve.
    }
  }
}

/** Every encoding of the eight points of small order, also those of RFC 8032 section 5.1.3 that are not canonical. */
function allEncodings(): Uint8Array[] {
  const generator = pointOfOrderEight();
  const found: Uint8Array[] = [];
  for (let count = 0, at = generator; count < 8; count++, at = at.add(generator)) {
    const { y } = at.toAffine();
    for (const value of [y, y + prime]) {
      if (value >= 2n ** 255n) continue;
      found.push(encoded(value, false), encoded(value, true));
    }
  }
  return found;
}

test("every encoding of the points of small order is refused for every role", () => {
  const encodings = allEncodings();
  expect(new Set(encodings.map((raw) => Buffer.from(raw).toString("hex"))).size).toBe(14);
  for (const raw of encodings) {
    expect(isSmallOrder("ed25519", raw)).toBe(true);
    for (const role of ["operator", "account", "user"] as const) {
      expect(decodePublicKey(role, encodePublicKey(role, raw))).toBeUndefined();
    }
  }
});

test("the signature that fits any message under such a key is refused", () => {
  // R is the neutral element and S is zero: it verifies wherever the key times the challenge is neutral.
  const signature = Buffer.concat([encoded(1n, false), new Uint8Array(32)]);
  for (const raw of allEncodings()) {
    const key = encodePublicKey("user", raw);
    for (let message = 0; message < 32; message++) {
      expect(verifySignature("user", key, Buffer.of(message), signature)).toBe(false);
    }
  }
});

test("X25519 keys with which every shared secret is zero are refused", () => {
  const hex = [
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  ].map((text) => Buffer.from(text, "hex"));
  const small = [0n, 1n, prime - 1n, prime, prime + 1n].flatMap((u) => [encoded(u, false), encoded(u, true)]);
  for (const raw of [...hex, ...small]) {
    expect(() => x25519.getSharedSecret(systemRandom(32), raw)).toThrow();
    expect(decodePublicKey("curve", encodePublicKey("curve", raw))).toBeUndefined();
  }
});

test("other keys are accepted, also the ones next to those in the list", () => {
  for (let count = 0; count < 50; count++) {
    const { publicKey } = newKeyPair("user", systemRandom);
    expect(decodePublicKey("user", publicKey)).toBeDefined();
  }
  expect(isSmallOrder("ed25519", encoded(3n, false))).toBe(false);
  expect(isSmallOrder("x25519", encoded(9n, false))).toBe(false);
});
