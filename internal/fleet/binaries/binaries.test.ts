import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { type BlobStore, openBlobStore } from "../../bus/storage/blob-store.ts";
import { type BinaryManifest, chunkBytes, encodeBinaryManifest } from "../../host/binary/manifest.ts";
import { type Binaries, openBinaries } from "./binaries.ts";
import { decodeBinaryCatalog } from "./catalog.ts";

let bus: TestBus;
let master: Bus;
let store: BlobStore;
let clock = manualClock();
let needed = new Set<string>();
let binaries: Binaries;
const log = recordingLog();
const hour = 3600_000;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const manager = await master.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.delete("OBJ_binaries").catch(() => {});
  await provision(master, { replicas: 1, onlyRaise: true }, log);
  store = openBlobStore(master, "binaries");
  clock = manualClock();
  needed = new Set();
  binaries = open();
  log.records.length = 0;
});

const open = (over: Partial<Parameters<typeof openBinaries>[0]> = {}) =>
  openBinaries({ store, named: async () => needed, clock, jitter: () => 0, log, ...over });

/** A binary of three chunks; the first two are those of every binary with the same `shared`. */
function binaryOf(name: string, shared = name) {
  const bytes = Buffer.alloc(chunkBytes * 2 + 100, name);
  bytes.fill(`${shared}, the first`, 0, chunkBytes);
  bytes.fill(`${shared}, the second`, chunkBytes, chunkBytes * 2);
  return manifestOf(bytes);
}

function manifestOf(bytes: Buffer, over: Partial<BinaryManifest> = {}) {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  const manifest: BinaryManifest = {
    sha256: sha256Hex(bytes),
    size: bytes.length,
    platform: "linux-x64",
    version: "1.2.3",
    chunks: chunks.map(sha256Hex),
    ...over,
  };
  return { manifest, chunks, ...encodeBinaryManifest(manifest) };
}

type Binary = ReturnType<typeof binaryOf>;

async function upload({ chunks, data }: Binary, to = binaries) {
  for (const chunk of chunks) await to.put(sha256Hex(chunk), chunk);
  return to.commit(data, "alice");
}

async function catalog() {
  const head = await store.head();
  const data = head?.digest === undefined ? undefined : await store.get(head.digest);
  return data === undefined ? undefined : decodeBinaryCatalog(data);
}
const names = async () => (await catalog())?.binaries.map(({ manifest }) => manifest);

/** Whether all of a binary is there. */
async function isWhole({ manifest, digest }: Binary): Promise<boolean> {
  const parts = await Promise.all([digest, ...manifest.chunks].map((part) => store.get(part)));
  return parts.every((part) => part !== undefined);
}

/** An unreferenced chunk is noticed, and removed an hour later. */
async function collect(from = binaries) {
  await from.collect();
  clock.advance(hour);
  return from.collect();
}

describe("a commit", () => {
  test("requests missing chunks, and publishes the binary when it is complete", async () => {
    const binary = binaryOf("a");
    const [first = Buffer.of(), second = Buffer.of(), third = Buffer.of()] = binary.chunks;
    expect(await binaries.commit(binary.data, "alice")).toEqual({ missing: binary.manifest.chunks });
    await binaries.put(sha256Hex(second), second);
    expect(await binaries.commit(binary.data, "alice")).toEqual({
      missing: [sha256Hex(first), sha256Hex(third)],
    });
    expect([await catalog(), await store.get(binary.digest)]).toEqual([undefined, undefined]);
    await binaries.put(sha256Hex(first), first);
    await binaries.put(sha256Hex(third), third);
    expect(await binaries.commit(binary.data, "alice")).toEqual({
      binary: {
        manifest: binary.digest,
        sha256: binary.manifest.sha256,
        size: binary.manifest.size,
        platform: "linux-x64",
        version: "1.2.3",
        at: expect.any(String),
        by: "alice",
      },
    });
    expect(await names()).toEqual([binary.digest]);
    expect(await isWhole(binary)).toBe(true);
  });

  test("of an existing binary only makes it the newest", async () => {
    const [a, b] = [binaryOf("a"), binaryOf("b")];
    await upload(a);
    await upload(b);
    expect(await binaries.commit(a.data, "bob")).toMatchObject({ binary: { by: "bob" } });
    expect(await names()).toEqual([a.digest, b.digest]);
  });

  test.each([
    [
      "another SHA-256 than that of its chunks",
      { sha256: "0".repeat(64) },
      "its SHA-256 does not match its chunks",
    ],
    [
      "another size",
      { size: chunkBytes * 2 + 99 },
      `its size is ${chunkBytes * 2 + 99} bytes, but its chunks`,
    ],
  ])("of %s is refused", async (_, over, message) => {
    const { chunks } = binaryOf("a");
    const wrong = manifestOf(Buffer.concat(chunks), over);
    await expect(upload(wrong)).rejects.toThrow(message);
    expect(await catalog()).toBeUndefined();
  });

  test.each([
    ["that is malformed", Buffer.of(0xc1), "MessagePack"],
    ["that is too long", Buffer.alloc(100 * 1024), "a manifest must have at most"],
    [
      "of more than a binary may have",
      encodeBinaryManifest({ ...binaryOf("a").manifest, size: 512 * 1024 * 1024 + 1 }).data,
      "its size is not from 1 to",
    ],
    [
      "without one of its chunks",
      encodeBinaryManifest({ ...binaryOf("a").manifest, chunks: binaryOf("a").manifest.chunks.slice(1) })
        .data,
      "its number of chunks does not match",
    ],
  ])("of a manifest %s is refused", async (_, data, message) => {
    await expect(binaries.commit(data, "alice")).rejects.toThrow(message);
  });

  test("asks again for a chunk that is damaged in the store", async () => {
    const binary = binaryOf("a");
    await upload(binary);
    const [chunk = Buffer.of()] = binary.chunks;
    await store.put(sha256Hex(chunk), Buffer.from("something else"));
    expect(await binaries.commit(binary.data, "alice")).toEqual({ missing: [sha256Hex(chunk)] });
    await binaries.put(sha256Hex(chunk), chunk);
    expect(await binaries.commit(binary.data, "alice")).toHaveProperty("binary");
  });

  test("two at once both hold, of one binary and of two", async () => {
    const [a, b] = [binaryOf("a"), binaryOf("b")];
    const masters = [open(), open(), open()] as const;
    const done = await Promise.all([upload(a, masters[0]), upload(b, masters[1]), upload(a, masters[2])]);
    for (const one of done) expect(one).toHaveProperty("binary");
    expect(new Set(await names())).toEqual(new Set([a.digest, b.digest]));
    expect((await catalog())?.binaries).toHaveLength(2);
  });

  test("that the bus interrupts leaves nothing half done, and is done again", async () => {
    const binary = binaryOf("a");
    for (const chunk of binary.chunks) await binaries.put(sha256Hex(chunk), chunk);
    const cut = { ...store, moveHead: () => Promise.reject(new Error("the bus is gone")) };
    await expect(open({ store: cut }).commit(binary.data, "alice")).rejects.toThrow("the bus is gone");
    expect(await catalog()).toBeUndefined();
    const lost = { ...store, find: () => Promise.reject(new Error("the bus is gone")) };
    await expect(open({ store: lost }).commit(binary.data, "alice")).rejects.toThrow("the bus is gone");
    const back = new Promise<void>((resolve) => master.onReconnect(resolve));
    await bus.restart("SIGKILL");
    await back;
    expect(await binaries.commit(binary.data, "alice")).toHaveProperty("binary");
    expect(await names()).toEqual([binary.digest]);
  });

  test("works with a damaged catalog or manifest, and logs the damage", async () => {
    const [a, b] = [binaryOf("a"), binaryOf("b")];
    await upload(a);
    await store.put(a.digest, Buffer.from("damaged"));
    await upload(b);
    expect(log.records.map(({ event }) => event)).toContain("a binary cannot be read: commit it again");
    const head = await store.head();
    await store.put(head?.digest ?? "", Buffer.from("damaged"));
    await upload(a);
    expect(await names()).toEqual([a.digest]);
    expect(await isWhole(a)).toBe(true);
  });
});

test("an ordinary object named head is replaced by the next commit, and by the removal of chunks", async () => {
  const [a, b] = [binaryOf("a"), binaryOf("b")];
  await upload(a);
  const objects = await master.nats.jetstream().views.os("binaries");
  await objects.putBlob({ name: "head" }, Buffer.from("an ordinary object"));
  await upload(b);
  expect(await names()).toEqual([b.digest]);
  expect(log.records.map(({ event }) => event)).toContain(
    "the catalog of binaries is damaged: commit the binaries again",
  );
  await upload(a);
  expect(await names()).toEqual([a.digest, b.digest]);
  await objects.delete("head");
  await binaries.collect();
  expect(await names()).toEqual([]);
  await upload(b);
  expect(await isWhole(b)).toBe(true);
});

describe("a chunk", () => {
  test.each<[string, string, Buffer, string]>([
    ["other bytes than its digest says", "0".repeat(64), Buffer.from("x"), "do not match its digest"],
    ["no bytes", sha256Hex(Buffer.of()), Buffer.of(), "a chunk must not be empty"],
    ["too many bytes", "0".repeat(64), Buffer.alloc(chunkBytes + 1), "a chunk must have at most"],
  ])("with %s is refused", async (_, digest, data, message) => {
    await expect(binaries.put(digest, data)).rejects.toThrow(message);
    expect(await store.size()).toBe(0);
  });

  test("is refused when the store is full", async () => {
    const small = open({ capacityBytes: chunkBytes * 2 });
    const { chunks } = binaryOf("a");
    const [first = Buffer.of(), second = Buffer.of()] = chunks;
    await small.put(sha256Hex(first), first);
    await expect(small.put(sha256Hex(second), second)).rejects.toThrow("the store of binaries is full");
  });
});

describe("of binaries", () => {
  test("keeps the newest four, and others that are needed", async () => {
    const all = ["a", "b", "c", "d", "e", "f"].map((name) => binaryOf(name, "shared"));
    const [a, b] = all as [Binary, Binary];
    needed.add(a.digest);
    for (const binary of all) await upload(binary);
    expect(await names()).toEqual([...all.slice(2).reverse(), a].map(({ digest }) => digest));
    await collect();
    expect(await Promise.all(all.map(isWhole))).toEqual([true, false, true, true, true, true]);
    // Chunks that it shares with others stay.
    expect(await store.get(b.manifest.chunks[0] ?? "")).toBeDefined();
    expect(await store.get(b.manifest.chunks[2] ?? "")).toBeUndefined();
    needed.clear();
    await upload(binaryOf("g", "shared"));
    await collect();
    expect(await isWhole(a)).toBe(false);
  });

  test("keeps at most eight needed ones", async () => {
    for (let i = 0; i < 8; i++) {
      const binary = binaryOf(`b${i}`, "shared");
      needed.add(binary.digest);
      await upload(binary);
    }
    const before = await names();
    await expect(upload(binaryOf("one more", "shared"))).rejects.toThrow("need 8 binaries");
    expect(await names()).toEqual(before);
  });
});

describe("unreferenced chunks", () => {
  test("stays for an hour, and is then removed", async () => {
    const [committed, abandoned] = [binaryOf("a"), binaryOf("b")];
    for (const chunk of abandoned.chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    await upload(committed);
    await binaries.collect();
    clock.advance(hour - 1);
    expect(await binaries.collect()).toBe(0);
    expect(await store.get(sha256Hex(abandoned.chunks[0] ?? Buffer.of()))).toBeDefined();
    clock.advance(1);
    expect(await binaries.collect()).toBeGreaterThan(2);
    for (const chunk of abandoned.chunks) expect(await store.get(sha256Hex(chunk))).toBeUndefined();
    expect(await isWhole(committed)).toBe(true);
    // Its own writes do not cause work for the next run.
    expect([await collect(), await collect()]).toEqual([0, 0]);
  });

  test("is removed also when nothing was ever committed", async () => {
    const { chunks } = binaryOf("a");
    for (const chunk of chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    expect(await collect()).toBe(3);
  });

  test("restarts its hour when it is stored again", async () => {
    const { chunks } = binaryOf("a");
    for (const chunk of chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    await binaries.collect();
    clock.advance(hour - 1);
    for (const chunk of chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    clock.advance(1);
    expect(await binaries.collect()).toBe(0);
  });

  test("cannot be committed while it is being removed: it must be stored again", async () => {
    const binary = binaryOf("a");
    for (const chunk of binary.chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    // A master that selects the chunks to remove, and pauses before it removes the first.
    const paused = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = open({
      store: {
        ...store,
        async remove(place) {
          paused.resolve();
          await goOn.promise;
          await store.remove(place);
        },
      },
    });
    await slow.collect();
    clock.advance(hour);
    const collecting = slow.collect();
    await paused.promise;
    expect(await binaries.commit(binary.data, "alice")).toEqual({ missing: binary.manifest.chunks });
    await upload(binary);
    goOn.resolve();
    await collecting;
    expect(await isWhole(binary)).toBe(true);
  });

  test("stays when it is committed after it was selected", async () => {
    const binary = binaryOf("a");
    for (const chunk of binary.chunks) await binaries.put(sha256Hex(chunk), chunk);
    await binaries.collect();
    let isDue = false;
    const slow = open({
      store: {
        ...store,
        async list() {
          const listed = await store.list();
          if (isDue) await binaries.commit(binary.data, "alice");
          return listed;
        },
      },
    });
    await slow.collect();
    clock.advance(hour);
    isDue = true;
    expect(await slow.collect()).toBe(0);
    expect(await isWhole(binary)).toBe(true);
    expect(await names()).toEqual([binary.digest]);
  });
});
