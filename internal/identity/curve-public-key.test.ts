import { expect, test } from "bun:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import { systemRandom } from "../base/id.ts";
import { deriveCurveKey } from "./curve.ts";
import { curvePublicKeyOf } from "./curve-public-key.ts";
import { decodePublicKey, encodePublicKey, newKeyPair } from "./nkey.ts";

test("the public curve key follows from the public key alone, as another implementation has it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const pair = newKeyPair("user", () => bytes);
      const found = curvePublicKeyOf(pair.publicKey);
      expect(found).toBe(deriveCurveKey(pair).publicKey);
      const raw = decodePublicKey("user", pair.publicKey) ?? bytes;
      expect(found).toBe(encodePublicKey("curve", ed25519.utils.toMontgomery(raw)));
    }),
    { numRuns: 50 },
  );
});

test("a key that nobody holds alone, or of another role, has no curve key", () => {
  for (const y of [0, 1]) {
    const raw = Uint8Array.from({ length: 32 }, (_, at) => (at === 0 ? y : 0));
    expect(curvePublicKeyOf(encodePublicKey("user", raw))).toBeUndefined();
  }
  expect(curvePublicKeyOf(newKeyPair("account", systemRandom).publicKey)).toBeUndefined();
  expect(curvePublicKeyOf(`${newKeyPair("user", systemRandom).publicKey.slice(0, -1)}!`)).toBeUndefined();
});
