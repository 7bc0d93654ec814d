import { expect, test } from "bun:test";
import fc from "fast-check";
import { createUser, fromPublic, fromSeed } from "nkeys.js";
import { systemRandom } from "../base/id.ts";
import { deriveCurveKey } from "./curve.ts";
import { decodePublicKey, encodePublicKey, keyPairFromSeed, newKeyPair, verifySignature } from "./nkey.ts";

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("keys and signatures are interchangeable with nkeys.js", () => {
  fc.assert(
    fc.property(bytes32, fc.uint8Array(), (seed, message) => {
      for (const role of ["operator", "account", "user"] as const) {
        const ours = newKeyPair(role, () => seed);
        const theirs = fromSeed(Buffer.from(ours.seed));
        expect(theirs.getPublicKey()).toBe(ours.publicKey);
        expect(Buffer.from(theirs.sign(message))).toEqual(Buffer.from(ours.sign(message)));
        expect(keyPairFromSeed(role, ours.seed).publicKey).toBe(ours.publicKey);
      }
    }),
    { numRuns: 20 },
  );
  const theirs = createUser();
  const message = Buffer.from("message");
  expect(verifySignature("user", theirs.getPublicKey(), message, theirs.sign(message))).toBe(true);
  expect(verifySignature("user", theirs.getPublicKey(), Buffer.from("other"), theirs.sign(message))).toBe(
    false,
  );
  expect(verifySignature("account", theirs.getPublicKey(), message, theirs.sign(message))).toBe(false);
});

test("the curve key is the one nkeys.js accepts", () => {
  const curve = deriveCurveKey(newKeyPair("user", systemRandom));
  expect(curve.publicKey).toMatch(/^X[A-Z2-7]{55}$/);
  expect(fromPublic(curve.publicKey).getPublicKey()).toBe(curve.publicKey);
});

test("a public key has one spelling: any changed character is refused", () => {
  fc.assert(
    fc.property(
      bytes32,
      fc.nat(55),
      fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
      (raw, at, character) => {
        const text = encodePublicKey("user", raw);
        expect(Buffer.from(decodePublicKey("user", text) ?? [])).toEqual(Buffer.from(raw));
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        if (changed !== text) expect(decodePublicKey("user", changed)).toBeUndefined();
      },
    ),
  );
});

test("neither a seed nor a public key has a second spelling", () => {
  const { seed, publicKey } = newKeyPair("user", () => new Uint8Array(32));
  expect({ seed, publicKey }).toEqual({
    seed: `SU${"A".repeat(54)}EQ`,
    publicKey: "UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5",
  });
  for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") {
    const other = seed.slice(0, -1) + last;
    if (other !== seed) expect(() => keyPairFromSeed("user", other)).toThrow("not a valid user seed");
    expect(decodePublicKey("user", publicKey + last)).toBeUndefined();
  }
  expect(decodePublicKey("user", publicKey.toLowerCase())).toBeUndefined();
});

test("a bad seed is refused without being repeated", () => {
  const seed = newKeyPair("user", systemRandom).seed;
  for (const bad of ["", "S", seed.slice(1), `${seed}A`, newKeyPair("account", systemRandom).seed]) {
    expect(() => keyPairFromSeed("user", bad)).toThrow("not a valid user seed");
  }
});
