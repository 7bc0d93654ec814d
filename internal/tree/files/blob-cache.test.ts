import { expect, test } from "bun:test";
import { createBlobCache } from "./blob-cache.ts";
import { digestOf } from "./manifest.ts";

const data = (name: string, size = 1_000) => Buffer.alloc(size, name);

function storeOf(blobs: Buffer[]) {
  const stored = new Map(blobs.map((blob) => [digestOf(blob), blob]));
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

test("many who ask at once are one read, and the next is none", async () => {
  const a = data("a");
  const store = storeOf([a]);
  const cache = createBlobCache(store, 10_000);
  const all = await Promise.all(Array.from({ length: 100 }, () => cache.get(digestOf(a))));
  expect(all.every((found) => found === a)).toBe(true);
  await cache.get(digestOf(a));
  expect(store.reads).toHaveLength(1);
});

test("what was asked for last stays, within its bounds", async () => {
  const blobs = ["a", "b", "c", "d"].map((name) => data(name));
  const [a = "", b = "", c = "", d = ""] = blobs.map(digestOf);
  const store = storeOf(blobs);
  const cache = createBlobCache(store, 3 * 1_200);
  for (const digest of [a, b, c, a, d]) await cache.get(digest);
  store.reads.length = 0;
  for (const digest of [a, c, d]) await cache.get(digest);
  expect(store.reads).toEqual([]);
  await cache.get(b);
  expect(store.reads).toEqual([b]);
});

test("what is not there is asked for again, what is damaged never handed out", async () => {
  const a = data("a");
  const store = storeOf([]);
  const cache = createBlobCache(store, 10_000);
  expect(await cache.get(digestOf(a))).toBeUndefined();
  store.stored.set(digestOf(a), data("x"));
  await expect(cache.get(digestOf(a))).rejects.toThrow("damaged");
  store.stored.set(digestOf(a), a);
  expect(await cache.get(digestOf(a))).toEqual(a);
});
