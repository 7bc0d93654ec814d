import { expect, test } from "bun:test";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import { deriveCurveKey } from "./curve.ts";
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
