import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore, Head } from "./blob-store.ts";
import { openContentStore, readBlob } from "./content-store.ts";

const graceMs = 1_000;
const digestOf = (text: string) => sha256Hex(text);

/** A blob store in memory: each message has a sequence that no other message ever has. */
function memoryBlobs() {
  const stored = new Map<string, { data: Uint8Array; place: number }>();
  let place = 0;
  let head: Head | undefined;
  const blobs = {
    async put(digest, data) {
      stored.set(digest, { data, place: ++place });
    },
    get: async (digest) => stored.get(digest)?.data,
    head: async () => head,
    async moveHead({ digest, token }, revision) {
      if ((head?.revision ?? 0) !== revision) return undefined;
      head = { digest, token, revision: ++place };
      return place;
    },
    list: async () => new Map([...stored].map(([digest, { place }]) => [digest, [place]])),
    async remove(doomed) {
      for (const [digest, { place }] of stored) if (place === doomed) stored.delete(digest);
    },
  } satisfies Partial<BlobStore>;
  return { blobs, texts: () => [...stored.values()].map(({ data }) => Buffer.from(data).toString()).sort() };
}

function setup() {
  const clock = manualClock();
  const { blobs, texts } = memoryBlobs();
  const store = openContentStore(blobs, graceMs, clock);
  const put = (text: string) => blobs.put(digestOf(text), Buffer.from(text));
  const collect = (stays: readonly string[] = [], claim: () => Promise<boolean> = async () => true) =>
    store.collect(new Set(stays.map(digestOf)), claim);
  return { clock, blobs, texts, store, put, collect };
}

test("the head names only stored blobs, and one of two writers moves it", async () => {
  const { blobs, store } = setup();
  const commit = (text: string, revision: number) =>
    store.commit({ digest: digestOf(text), data: Buffer.from(text), token: 7 }, revision);
  const won = await Promise.all([commit("one", 0), commit("two", 0)]);
  expect(won.filter((revision) => revision !== undefined)).toHaveLength(1);
  const head = await blobs.head();
  expect(head).toMatchObject({ token: 7, digest: digestOf("one") });
  expect(await readBlob(blobs, head?.digest ?? "")).toEqual(Buffer.from("one"));
});

test("missing or damaged bytes are not returned", async () => {
  const { blobs } = setup();
  await blobs.put(digestOf("good"), Buffer.from("bad"));
  expect([await readBlob(blobs, digestOf("good")), await readBlob(blobs, digestOf("x"))]).toEqual([
    undefined,
    undefined,
  ]);
});

test("an unreferenced blob is removed after the grace time, which restarts when it is stored again", async () => {
  const { clock, texts, put, collect } = setup();
  for (const text of ["kept", "idle", "again"]) await put(text);
  expect(await collect(["kept"])).toBe(0);
  clock.advance(graceMs - 1);
  await put("again");
  expect(await collect(["kept"])).toBe(0);
  clock.advance(1);
  expect(await collect(["kept"])).toBe(1);
  expect(texts()).toEqual(["again", "kept"]);
  clock.advance(graceMs);
  expect(await collect(["kept"])).toBe(1);
  // Its time starts when nothing refers to it any longer.
  expect(await collect()).toBe(0);
  clock.advance(graceMs);
  expect(await collect()).toBe(1);
  expect(texts()).toEqual([]);
});

test("nothing is removed when the head cannot be claimed, or when nothing is due", async () => {
  const { clock, texts, put, collect } = setup();
  let claims = 0;
  await put("idle");
  const refuse = async () => {
    claims++;
    return false;
  };
  await collect([], refuse);
  clock.advance(graceMs);
  expect([await collect([], refuse), claims, texts()]).toEqual([0, 1, ["idle"]]);
});

test("a blob that is stored again while the head is claimed stays", async () => {
  const { clock, texts, put, collect } = setup();
  for (const text of ["again", "idle"]) await put(text);
  await collect();
  clock.advance(graceMs);
  const claim = async () => {
    await put("again");
    return true;
  };
  expect([await collect([], claim), texts()]).toEqual([2, ["again"]]);
});

const text = fc.constantFrom("a", "b", "c", "d");
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("publish" as const), texts: fc.uniqueArray(text) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat(2 * graceMs) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("collect" as const), again: fc.option(text) }) },
);

test("however publications, time and collections interleave, what the head refers to exists", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { clock, texts, put, collect } = setup();
      let referenced: readonly string[] = [];
      for (const one of steps) {
        if (one.do === "pass") clock.advance(one.ms);
        else if (one.do === "publish") {
          for (const text of one.texts) await put(text);
          referenced = one.texts;
        } else {
          // While the head is claimed, another writer stores and references a blob that is due for removal.
          const claim = async () => {
            if (one.again === null) return true;
            await put(one.again);
            referenced = [...new Set([...referenced, one.again])];
            return true;
          };
          await collect(referenced, claim);
        }
        expect(texts()).toEqual(expect.arrayContaining([...referenced]));
      }
    }),
  );
});
