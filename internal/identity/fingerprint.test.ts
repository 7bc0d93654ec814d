import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { systemRandom } from "../base/id.ts";
import { keyFingerprint } from "./fingerprint.ts";
import { base32Encode, decodePublicKey, newKeyPair } from "./nkey.ts";

test("a fingerprint is the start of the digest of the key, in groups that can be read out", () => {
  const { publicKey } = newKeyPair("user", systemRandom);
  const digest = createHash("sha256")
    .update(decodePublicKey("user", publicKey) ?? "")
    .digest();
  expect(keyFingerprint(publicKey)).toMatch(/^[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}$/);
  expect(keyFingerprint(publicKey).replaceAll("-", "")).toBe(base32Encode(digest).slice(0, 16));
  expect(keyFingerprint(newKeyPair("user", systemRandom).publicKey)).not.toBe(keyFingerprint(publicKey));
});

test("a malformed key has none", () => {
  expect(keyFingerprint("U")).toBe("-");
});
