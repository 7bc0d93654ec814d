import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { baseOf, contentsOf } from "../../../test/harness/contents.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { type BlobStore, openBlobStore } from "../../bus/storage/blob-store.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { decodeCatalog, findSnapshot, keptSnapshots } from "../files/catalog.ts";
import { decodePage, decodeRoot, maxBlobBytes } from "../files/manifest.ts";
import { type CatalogView, followCatalog } from "./follow-catalog.ts";
import { createHeadSeal } from "./head-seal.ts";
import { takeOverHead } from "./publish.ts";

let bus: TestBus;
let master: Bus;
let store: BlobStore;
let clock = manualClock();
const log = recordingLog();
const graceMs = 10 * 60_000;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  await provision(master, { replicas: 1, onlyRaise: true }, log);
  store = openBlobStore(master, "states");
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  // A stream that replaces one with its name may still answer as that one did.
  const manager = await master.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.purge("OBJ_states");
  clock = manualClock();
  log.records.length = 0;
});

const key = newKeyPair("user", systemRandom);
/** Like a master that has just started. */
const sealOf = (signer = key) => createHeadSeal(signer, clock);
const take = (
  token: number,
  over: BlobStore = store,
  seal = sealOf(),
  recall: CatalogView["recall"] = () => undefined,
) => takeOverHead({ store: over, seal, clock, log, recall }, token);

async function blob(digest: string): Promise<Uint8Array> {
  const data = await store.get(digest);
  if (data === undefined || sha256Hex(data) !== digest) throw new Error(`the blob ${digest} does not exist`);
  return data;
}

/** Reads a snapshot with only the head. */
async function readFiles(environment = "base", commit?: string): Promise<Record<string, string>> {
  const head = await store.head();
  const catalog = decodeCatalog(await blob(head?.digest ?? ""));
  const root = decodeRoot(await blob(findSnapshot(catalog, environment, { commit }).manifest));
  const found: Record<string, string> = {};
  for (const page of root.pages) {
    for (const file of decodePage(await blob(page))) {
      const parts = await Promise.all((file.blobs ?? [file.digest]).map(blob));
      found[file.path] = Buffer.concat(parts).toString("latin1");
    }
  }
  return found;
}

test("a publication can be read, and a change uploads only changed blobs", async () => {
  const publisher = await take(1);
  const large = Buffer.alloc(3 * maxBlobBytes + 5, "x");
  large.fill("y", maxBlobBytes, 2 * maxBlobBytes);
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`d/${i}.sls`, `state ${i}`]));
  const files = { ...many, "top.sls": "base: {}", empty: "", large };
  const first = await publisher.publish([baseOf(files)]);
  expect(first.changed).toEqual(["base"]);
  expect(await readFiles()).toEqual({
    ...many,
    "top.sls": "base: {}",
    empty: "",
    large: large.toString("latin1"),
  });

  // The file, the page it is in, and the root.
  const second = await publisher.publish([baseOf({ ...files, "d/7.sls": "changed" })]);
  expect(second.blobs).toBe(3);
  expect(second.bytes).toBeLessThan(60_000);
  expect((await readFiles())["d/7.sls"]).toBe("changed");

  // The changed piece of a large file.
  const patched = Buffer.from(large);
  patched.fill("z", 2 * maxBlobBytes, 2 * maxBlobBytes + 3);
  const third = await publisher.publish([baseOf({ ...files, "d/7.sls": "changed", large: patched })]);
  expect(third.blobs).toBe(3);
  expect((await readFiles()).large).toBe(patched.toString("latin1"));

  expect(await publisher.publish([baseOf({ ...files, "d/7.sls": "changed", large: patched })])).toEqual({
    changed: [],
    blobs: 0,
    bytes: 0,
  });
});

test("the tools of NATS list and read the objects", async () => {
  await (await take(4)).publish([baseOf({ a: "hello" })]);
  const objects = await master.nats.jetstream().views.os("states");
  const hello = sha256Hex(Buffer.from("hello"));
  expect(Buffer.from((await objects.getBlob(hello)) ?? []).toString()).toBe("hello");
  expect((await objects.list()).map(({ name }) => name)).toContain(hello);
  const head = await objects.info("head");
  expect(head?.metadata).toEqual({ token: "4", statement: expect.any(String) });
  expect(decodeCatalog((await objects.getBlob("head")) ?? new Uint8Array()).environments.has("base")).toBe(
    true,
  );
});

test("a paused holder can no longer move the head", async () => {
  const old = await take(5);
  await old.publish([baseOf({ a: "of the old one" })]);
  const now = await take(8);
  await expect(old.publish([baseOf({ a: "stale" })])).rejects.toThrow(
    "another master has taken over publishing",
  );
  await now.publish([baseOf({ a: "of the new one" })]);
  await expect(old.publish([baseOf({ b: "stale" })])).rejects.toThrow(
    "another master has taken over publishing",
  );
  expect(await readFiles()).toEqual({ a: "of the new one" });
  expect((await store.head())?.token).toBe(8);
  await expect(take(6)).rejects.toThrow("another master has taken over publishing");
  expect((await store.head())?.token).toBe(8);
});

test("of two concurrent takeovers, one publishes", async () => {
  const both = await Promise.allSettled([take(1), take(2)]);
  const results = await Promise.allSettled(
    both.map(async (taken, i) => {
      if (taken.status === "rejected") throw taken.reason;
      return taken.value.publish([baseOf({ a: `of ${i}` })]);
    }),
  );
  const winners = results.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []));
  expect(winners).toHaveLength(1);
  expect(await readFiles()).toEqual({ a: `of ${winners[0]}` });
});

test("garbage collection by a former holder removes nothing that the new holder needs", async () => {
  const paused = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const old = await take(1, {
    ...store,
    async remove(place) {
      reached.resolve();
      await paused.promise;
      await store.remove(place);
    },
  });
  await old.publish([baseOf({ a: "wanted again later", b: "kept" })]);
  for (let i = 0; i < keptSnapshots; i++) await old.publish([baseOf({ a: `version ${i}`, b: "kept" })]);
  await old.collect();
  clock.advance(graceMs);
  const collecting = old.collect();
  await reached.promise;

  const now = await take(2);
  await now.publish([baseOf({ a: "wanted again later", b: "kept" })]);
  paused.resolve();
  await collecting;
  expect(await readFiles()).toEqual({ a: "wanted again later", b: "kept" });
});

test("unreferenced blobs are removed after the grace period, pinned commits stay readable", async () => {
  const publisher = await take(1);
  const at = (i: number) => ({
    ...baseOf({ a: `version ${i}`, same: "same" }),
    origin: {
      directory: false,
      commits: [{ remote: "r", ref: "refs/heads/main", commit: String(i).padStart(40, "0") }],
    },
  });
  for (let i = 0; i < keptSnapshots + 2; i++) await publisher.publish([at(i)]);
  const blobs = (await store.list()).size;
  expect(await publisher.collect()).toBe(0);
  clock.advance(graceMs - 1);
  expect(await publisher.collect()).toBe(0);
  clock.advance(1);
  expect(await publisher.collect()).toBeGreaterThan(0);
  expect((await store.list()).size).toBeLessThan(blobs);
  for (let i = 2; i < keptSnapshots + 2; i++) {
    expect(await readFiles("base", String(i).padStart(40, "0"))).toEqual({ a: `version ${i}`, same: "same" });
  }
  await expect(readFiles("base", "0".repeat(40))).rejects.toThrow("no commit");
  // A removed blob is uploaded again when it is needed again.
  await publisher.publish([at(0)]);
  expect(await readFiles()).toEqual({ a: "version 0", same: "same" });
});

test("a new holder repairs damaged or missing blobs in the store", async () => {
  const files = { a: "one", b: "two", c: "three" };
  await (await take(1)).publish([baseOf(files)]);
  const places = (await store.list()).get(sha256Hex(Buffer.from("two"))) ?? [];
  for (const place of places) await store.remove(place);
  await expect(readFiles()).rejects.toThrow("does not exist");
  await (await take(2)).publish([baseOf(files)]);
  expect(await readFiles()).toEqual(files);

  // A catalog that cannot be read: everything is published again.
  const junk = Buffer.from("junk");
  await store.put(sha256Hex(junk), junk);
  await store.moveHead(
    { digest: sha256Hex(junk), size: junk.length, token: 2 },
    (await store.head())?.revision ?? 0,
  );
  await (await take(3)).publish([baseOf(files)]);
  expect(await readFiles()).toEqual(files);
  expect(log.records.some(({ level }) => level === "error")).toBe(true);
});

test("environments are added and removed, and an unchanged one keeps its snapshot", async () => {
  const publisher = await take(1);
  const environment = (name: string, text: string) => ({ ...baseOf({ a: text }), name });
  await publisher.publish([environment("base", "b"), environment("dev", "d"), environment("old", "o")]);
  const { changed } = await publisher.publish([environment("base", "b2")], ["dev", "never was"]);
  expect(changed.toSorted()).toEqual(["base", "old"]);
  expect(publisher.environments().toSorted()).toEqual(["base", "dev"]);
  expect(await readFiles("dev")).toEqual({ a: "d" });
  await expect(readFiles("old")).rejects.toThrow('environment "old" does not exist');
});

test("a file that changes during publication is an error, and the head is unchanged", async () => {
  const publisher = await take(1);
  await publisher.publish([baseOf({ a: "good" })]);
  const base = baseOf({ a: "said" });
  const [content] = base.files.values();
  if (content === undefined) throw new Error("no file");
  const other = { ...content, pieces: contentsOf({ a: "done" }).get("a")?.pieces ?? content.pieces };
  const moving = { ...base, files: new Map([["a", other]]) };
  await expect(publisher.publish([moving])).rejects.toThrow("changed during publication");
  expect(await readFiles()).toEqual({ a: "good" });
});

/** Points the head at this tree, as an attacker with access to the object store would. */
async function forge(statement?: Uint8Array, digest?: string): Promise<void> {
  const other = sealOf(newKeyPair("user", systemRandom));
  const real = await store.head();
  const evil = await takeOverHead({ store, seal: other, clock, log: recordingLog() }, 90);
  await evil.publish([baseOf({ a: "evil" })]);
  const forged = await store.head();
  if (statement === undefined) return;
  await store.moveHead(
    { digest: digest ?? real?.digest ?? "", size: 1, token: 90, statement },
    forged?.revision ?? 0,
  );
}

const headSubject = `$O.states.M.${Buffer.from("head").toString("base64")}`;

/** Stores an object named head with the tools of NATS, which also remove what the head named before. */
async function putOrdinary(): Promise<void> {
  const objects = await master.nats.jetstream().views.os("states");
  await objects.putBlob({ name: "head" }, Buffer.from("an ordinary object"));
}

async function removeHead(): Promise<void> {
  const objects = await master.nats.jetstream().views.os("states");
  await objects.delete("head");
}

async function putNonsense(): Promise<void> {
  await master.nats.request(headSubject, "neither an object nor JSON");
}

/** A master that serves the published state. */
function follow(seal = sealOf()) {
  const records = recordingLog();
  const view = followCatalog({ store, seal, bus: { onReconnect: () => () => {} }, clock, log: records });
  const foreign = { times: 0 };
  view.onForeign(() => foreign.times++);
  const check = async () => {
    clock.advance(60_000);
    const current = await view.current();
    return current?.catalog.environments.get("base")?.[0]?.manifest;
  };
  const errors = () =>
    records.records.filter(({ level }) => level === "error").map(({ fields }) => fields.reason);
  return { ...view, check, errors, foreign };
}

test("an announcement that comes before the servers agree on the head is looked at again", async () => {
  const seal = sealOf();
  const holder = await take(1, store, seal);
  await holder.publish([baseOf({ a: "one" })]);
  const before = await store.head();
  let isAgreed = true;
  let announce = () => {};
  const slow: Pick<BlobStore, "get" | "head" | "onHead"> = {
    get: store.get,
    head: async () => (isAgreed ? store.head() : before),
    onHead(run) {
      announce = run;
      return () => {};
    },
  };
  const view = followCatalog({ store: slow, seal, bus: { onReconnect: () => () => {} }, clock, log });
  const served = async () => (await view.current())?.catalog.environments.get("base")?.[0]?.manifest;
  const first = await served();
  expect(first).toBeDefined();
  isAgreed = false;
  await holder.publish([baseOf({ a: "two" })]);
  announce();
  expect(await served()).toBe(first);
  isAgreed = true;
  clock.advance(2_000);
  expect(await served()).not.toBe(first);
  view.stop();
});

test("a forged head is not served, and the holder publishes again", async () => {
  const seal = sealOf();
  const holder = await take(1, store, seal);
  await holder.publish([baseOf({ a: "one" })]);
  const old = await store.head();
  await holder.publish([{ ...baseOf({ a: "kept" }), name: "dev" }], ["base"]);
  const genuine = await store.head();
  const master = follow(seal);
  const served = await master.check();
  expect(served).toBeDefined();
  const unsigned = () =>
    store
      .head()
      .then((head) =>
        store.moveHead({ digest: genuine?.digest ?? "", size: 1, token: 1 }, head?.revision ?? 0),
      )
      .then(() => {});
  let publisher = holder;
  const cases: [reason: string, tamper: () => Promise<unknown>][] = [
    ["unknown command key", () => forge()],
    ["not signed", unsigned],
    ["another catalog", async () => forge((await store.head())?.statement, "0".repeat(64))],
    ["older than one seen before", async () => forge(old?.statement, old?.digest)],
    ["not signed", () => putOrdinary()],
    ["not signed", () => removeHead()],
    ["not signed", () => putNonsense()],
  ];
  for (const [at, [reason, tamper]] of cases.entries()) {
    expect(await publisher.holds()).toBe(true);
    const logged = master.errors().length;
    await tamper();
    expect(await publisher.holds()).toBe(false);
    expect(await master.check()).toBe(served);
    const errors = master.errors();
    expect(errors.length).toBeGreaterThan(logged);
    expect(errors.at(-1)).toContain(reason);
    // It is logged once.
    expect(await master.check()).toBe(served);
    expect(master.errors()).toEqual(errors);
    expect(master.foreign.times).toBeGreaterThanOrEqual(at + 1);
    publisher = await take(1, store, seal, master.recall);
    await publisher.publish([baseOf({ a: "one" })], ["dev"]);
    expect(await master.check()).toBe(served);
    expect(await readFiles()).toEqual({ a: "one" });
    // Fields that only the catalog has come from the last verified one.
    expect(await readFiles("dev")).toEqual({ a: "kept" });
  }
  master.stop();
});

test("a newly started master does not use a head that no master signed", async () => {
  await (await take(1)).publish([baseOf({ a: "one" })]);
  await forge();
  const publisher = await take(2);
  expect(publisher.environments()).toEqual([]);
  await publisher.publish([baseOf({ a: "two" })], ["base"]);
  expect(await readFiles()).toEqual({ a: "two" });
  await expect(readFiles("dev")).rejects.toThrow("environment");
});

test("masters that start with an ordinary object named head publish, and serve what is published", async () => {
  await (await take(1)).publish([baseOf({ a: "one" })]);
  await putOrdinary();
  const seal = sealOf();
  const started = follow(seal);
  expect(await started.check()).toBeUndefined();
  expect(started.foreign.times).toBeGreaterThan(0);
  await (await take(2, store, seal)).publish([baseOf({ a: "two" })]);
  expect(await started.check()).toBeDefined();
  expect(await readFiles()).toEqual({ a: "two" });
  started.stop();
});

test("after a rotation of the command key, everything is published again under the new key", async () => {
  await (await take(1)).publish([baseOf({ a: "one" })]);
  const next = sealOf(newKeyPair("user", systemRandom));
  const master = follow(next);
  expect(await master.check()).toBeUndefined();
  await (await take(2, store, next)).publish([baseOf({ a: "one" })]);
  expect(await master.check()).toBeDefined();
  expect(await readFiles()).toEqual({ a: "one" });
  master.stop();
});

test("versions grow with each publication, even when the clock is set back", async () => {
  const versions: number[] = [];
  const note = async () => versions.push(sealOf().check((await store.head()) ?? { digest: "" }).version);
  for (const token of [1, 2, 3]) {
    const publisher = await take(token);
    await note();
    await publisher.publish([baseOf({ a: `by ${token}` })]);
    await note();
    clock = manualClock(clock.now() - 3_600_000);
  }
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
});
