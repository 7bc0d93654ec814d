import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { observedLog } from "../../../test/harness/peel-connection.ts";
import { mastersOf } from "../../../test/harness/state-masters.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { maxBlobBytes } from "../../tree/files/manifest.ts";
import { snapshotOf } from "../../tree/files/snapshot.ts";
import { openStateFiles } from "./state-files.ts";

let temporary = temporaryDirectory("cache");
let dir = "";
beforeEach(() => {
  temporary = temporaryDirectory("cache");
  dir = join(temporary.path, "states-cache");
});
afterEach(() => temporary[Symbol.dispose]());

const command = newKeyPair("user", systemRandom);
const thief = newKeyPair("user", systemRandom);

function openPeel(masters?: ReturnType<typeof mastersOf>, keys = [command.publicKey]) {
  const clock = manualClock();
  const log = observedLog();
  const commandKeys = { current: keys };
  const files = openStateFiles({ dir, peelId: "web-1", commandKeys, clock, jitter: () => 1, log });
  if (masters !== undefined) files.attach(masters);
  return { clock, log, files, commandKeys };
}

async function readAll(source: Awaited<ReturnType<ReturnType<typeof openPeel>["files"]["open"]>>) {
  const found: Record<string, string> = {};
  for (const path of source.list("")) found[path] = Buffer.from(await source.read(path)).toString("latin1");
  return found;
}

const pathOf = (digest: string) => join(dir, "blobs", digest.slice(0, 2), digest);
const stored = () =>
  existsSync(join(dir, "blobs"))
    ? readdirSync(join(dir, "blobs"), { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      ).length
    : 0;
const tree = { "top.sls": "base: {}\n", "web/init.sls": "a: {}\n", "bin/run.sh": "#!/bin/sh\n" };

test("fetches the announced version, stores it for its owner only, and fetches only changes", async () => {
  const masters = mastersOf(command);
  const { files, log } = openPeel(masters);
  await masters.publish(tree);
  files.reported(masters.statement);
  await log.logged("state files fetched");
  const source = await files.open();
  expect(await readAll(source)).toEqual(tree);
  expect(source.stat("bin/run.sh")).toMatchObject({ executable: true, size: 10 });
  expect(source.stat("nothing")).toBeUndefined();
  await expect(source.read("nothing")).rejects.toHaveProperty("kind", "not_found");
  expect(source.list("web")).toEqual(["web/init.sls"]);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    expect(mode).toBe(entry.isDirectory() ? 0o700 : 0o600);
  }

  masters.requested.length = 0;
  await masters.publish({ ...tree, "top.sls": "base: []\n" });
  files.reported(masters.statement);
  await log.logged("state files fetched", ({ blobs }) => blobs === 3);
  expect(masters.requested).toHaveLength(3);
  expect((await readAll(await files.open()))["top.sls"]).toBe("base: []\n");
});

test("works from the cache when the bus is away, also after a restart", async () => {
  const masters = mastersOf(command);
  const first = openPeel(masters);
  await masters.publish(tree);
  first.files.reported(masters.statement);
  await first.log.logged("state files fetched");
  const away = openPeel();
  expect(await away.files.waitForFirstSync(new AbortController().signal)).toBe(true);
  expect(await readAll(await away.files.open())).toEqual(tree);
  masters.connected = false;
  expect(await readAll(await openPeel(masters).files.open())).toEqual(tree);
});

test("a run asks the masters first, and gets the latest version", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  await masters.publish(tree);
  expect(await readAll(await files.open())).toEqual(tree);
  await masters.publish({ new: "1" });
  expect(await readAll(await files.open())).toEqual({ new: "1" });
});

test("a damaged file is fetched again, and never used", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  const large = Buffer.alloc(2 * maxBlobBytes + 10, "x");
  await masters.publish({ ...tree, large });
  const source = await files.open();
  const victim = sha256Hex(Buffer.from(tree["top.sls"]));
  for (const damage of [
    () => writeFileSync(pathOf(victim), "base: {evil: true}\n"),
    () => truncateSync(pathOf(victim)),
    () => rmSync(pathOf(victim)),
  ]) {
    damage();
    expect(Buffer.from(await source.read("top.sls")).toString()).toBe(tree["top.sls"]);
    expect(readFileSync(pathOf(victim), "utf8")).toBe(tree["top.sls"]);
  }
  writeFileSync(pathOf(sha256Hex(large.subarray(0, maxBlobBytes))), "junk");
  expect(Buffer.from(await source.read("large")).equals(large)).toBe(true);

  masters.connected = false;
  writeFileSync(pathOf(victim), "base: {evil: true}\n");
  await expect(source.read("top.sls")).rejects.toThrow("the bus is unreachable");
  expect(Buffer.from(await source.read("web/init.sls")).toString()).toBe(tree["web/init.sls"]);
});

test("a manifest or a list that is damaged is fetched again", async () => {
  const masters = mastersOf(command);
  const manifest = await masters.publish(tree);
  await openPeel(masters).files.open();
  writeFileSync(pathOf(manifest), "junk");
  expect(await readAll(await openPeel(masters).files.open())).toEqual(tree);
  writeFileSync(join(dir, "current"), "junk");
  const { files, log } = openPeel(masters);
  expect(await readAll(await files.open())).toEqual(tree);
  expect(log.records.some(({ level }) => level === "warn")).toBe(true);
});

test("killed halfway: the old snapshot stays, and the next start fetches only missing files", async () => {
  const masters = mastersOf(command);
  await masters.publish(tree);
  await openPeel(masters).files.open();
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}`, `file ${i}`]));
  await masters.publish(many);
  // The connection ends after a few answers, and whatever comes later never gets there.
  let answers = 0;
  masters.before = async () => {
    if (++answers > 5) throw new Error("killed");
  };
  const dying = openPeel(masters);
  dying.files.reported(masters.statement);
  await dying.log.logged("state files not fetched; the previous version stays in force");
  mkdirSync(join(dir, "blobs", "aa"), { recursive: true });
  writeFileSync(join(dir, "blobs", "aa", ".half-written"), "x");

  masters.before = async () => {};
  masters.connected = false;
  expect(await readAll(await openPeel(masters).files.open())).toEqual(tree);
  masters.connected = true;
  const before = stored();
  masters.requested.length = 0;
  const { files, log } = openPeel(masters);
  files.reported(masters.statement);
  await log.logged("state files fetched");
  expect(masters.requested.length).toBeLessThan(40);
  expect(masters.requested.length).toBeGreaterThan(0);
  expect(before).toBeGreaterThan(3);
  expect(await readAll(await files.open())).toEqual(many);
  expect(existsSync(join(dir, "blobs", "aa", ".half-written"))).toBe(false);
});

test("a disk that takes nothing leaves the old snapshot in force, and it is tried again", async () => {
  const masters = mastersOf(command);
  const { files, log, clock } = openPeel(masters);
  await masters.publish(tree);
  await files.open();
  const next = await masters.publish({ ...tree, another: "file" });
  // A file where the directory of each new blob would be: no write gets through.
  const shelves = [...masters.blobs.keys()].map((digest) => join(dir, "blobs", digest.slice(0, 2)));
  const blocked = shelves.filter((shelf) => !existsSync(shelf));
  for (const shelf of new Set(blocked)) writeFileSync(shelf, "");
  files.reported(masters.statement);
  await log.logged("state files not fetched; the previous version stays in force");
  expect(await readAll(await files.open())).toEqual(tree);
  for (const shelf of new Set(blocked)) rmSync(shelf);
  clock.advance(10 * 60_000);
  await log.logged("state files fetched", ({ manifest }) => manifest === next);
  expect(await readAll(await files.open())).toEqual({ ...tree, another: "file" });
});

describe("a master that lies", () => {
  test("about bytes is not believed", async () => {
    const masters = mastersOf(command);
    const { files, log } = openPeel(masters);
    masters.spoil = (data) => Buffer.concat([data, Buffer.from("!")]);
    await masters.publish(tree);
    files.reported(masters.statement);
    const { fields } = await log.logged("state files not fetched; the previous version stays in force");
    expect(fields.reason).toContain("do not match the digest");
    expect(stored()).toBe(0);
    await expect(files.open()).rejects.toThrow("do not match the digest");
  });

  test("about a snapshot: junk, and another environment", async () => {
    const masters = mastersOf(command);
    const { files } = openPeel(masters);
    const dev = await masters.publish(tree, "dev");
    const junk = Buffer.from("junk");
    masters.blobs.set(sha256Hex(junk), junk);
    for (const manifest of [sha256Hex(junk), dev]) {
      const peel = openPeel(masters);
      peel.files.reported(masters.sign(manifest));
      await peel.log.logged("state files not fetched; the previous version stays in force");
    }
    files.reported(Buffer.from("../../etc/passwd"));
    await expect(files.open()).rejects.toHaveProperty("kind", "not_found");
  });

  test("about the form of an answer", async () => {
    for (const answer of [
      encode(7),
      encode({}),
      encode({ blobs: [] }),
      encode({ blobs: ["x"] }),
      Buffer.of(0xc1),
    ]) {
      const { files } = openPeel();
      files.attach({ connected: true, request: async () => answer });
      await expect(files.open()).rejects.toThrow();
    }
  });
});

test("environments and commits: fetched when they are asked for, kept for when the bus is away", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  const [one, two] = ["1", "2"].map((digit) => digit.repeat(40));
  await masters.publish({ a: "dev" }, "dev");
  await masters.publish({ a: "one" }, "base", one);
  await files.open();
  await masters.publish({ a: "two" }, "base", two);
  expect(await readAll(await files.open("dev"))).toEqual({ a: "dev" });
  expect(await readAll(await files.open())).toEqual({ a: "two" });
  const pinned = await files.open("base", { commit: "1111111" });
  expect(await readAll(pinned)).toEqual({ a: "one" });
  expect(pinned.origin.commits).toMatchObject([{ commit: one }]);
  // A pinned run changes nothing about what is in force.
  masters.connected = false;
  expect(await readAll(await files.open())).toEqual({ a: "two" });
  expect(await readAll(await files.open("base", { commit: one }))).toEqual({ a: "one" });
  expect(await readAll(await files.open("dev"))).toEqual({ a: "dev" });
  await expect(files.open("test")).rejects.toHaveProperty("kind", "unavailable");
  masters.connected = true;
  await expect(files.open("test")).rejects.toHaveProperty("kind", "not_found");
  await expect(files.open("base", { commit: "3333333" })).rejects.toHaveProperty("kind", "not_found");
  await expect(files.open("../x")).rejects.toThrow("environment");
  await expect(files.open("base", { commit: "HEAD" })).rejects.toThrow("commit");
});

test("a job for the files in force makes them those to use without a bus; one for others does not", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  await masters.publish({ a: "one" });
  const one = await files.open();
  await masters.publish({ a: "two" });
  const two = snapshotOf(contentsOf({ a: "two" }));
  expect(await readAll(await files.open("base", { snapshot: two }))).toEqual({ a: "two" });
  masters.connected = false;
  expect(await readAll(await files.open())).toEqual({ a: "two" });
  masters.connected = true;
  expect(await readAll(await files.open("base", { snapshot: one.snapshot }))).toEqual({ a: "one" });
  masters.connected = false;
  expect(await readAll(await files.open())).toEqual({ a: "two" });
});

test("a snapshot that nobody publishes any more is refused after a few questions", async () => {
  const masters = mastersOf(command);
  const { files, clock } = openPeel(masters);
  await masters.publish({ a: "one" });
  const opening = files.open("base", { snapshot: "ab".repeat(32) });
  await expect(clock.until(opening, 10_000)).rejects.toThrow(
    "the state files abababababab are no longer published",
  );
});

test("files that masters name by the digest of others are refused, also when this host has them", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  const [good, malicious] = ["good", "malicious"].map((a) => snapshotOf(contentsOf({ a })));
  masters.claim = good;
  await masters.publish({ a: "malicious" });
  for (let at = 0; at < 2; at++) {
    await expect(files.open("base", { snapshot: good })).rejects.toThrow(
      "the masters have other state files",
    );
  }
  expect((await files.open()).snapshot).toBe(malicious ?? "");
  // The control: these are the files that were asked for.
  masters.claim = undefined;
  await masters.publish({ a: "good" });
  expect(await readAll(await files.open("base", { snapshot: good }))).toEqual({ a: "good" });
});

test("files with the right digest and the parts of others are refused, and do not stay", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  const large = "g".repeat(maxBlobBytes + 1);
  for (const [good, malicious] of [
    ["good", "malicious"],
    [large, large.replaceAll("g", "m")],
  ] as const) {
    const snapshot = snapshotOf(contentsOf({ a: good }));
    masters.disguise = { a: good };
    await masters.publish({ a: malicious });
    await expect(files.open("base", { snapshot })).rejects.toThrow("do not match its digest");
    // The control: a master with the true parts.
    masters.disguise = {};
    await masters.publish({ a: good });
    expect(await readAll(await files.open("base", { snapshot }))).toEqual({ a: good });
  }
});

test("the digest of files is the same when they are opened again, also after a restart", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  await masters.publish(tree);
  const first = await files.open();
  expect(first.snapshot).toBe(snapshotOf(contentsOf(tree)));
  expect((await files.open()).snapshot).toBe(first.snapshot);
  expect((await openPeel(masters).files.open()).snapshot).toBe(first.snapshot);
});

test("old snapshots are removed, with their unshared files", async () => {
  const masters = mastersOf(command);
  const { files } = openPeel(masters);
  for (let i = 0; i < 12; i++) {
    await masters.publish({ a: `version ${i}`, same: "same" });
    await files.open();
  }
  // Per snapshot a file, a page and a root; and the file that never changed.
  expect(stored()).toBe(5 * 3 + 1);
  expect(await readAll(await files.open())).toEqual({ a: "version 11", same: "same" });
});

test("the first sync is waited for, for a minute at most, however many wait one after the other", async () => {
  const masters = mastersOf(command);
  const { files, clock } = openPeel(masters);
  const { signal } = new AbortController();
  const late = files.waitForFirstSync(signal);
  clock.advance(60_000);
  expect(await late).toBe(false);
  const again = files.waitForFirstSync(signal);
  clock.advance(0);
  expect(await again).toBe(false);
  // A host that waited for the bus has its minute after that.
  files.attach(masters);
  const waiting = files.waitForFirstSync(signal);
  await masters.publish(tree);
  files.reported(masters.statement);
  expect(await waiting).toBe(true);
  expect(await openPeel().files.waitForFirstSync(AbortSignal.abort())).toBe(true);
});

describe("an attacker with access to the bus cannot choose the files in force", () => {
  /** A peel that has the tree of the masters. */
  async function settled() {
    const masters = mastersOf(command);
    await masters.publish(tree);
    const peel = openPeel(masters);
    await peel.files.open();
    return { masters, ...peel };
  }
  const evil = { "top.sls": "base: {evil: true}\n" };
  const refusal = (log: ReturnType<typeof observedLog>) =>
    log.records.filter(({ event }) => event === "state files refused").map(({ fields }) => fields.reason);

  /** Whatever is sent and answered, the peel keeps what a master signed, and says why. */
  async function retains(peel: Awaited<ReturnType<typeof settled>>, reason: string) {
    const { masters, files, log } = peel;
    files.reported(masters.statement);
    expect(await readAll(await files.open())).toEqual(tree);
    const again = openPeel(masters, [...peel.commandKeys.current]);
    expect(await readAll(await again.files.open())).toEqual(tree);
    const reasons = [...refusal(log), ...refusal(again.log)];
    expect(reasons).toHaveLength(3);
    for (const said of reasons) expect(said).toContain(reason);
    if (reason === "older") return;
    using fresh = temporaryDirectory("fresh");
    dir = join(fresh.path, "states-cache");
    await expect(openPeel(masters).files.open()).rejects.toThrow(reason);
  }

  test("by saying nothing that is signed", async () => {
    const peel = await settled();
    await peel.masters.publish(evil);
    peel.masters.statement = undefined;
    await retains(peel, "not signed");
  });

  test("by a key of its own, or another fleet's", async () => {
    const peel = await settled();
    peel.masters.key = thief;
    await peel.masters.publish(evil);
    await retains(peel, "unknown command key");
  });

  test("by modifying a signed statement", async () => {
    const peel = await settled();
    const { masters } = peel;
    const base = await masters.publish(evil);
    const genuine = decode(masters.sign(sha256Hex(Buffer.from("genuine")))) as Record<string, unknown>;
    const { signature: _, ...said } = genuine;
    for (const change of [{ base }, { catalog: base }, { version: 2 ** 40 }, { token: 7 }]) {
      masters.statement = encode({ ...genuine, ...change });
      const probe = openPeel(masters);
      probe.files.reported(masters.statement);
      expect(refusal(probe.log)).toEqual(["state files refused: the signature is wrong"]);
    }
    masters.statement = encode({ ...said, signature: Buffer.of() });
    await retains(peel, "signature is wrong");
  });

  test("by replaying an older statement, also after a restart", async () => {
    const masters = mastersOf(command);
    await masters.publish(evil);
    const old = masters.statement;
    await masters.publish(tree);
    const peel = openPeel(masters);
    await peel.files.open();
    masters.statement = old;
    await retains({ masters, ...peel }, "older");
    expect(statSync(join(temporary.path, "states-cache", "current")).mode & 0o777).toBe(0o600);
  });

  test("by replaying an older statement after a change of another environment", async () => {
    const { masters, files } = await settled();
    await masters.publish(evil, "dev");
    const old = masters.statement;
    await files.open();
    await masters.publish(tree, "dev");
    await files.open();
    masters.statement = old;
    const { files: restarted, log } = openPeel(masters);
    await expect(restarted.open("dev")).rejects.toThrow("older");
    expect(refusal(log)).toHaveLength(1);
  });

  test("by answering with another environment or commit", async () => {
    const { masters, files } = await settled();
    const genuine = masters.statement;
    await masters.publish(evil, "dev", "1".repeat(40));
    masters.statement = genuine;
    await expect(files.open("dev")).rejects.toHaveProperty("kind", "not_found");
    await expect(files.open("dev", { commit: "1111111" })).rejects.toHaveProperty("kind", "not_found");
  });
});

test("a new command key begins its own versions, and nothing of the old one counts then", async () => {
  const masters = mastersOf(command);
  const { files, log, commandKeys } = openPeel(masters);
  masters.version = 2 ** 50;
  await masters.publish({ a: "old key" });
  const old = masters.statement;
  await files.open();
  commandKeys.current = [thief.publicKey];
  masters.key = thief;
  masters.version = 5;
  await masters.publish({ a: "new key" });
  expect(await readAll(await files.open())).toEqual({ a: "new key" });
  masters.statement = old;
  expect(await readAll(await files.open())).toEqual({ a: "new key" });
  expect(log.records.filter(({ event }) => event === "state files refused")).toHaveLength(1);
});
