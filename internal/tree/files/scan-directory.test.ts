import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { createDirectorySource } from "./directory-source.ts";
import { maxBlobBytes, maxFileBytes } from "./manifest.ts";
import { createDirectoryScan } from "./scan-directory.ts";

let temporary = temporaryDirectory("scan");
let root = "";
beforeEach(() => {
  temporary = temporaryDirectory("scan");
  root = join(temporary.path, "states");
  mkdirSync(join(root, "web"), { recursive: true });
  writeFileSync(join(root, "top.sls"), "base: {}\n");
  writeFileSync(join(root, "web/init.sls"), "a: {}\n");
});
afterEach(() => temporary[Symbol.dispose]());

const digest = (text: string) => sha256Hex(Buffer.from(text));
/** A clock for which the files of this test are old enough for their times to be believed. */
const later = { ...systemClock, now: () => systemClock.now() + 60_000 };

test("finds files with their digests, and executables", async () => {
  writeFileSync(join(root, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(root, "run.sh"), 0o755);
  writeFileSync(join(root, "empty"), "");
  const large = Buffer.alloc(maxBlobBytes + 1, "x");
  writeFileSync(join(root, "large"), large);
  const { files, warnings } = await createDirectoryScan(root, later).scan();
  expect(warnings).toEqual([]);
  expect([...files.keys()].sort()).toEqual(["empty", "large", "run.sh", "top.sls", "web/init.sls"]);
  expect(files.get("top.sls")).toMatchObject({ digest: digest("base: {}\n"), size: 9, executable: false });
  expect(files.get("run.sh")?.executable).toBe(true);
  expect(files.get("empty")).toMatchObject({ digest: digest(""), size: 0 });
  expect(files.get("large")).toMatchObject({
    digest: sha256Hex(large),
    blobs: [sha256Hex(large.subarray(0, maxBlobBytes)), digest("x")],
  });
});

test("returns the same map without changes; only changed files are new objects", async () => {
  const scan = createDirectoryScan(root, later);
  const { files } = await scan.scan();
  expect((await scan.scan()).files).toBe(files);
  utimesSync(join(root, "top.sls"), 1, 1);
  expect((await scan.scan()).files).toBe(files);
  writeFileSync(join(root, "top.sls"), "base: []\n");
  const next = (await scan.scan()).files;
  expect(next.get("top.sls")?.digest).toBe(digest("base: []\n"));
  expect(next.get("web/init.sls")).toBe(files.get("web/init.sls"));
  rmSync(join(root, "web"), { recursive: true });
  expect([...(await scan.scan()).files.keys()]).toEqual(["top.sls"]);
  rmSync(root, { recursive: true });
  expect((await scan.scan()).files.size).toBe(0);
});

test("a file written just now is read again, as it may change within one timestamp tick", async () => {
  const early = { ...systemClock, now: () => 0 };
  const scan = createDirectoryScan(root, early);
  const { files } = await scan.scan();
  // Inode, size and timestamps cannot be forged here, but reading the content again can be observed.
  const before = files.get("top.sls");
  expect((await scan.scan()).files.get("top.sls")).toBe(before);
  writeFileSync(join(root, "top.sls"), "base: 11\n");
  expect((await scan.scan()).files.get("top.sls")?.digest).toBe(digest("base: 11\n"));
});

test("links are left out with a warning, wherever they lead", async () => {
  writeFileSync(join(temporary.path, "secret"), "outside");
  mkdirSync(join(temporary.path, "states-other"));
  symlinkSync("web/init.sls", join(root, "inside"));
  symlinkSync("web", join(root, "alias"));
  symlinkSync("../secret", join(root, "out"));
  symlinkSync("/etc", join(root, "etc"));
  symlinkSync("../states-other", join(root, "sibling"));
  symlinkSync("nowhere", join(root, "dangling"));
  symlinkSync("..", join(root, "web/up"));
  symlinkSync("loop", join(root, "loop"));
  const { files, warnings } = await createDirectoryScan(root, later).scan();
  expect([...files.keys()].sort()).toEqual(["top.sls", "web/init.sls"]);
  const names = ["alias", "dangling", "etc", "inside", "loop", "out", "sibling", "web/up"];
  expect(warnings.toSorted()).toEqual(
    names.map((name) => `${name}: a symbolic link: put the file itself there; not published`),
  );
});

test("only the bit of the owner makes a file executable, and files over 64 MiB are left out by name", async () => {
  for (const [name, mode] of [
    ["owner", 0o744],
    ["others", 0o655],
  ] as const) {
    writeFileSync(join(root, name), "");
    chmodSync(join(root, name), mode);
  }
  writeFileSync(join(root, "large"), "");
  truncateSync(join(root, "large"), maxFileBytes + 1);
  const { files, warnings } = await createDirectoryScan(root, later).scan();
  expect([files.get("owner")?.executable, files.get("others")?.executable]).toEqual([true, false]);
  expect(warnings).toEqual(["large: larger than 64 MiB; not published"]);
  const source = createDirectorySource(root);
  expect([source.stat("owner")?.executable, source.stat("others")?.executable]).toEqual([true, false]);
  expect(source.list("")).toEqual([...files.keys()].sort());
});

test("special files, invalid names and version control directories are left out", async () => {
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, ".git/config"), "token");
  writeFileSync(join(root, "line\nend"), "x");
  Bun.spawnSync(["mkfifo", join(root, "pipe")]);
  const { files, warnings } = await createDirectoryScan(root, later).scan();
  expect([...files.keys()].sort()).toEqual(["top.sls", "web/init.sls"]);
  expect(warnings).toHaveLength(2);
});

test("the directory itself may be a link, and may be replaced by another", async () => {
  const link = join(temporary.path, "current");
  symlinkSync("states", link);
  const scan = createDirectoryScan(link, later);
  expect((await scan.scan()).files.size).toBe(2);
  mkdirSync(join(temporary.path, "next"));
  writeFileSync(join(temporary.path, "next/top.sls"), "next\n");
  symlinkSync("next", `${link}.new`);
  renameSync(`${link}.new`, link);
  const { files } = await scan.scan();
  expect([...files.keys()]).toEqual(["top.sls"]);
  const pieces: Uint8Array[] = [];
  for await (const piece of files.get("top.sls")?.pieces() ?? []) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe("next\n");
});

test("a directory source reads files when they are requested", async () => {
  symlinkSync("/etc/hostname", join(root, "out"));
  symlinkSync("web", join(root, "alias"));
  symlinkSync("top.sls", join(root, "inside"));
  const source = createDirectorySource(root);
  expect(source.list("")).toEqual(["top.sls", "web/init.sls"]);
  expect(source.list("web")).toEqual(["web/init.sls"]);
  expect(source.list("we")).toEqual([]);
  expect(source.stat("top.sls")).toMatchObject({ size: 9, executable: false, digest: digest("base: {}\n") });
  for (const path of [
    "out",
    "inside",
    "alias/init.sls",
    "web",
    "nothing",
    "../secret",
    "/etc/hostname",
    "",
    "top.sls/x",
    "a\0b",
  ]) {
    expect(source.stat(path)).toBeUndefined();
    await expect(source.read(path)).rejects.toHaveProperty("kind", "not_found");
  }
  writeFileSync(join(root, "top.sls"), "changed");
  expect(Buffer.from(await source.read("top.sls")).toString()).toBe("changed");
  expect(() => createDirectorySource(join(root, "top.sls"))).toThrow("is not a directory");
  expect(() => createDirectorySource(join(root, "no"))).toThrow("no such file");
});
