import { expect, test } from "bun:test";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import { fromCurveSeed } from "nkeys.js";
import { systemRandom } from "../base/id.ts";
import { curvePairFromSeed, deriveCurveKey, newCurvePair } from "./curve.ts";
import { encodePublicKey, newKeyPair, rawFromSeed } from "./nkey.ts";

test("the curve key of a seed is the one that another implementation derives", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const pair = newKeyPair("user", () => bytes);
      const secret = ed25519.utils.toMontgomerySecret(rawFromSeed("user", pair.seed) ?? bytes);
      const own = deriveCurveKey(pair);
      expect(Buffer.from(own.secret)).toEqual(Buffer.from(secret));
      expect(own.publicKey).toBe(encodePublicKey("curve", x25519.getPublicKey(secret)));
    }),
    { numRuns: 50 },
  );
});

test("a curve key with a seed of its own is the one that nkeys.js reads, and its bytes are the secret", () => {
  const pair = newCurvePair(systemRandom);
  expect(pair.seed).toMatch(/^SX[A-Z2-7]{56}$/);
  expect(fromCurveSeed(Buffer.from(pair.seed)).getPublicKey()).toBe(pair.publicKey);
  expect(curvePairFromSeed(`${pair.seed}\n`)).toEqual(pair);
  expect(Buffer.from(rawFromSeed("curve", pair.seed) ?? [])).toEqual(Buffer.from(pair.secret));
});

test("what is not a seed of a curve key is refused without being repeated", () => {
  const { seed } = newCurvePair(systemRandom);
  for (const bad of ["", "SX", seed.slice(1), `${seed}A`, newKeyPair("user", systemRandom).seed]) {
    expect(() => curvePairFromSeed(bad)).toThrow(/^not a valid curve seed$/);
  }
});
