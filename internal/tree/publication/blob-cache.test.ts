import { expect, test } from "bun:test";
import { sha256Hex } from "../../base/sha256.ts";
import { createBlobCache } from "./blob-cache.ts";

const data = (name: string, size = 1_000) => Buffer.alloc(size, name);

function storeOf(blobs: Buffer[]) {
  const stored = new Map(blobs.map((blob) => [sha256Hex(blob), blob]));
  const reads: string[] = [];
  return {
    reads,
    stored,
    async get(digest: string) {
      reads.push(digest);
      return stored.get(digest);
    },
  };
}

test("concurrent requests share one read, and the next one needs none", async () => {
  const a = data("a");
  const store = storeOf([a]);
  const cache = createBlobCache(store, 10_000);
  const all = await Promise.all(Array.from({ length: 100 }, () => cache.get(sha256Hex(a))));
  expect(all.every((found) => found === a)).toBe(true);
  await cache.get(sha256Hex(a));
  expect(store.reads).toHaveLength(1);
});

test("recently used blobs stay, within the memory limit", async () => {
  const blobs = ["a", "b", "c", "d"].map((name) => data(name));
  const [a = "", b = "", c = "", d = ""] = blobs.map(sha256Hex);
  const store = storeOf(blobs);
  const cache = createBlobCache(store, 3 * 1_200);
  for (const digest of [a, b, c, a, d]) await cache.get(digest);
  store.reads.length = 0;
  for (const digest of [a, c, d]) await cache.get(digest);
  expect(store.reads).toEqual([]);
  await cache.get(b);
  expect(store.reads).toEqual([b]);
});

test("a missing blob is read again, a damaged one is never returned", async () => {
  const a = data("a");
  const store = storeOf([]);
  const cache = createBlobCache(store, 10_000);
  expect(await cache.get(sha256Hex(a))).toBeUndefined();
  store.stored.set(sha256Hex(a), data("x"));
  await expect(cache.get(sha256Hex(a))).rejects.toThrow("damaged");
  store.stored.set(sha256Hex(a), a);
  expect(await cache.get(sha256Hex(a))).toEqual(a);
});
