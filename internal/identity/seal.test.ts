import { expect, test } from "bun:test";
import fc from "fast-check";
import { systemRandom } from "../base/id.ts";
import { deriveCurveKey } from "./curve.ts";
import { encodePublicKey, newKeyPair } from "./nkey.ts";
import { openSealed, seal } from "./seal.ts";

const newKey = () => deriveCurveKey(newKeyPair("user", systemRandom));
const own = newKey();
const other = newKey();
const context = Buffer.from("svc/test\0web-1");

test("the recipient can open a sealed box, and sealing twice gives different bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (bytes) => {
      const sealed = seal(bytes, own.publicKey, context, systemRandom);
      expect(Buffer.from(openSealed(sealed, own, context))).toEqual(Buffer.from(bytes));
      expect(sealed.length).toBe(bytes.length + 49);
      expect(Buffer.from(seal(bytes, own.publicKey, context, systemRandom))).not.toEqual(Buffer.from(sealed));
      if (bytes.length > 4) expect(Buffer.from(sealed).includes(bytes)).toBe(false);
    }),
    { numRuns: 50 },
  );
});

test("other keys and other contexts cannot open it", () => {
  const sealed = seal(Buffer.from("secret"), own.publicKey, context, systemRandom);
  expect(() => openSealed(sealed, other, context)).toThrow("for another key");
  for (const wrong of ["", "svc/test", "svc/test\0web-2", "svc/test\0web-1\0"]) {
    expect(() => openSealed(sealed, own, Buffer.from(wrong))).toThrow("for another key");
  }
  // The secret of one key with the public key of another does not pass for either.
  expect(() => openSealed(sealed, { ...own, publicKey: other.publicKey }, context)).toThrow();
});

test("any changed, missing or added byte is noticed", () => {
  const sealed = seal(Buffer.from("secret settings"), own.publicKey, context, systemRandom);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => openSealed(changed, own, context)).toThrow();
    expect(() => openSealed(sealed.subarray(0, at), own, context)).toThrow();
  }
  expect(() => openSealed(Buffer.concat([sealed, Buffer.of(0)]), own, context)).toThrow();
});

test("a malformed recipient or a key of small order is refused", () => {
  const small = encodePublicKey("curve", new Uint8Array(32));
  for (const recipient of ["", "X", newKeyPair("user", systemRandom).publicKey, small]) {
    expect(() => seal(new Uint8Array(1), recipient, context, systemRandom)).toThrow("not a curve public key");
  }
  const box = Buffer.concat([Buffer.of(1), Buffer.alloc(32), Buffer.alloc(16)]);
  expect(() => openSealed(box, own, context)).toThrow("for another key");
});
