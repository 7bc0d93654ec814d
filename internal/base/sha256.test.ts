import { expect, test } from "bun:test";
import { sha256, sha256Hex } from "./sha256.ts";

test("is the SHA-256 of FIPS 180-4, of text as of its UTF-8 bytes", () => {
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect(sha256Hex("abc")).toBe(digest);
  expect(sha256(Buffer.from("abc")).toString("hex")).toBe(digest);
  expect(sha256Hex("ä")).toBe(sha256Hex(Uint8Array.of(0xc3, 0xa4)));
});
