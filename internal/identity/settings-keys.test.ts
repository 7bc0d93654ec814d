import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { newCurvePair } from "./curve.ts";
import { deriveKey, derivePlanKey, deriveSettingsKey } from "./settings-keys.ts";

/** HKDF as RFC 5869 describes it: extract with an empty salt, then one step of expand. */
const hkdf = (secret: Uint8Array, info: string) => {
  const hmac = (key: Uint8Array, ...parts: Uint8Array[]) =>
    createHmac("sha256", key).update(Buffer.concat(parts)).digest();
  return hmac(hmac(new Uint8Array(32), secret), Buffer.from(info), Uint8Array.of(1));
};
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("test case 3 of RFC 5869: without salt and info", () => {
  // The first 32 of its 42 bytes: a longer output begins with the shorter one.
  expect(hex(deriveKey(Buffer.alloc(22, 0x0b), ""))).toBe(
    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d",
  );
});

test("it is what RFC 5869 describes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.string(), (secret, info) => {
      expect(hex(deriveKey(secret, info))).toBe(hex(hkdf(secret, info)));
    }),
    { numRuns: 100 },
  );
});

test("the keys of each purpose and peel are those of the specification, and all differ", () => {
  const pair = newCurvePair(() => Uint8Array.from({ length: 32 }, (_, at) => at));
  const derived = [
    ["svc/tree/v1", deriveSettingsKey(pair, "tree")],
    ["svc/tree-names/v1", deriveSettingsKey(pair, "treeNames")],
    ["svc/files/v1", deriveSettingsKey(pair, "files")],
    ["svc/plan/v1\0web-1", derivePlanKey(pair, "web-1")],
    ["svc/plan/v1\0web-2", derivePlanKey(pair, "web-2")],
  ] as const;
  for (const [info, key] of derived) {
    expect(hex(key)).toBe(hex(hkdf(pair.secret, info)));
  }
  expect(new Set(derived.map(([, key]) => hex(key))).size).toBe(derived.length);
});
