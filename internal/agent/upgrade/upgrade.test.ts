import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { SvcError } from "../../base/errors.ts";
import { version as ownVersion } from "../../base/version.ts";
import type { BinaryManifest } from "../../host/binary/manifest.ts";
import type { Platform } from "../../host/binary/platform.ts";
import type { UpgradeRequest } from "../../host/modules/upgrade-service.ts";
import { type UpgradeFiles, upgradeFiles } from "./files.ts";
import { createUpgrades, type UpgradeOptions } from "./upgrade.ts";

/** Bytes that begin like an executable of this platform, and say nothing else but the text. */
function executable(text: string, machine = 62): Buffer {
  const bytes = Buffer.alloc(400);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(3, 64);
  bytes.writeBigUInt64LE(200n, 72);
  bytes.writeBigUInt64LE(20n, 96);
  bytes.write("/lib64/ld-linux.so.2", 200);
  bytes.write(text, 300);
  return bytes;
}
const digestOf = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");

const next = executable("next");
const own = executable("own");
const job = { jid: "job-1", deadline: Date.UTC(2026, 0, 2) };
const request: UpgradeRequest = {
  manifest: "f".repeat(64),
  sha256: digestOf(next),
  size: next.length,
  version: "2.0.0",
  readyWithinMs: 60_000,
};

let temporary: ReturnType<typeof temporaryDirectory>;
let files: UpgradeFiles;
let clock: ReturnType<typeof manualClock>;
let stopping: AbortController;
beforeEach(() => {
  temporary = temporaryDirectory("upgrade");
  files = upgradeFiles(temporary.path);
  clock = manualClock();
  stopping = new AbortController();
  writeFileSync(join(temporary.path, "own"), own);
});
afterEach(() => temporary[Symbol.dispose]());

/** Upgrades whose masters have these bytes. */
function upgrades(
  more: Partial<UpgradeOptions> = {},
  data: Uint8Array = next,
  platform: Platform = "linux-x64",
) {
  return createUpgrades({
    files,
    isWatched: () => true,
    executable: join(temporary.path, "own"),
    async fetch(_, path): Promise<BinaryManifest> {
      writeFileSync(path, data);
      return { sha256: digestOf(data), size: data.length, platform, version: "", chunks: [] };
    },
    request: async () => "2.0.0",
    freeBytes: async () => 1e12,
    clock,
    log: recordingLog(),
    ...more,
  })(job);
}
const apply = (service = upgrades(), more: Partial<UpgradeRequest> = {}) =>
  service.apply({ ...request, ...more }, stopping.signal);

/** Starts an upgrade; resolves when it waits for the watchdog. */
async function staged(more: Partial<UpgradeOptions> = {}): Promise<{ outcome: Promise<unknown> }> {
  const waiting = Promise.withResolvers<void>();
  const after: typeof clock.after = (ms, run) => {
    waiting.resolve();
    return clock.after(ms, run);
  };
  const outcome = apply(upgrades({ ...more, clock: { ...clock, after } })).catch((thrown) => thrown);
  await Promise.race([waiting.promise, outcome]);
  return { outcome };
}

test("a binary is staged whole, for the owner alone, and the watchdog is asked", async () => {
  await staged();
  const path = files.binary(request.sha256);
  expect(digestOf(readFileSync(path))).toBe(request.sha256);
  expect(statSync(path).mode & 0o777).toBe(0o755);
  for (const directory of [files.dir, dirname(path)]) expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(files.request()).toEqual({
    jid: "job-1",
    sha256: request.sha256,
    version: "2.0.0",
    from: ownVersion,
    readyWithinMs: 60_000,
    deadline: job.deadline,
  });
});

test("it waits until it ends with the peel", async () => {
  const { outcome } = await staged();
  stopping.abort(new Error("the peel stops"));
  expect(await outcome).toHaveProperty("message", "the peel stops");
  expect(files.request()?.jid).toBe("job-1");
});

test("it fails with the reason of the watchdog when the watchdog refuses it", async () => {
  const { outcome } = await staged();
  files.writeState({
    outcome: {
      jid: "job-1",
      success: false,
      version: "2",
      from: "1",
      rolledBack: false,
      reason: "no",
      at: 1,
    },
  });
  files.removeRequest();
  clock.advance(1_000);
  expect(await outcome).toMatchObject({
    message: "no",
    value: { version: "2", previous: "1", changed: false, rolled_back: false, reason: "no" },
  });
});

test("it fails when the request is removed without a reason", async () => {
  const { outcome } = await staged();
  files.removeRequest();
  clock.advance(1_000);
  expect(await outcome).toHaveProperty("message", expect.stringContaining("see its log"));
});

test("upgrading to the running version does nothing", async () => {
  const result = await apply(upgrades(), { sha256: digestOf(own) });
  expect(result).toEqual({ version: ownVersion, previous: ownVersion, changed: false, rolled_back: false });
  expect(existsSync(files.dir)).toBe(false);
});

test("without a watchdog it is refused, with the next step", async () => {
  await expect(apply(upgrades({ isWatched: () => false }))).rejects.toThrow(
    "start it with svc-peel watchdog",
  );
});

test("a second upgrade is refused while one waits, and while one is tried out", async () => {
  await staged();
  await expect(apply()).rejects.toThrow("the upgrade of job job-1 is still in progress");
  const other = files.request();
  files.removeRequest();
  if (other !== undefined) files.writeState({ trial: { ...other, jid: "job-0" } });
  await expect(apply()).rejects.toThrow("the upgrade of job job-0 is still in progress");
});

test.each<[string, () => ReturnType<typeof upgrades>, string]>([
  ["other bytes", () => upgrades({}, executable("other")), "does not match its manifest"],
  [
    "another platform",
    () => upgrades({}, next, "linux-arm64"),
    "is for linux-arm64, but this peel runs on linux-x64",
  ],
  ["another version", () => upgrades({ request: async () => "3.0.0" }), "reports version 3.0.0, not 2.0.0"],
  [
    "a program that does not answer",
    () => upgrades({ request: () => Promise.reject(new SvcError("bad_request", "no svc-peel")) }),
    "no svc-peel",
  ],
])("a binary with %s is refused, and leaves nothing", async (_, service, message) => {
  expect(await apply(service()).catch((thrown) => thrown.message)).toContain(message);
  expect(readdirSync(files.dir).filter((name) => name.endsWith(".part"))).toEqual([]);
  expect(existsSync(files.binary(request.sha256))).toBe(false);
  expect(files.request()).toBeUndefined();
});

test("a binary whose manifest lies about its platform is refused", async () => {
  const arm = executable("arm", 183);
  const lying = apply(upgrades({}, arm), { sha256: digestOf(arm), size: arm.length });
  await expect(lying).rejects.toThrow("not an executable for this host");
});

test("a full disk is reported before the fetch", async () => {
  let fetched = 0;
  const full = upgrades({
    freeBytes: async () => next.length,
    async fetch() {
      fetched++;
      throw new SvcError("unavailable", "away");
    },
  });
  expect(await apply(full).catch((thrown) => thrown)).toMatchObject({
    kind: "storage",
    message: expect.stringContaining("MiB of free space"),
  });
  expect(fetched).toBe(0);
});

test("an interrupted fetch is resumed by the next attempt", async () => {
  const part = join(files.dir, `${request.sha256}.part`);
  const away = upgrades({
    async fetch(_, path) {
      writeFileSync(path, "half");
      throw new SvcError("unavailable", "the bus is away");
    },
  });
  expect(await apply(away).catch((thrown) => thrown.message)).toBe("the bus is away");
  expect(readFileSync(part, "utf8")).toBe("half");
});

test("a binary that is here already is not fetched again", async () => {
  await staged();
  files.removeRequest();
  stopping = new AbortController();
  clock = manualClock();
  await staged({ fetch: () => Promise.reject(new SvcError("unavailable", "nobody is asked")) });
  expect(files.request()?.sha256).toBe(request.sha256);
});

test("old binaries are removed, except the current and the previous one", async () => {
  const name = (seed: string) => seed.repeat(64);
  for (const entry of ["1", "2", "3"]) {
    mkdirSync(join(files.dir, name(entry)), { recursive: true });
    writeFileSync(join(files.dir, name(entry), "svc-peel"), "");
  }
  writeFileSync(join(files.dir, `${name("4")}.part`), "");
  writeFileSync(join(files.dir, "notes.txt"), "");
  files.writeState({
    current: { sha256: name("1"), version: "1", packaged: name("0") },
    previous: name("2"),
  });
  await staged();
  expect(readdirSync(files.dir).sort()).toEqual(
    [name("1"), name("2"), request.sha256, "notes.txt", "request.json", "state.json"].sort(),
  );
});
