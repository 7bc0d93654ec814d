import { expect, test } from "bun:test";
import fc from "fast-check";
import { encode } from "../../base/msgpack.ts";
import { type BinaryManifest, chunkBytes, decodeBinaryManifest, encodeBinaryManifest } from "./manifest.ts";

const hex = (seed: string) => seed.repeat(64).slice(0, 64);
const manifest: BinaryManifest = {
  sha256: hex("a"),
  size: 2 * chunkBytes + 1,
  platform: "linux-x64",
  version: "1.2.3",
  chunks: [hex("1"), hex("2"), hex("3")],
};

test("an encoded manifest reads back, and another binary has another digest", () => {
  const { digest, data } = encodeBinaryManifest(manifest);
  expect(decodeBinaryManifest(data)).toEqual(manifest);
  expect(encodeBinaryManifest(structuredClone(manifest)).digest).toBe(digest);
  expect(encodeBinaryManifest({ ...manifest, version: "" }).digest).not.toBe(digest);
});

test("the largest binary has a manifest that can be read", () => {
  const chunks = Array.from({ length: 1024 }, () => hex("7"));
  const { data } = encodeBinaryManifest({ ...manifest, size: 1024 * chunkBytes, chunks });
  expect(decodeBinaryManifest(data).chunks).toHaveLength(1024);
});

const bytes = Buffer.alloc(32);
const plain = { v: 1, sha256: bytes, size: 1, platform: "linux-x64", version: "1", chunks: [bytes] };

test.each([
  ["no map", 7, "not a map"],
  ["another form", { ...plain, v: 2 }, "its format"],
  ["no bytes", { ...plain, size: 0, chunks: [] }, "size"],
  ["too many bytes", { ...plain, size: 513 * 1024 * 1024 }, "size"],
  ["an unknown platform", { ...plain, platform: "windows" }, "platform"],
  ["a version for a terminal", { ...plain, version: "\u001b[2J" }, "version"],
  ["a chunk too many", { ...plain, chunks: [bytes, bytes] }, "number of chunks"],
  ["a short digest", { ...plain, sha256: bytes.subarray(1) }, "digest"],
  ["a digest as text", { ...plain, chunks: [hex("a")] }, "digest"],
])("a manifest with %s is refused", (_, value, word) => {
  expect(() => decodeBinaryManifest(encode(plain))).not.toThrow();
  expect(() => decodeBinaryManifest(encode(value))).toThrow(word);
});

test("any bytes are read or refused, nothing else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
      try {
        decodeBinaryManifest(data);
      } catch (thrown) {
        expect(thrown).toHaveProperty("kind", "bad_request");
      }
    }),
  );
});
