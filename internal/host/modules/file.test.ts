import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { callFunction as call } from "../../../test/harness/call.ts";
import { runProgram } from "../../../test/harness/process.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { isRootDirectory } from "./file-write.ts";
import { checkCall } from "./registry.ts";

const isRoot = process.getuid?.() === 0;
const modeOf = (path: string) => (lstatSync(path).mode & 0o7777).toString(8);

function scratch(): Disposable & { path: string; at: (name: string) => string } {
  const directory = temporaryDirectory("file");
  return {
    path: directory.path,
    at: (name) => join(directory.path, name),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

describe("file.write", () => {
  test("creates a file and its directories, and keeps its mode when replacing it", async () => {
    using dir = scratch();
    const path = dir.at("a/b/file");
    await expect(call("file.write", { path, content: "x" })).rejects.toThrow(
      `cannot write ${path}: no such file`,
    );
    expect(await call("file.write", { path, content: "één", makedirs: true })).toEqual({
      created: true,
      bytes: 5,
    });
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["één", "644"]);
    chmodSync(path, 0o4750);
    expect(await call("file.write", { path, content: "two" })).toEqual({ created: false, bytes: 3 });
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["two", "4750"]);
    await call("file.write", { path, content: "three", mode: "0600" });
    expect(modeOf(path)).toBe("600");
    expect(readdirSync(dir.at("a/b"))).toEqual(["file"]);
  });

  test("replaces a symbolic link and does not change its target", async () => {
    using dir = scratch();
    writeFileSync(dir.at("victim"), "untouched");
    symlinkSync(dir.at("victim"), dir.at("link"));
    expect(await call("file.write", { path: dir.at("link"), content: "new" })).toMatchObject({
      created: true,
    });
    expect(readFileSync(dir.at("victim"), "utf8")).toBe("untouched");
    expect(lstatSync(dir.at("link")).isFile()).toBe(true);
  });

  test("accepts base64, and rejects invalid base64 before writing", async () => {
    using dir = scratch();
    const path = dir.at("file");
    await call("file.write", { path, content: "/wD+", base64: true });
    expect([...readFileSync(path)]).toEqual([255, 0, 254]);
    await expect(call("file.write", { path, content: "?", base64: true })).rejects.toThrow("expected base64");
  });

  test("sets the owner, and keeps it when the file is replaced", async () => {
    using dir = scratch();
    const path = dir.at("file");
    const written = call("file.write", {
      path,
      content: "x",
      user: "nobody",
      group: "nogroup",
      mode: "4755",
    });
    if (!isRoot) return expect(written).rejects.toThrow("operation not permitted");
    await written;
    expect(statSync(path)).toMatchObject({ uid: 65534, gid: 65534 });
    expect(modeOf(path)).toBe("4755");
    await call("file.write", { path, content: "y" });
    expect(statSync(path)).toMatchObject({ uid: 65534, gid: 65534 });
    await expect(call("file.write", { path, content: "z", user: "no-such-user" })).rejects.toThrow("no user");
    expect(readFileSync(path, "utf8")).toBe("y");
  });

  test("refuses to replace a directory or a pipe", async () => {
    using dir = scratch();
    await expect(call("file.write", { path: dir.path, content: "x" })).rejects.toThrow("not a regular file");
    await runProgram(["mkfifo", dir.at("pipe")]);
    await expect(call("file.write", { path: dir.at("pipe"), content: "x" })).rejects.toThrow(
      "not a regular file",
    );
  });
});

describe("file.read", () => {
  test("reads consecutive parts without splitting a character", async () => {
    using dir = scratch();
    const path = dir.at("file");
    const content = "aé€😀".repeat(20);
    writeFileSync(path, content);
    const size = Buffer.byteLength(content);
    expect(await call("file.read", { path })).toEqual({ content, size });
    let joined = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part = (await call("file.read", { path, offset, limit: 7 })) as {
        content: string;
        next_offset?: number;
      };
      joined += part.content;
      offset = part.next_offset;
    }
    expect(joined).toBe(content);
    expect(await call("file.read", { path, offset: size + 5 })).toMatchObject({ content: "" });
  });

  test("returns binary content only as base64", async () => {
    using dir = scratch();
    const path = dir.at("file");
    writeFileSync(path, Uint8Array.of(255, 0, 254));
    await expect(call("file.read", { path })).rejects.toThrow("read it with base64=true");
    expect(await call("file.read", { path, base64: true })).toEqual({ content: "/wD+", size: 3 });
  });

  test("reads files generated by the kernel, and rejects pipes", async () => {
    using dir = scratch();
    expect(await call("file.read", { path: "/proc/self/comm" })).toMatchObject({ size: expect.any(Number) });
    await runProgram(["mkfifo", dir.at("pipe")]);
    await expect(call("file.read", { path: dir.at("pipe") })).rejects.toThrow("not a regular file");
    await expect(call("file.get_hash", { path: dir.at("pipe") })).rejects.toThrow("not a regular file");
    await expect(call("file.read", { path: dir.path })).rejects.toThrow("not a regular file");
    await expect(call("file.read", { path: dir.at("none") })).rejects.toThrow("no such file");
    await expect(call("file.read", { path: "relative" })).rejects.toThrow("expected an absolute path");
  });
});

test("file.append adds lines, with or without a final line break in the file", async () => {
  using dir = scratch();
  const path = dir.at("deep/file");
  expect(await call("file.append", { path, text: "one", makedirs: true })).toEqual({ bytes: 4 });
  await call("file.append", { path, text: "two\nthree\n" });
  writeFileSync(path, "four", { flag: "a" });
  expect(await call("file.append", { path, text: "five" })).toEqual({ bytes: 6 });
  expect(readFileSync(path, "utf8")).toBe("one\ntwo\nthree\nfour\nfive\n");
  symlinkSync(path, dir.at("link"));
  await expect(call("file.append", { path: dir.at("link"), text: "x" })).rejects.toThrow("symbolic link");
  await runProgram(["mkfifo", dir.at("pipe")]);
  await expect(call("file.append", { path: dir.at("pipe"), text: "x" })).rejects.toThrow(
    "not a regular file",
  );
});

test("file.stats describes a file, and a link only on request", async () => {
  using dir = scratch();
  const path = dir.at("file");
  writeFileSync(path, "12345", { mode: 0o640 });
  symlinkSync("file", dir.at("link"));
  const seen = { type: "file", size: 5, mode: "0640", uid: process.getuid?.(), links: 1 };
  expect(await call("file.stats", { path })).toMatchObject(seen);
  expect(await call("file.stats", { path: dir.at("link") })).toMatchObject(seen);
  expect(await call("file.stats", { path: dir.at("link"), follow: false })).toMatchObject({
    type: "link",
    target: "file",
  });
  expect(await call("file.stats", { path: "/dev/null" })).toMatchObject({ type: "char", user: "root" });
});

test("file.readdir lists by name, and reports the number of omitted entries", async () => {
  using dir = scratch();
  for (const name of ["b", "a", "c"]) writeFileSync(dir.at(name), "");
  mkdirSync(dir.at("d"));
  symlinkSync("nowhere", dir.at("e"));
  expect(await call("file.readdir", { path: `${dir.path}/` })).toEqual({
    entries: [
      { name: "a", type: "file" },
      { name: "b", type: "file" },
      { name: "c", type: "file" },
      { name: "d", type: "dir" },
      { name: "e", type: "link" },
    ],
  });
  expect(await call("file.readdir", { path: dir.path, limit: 1 })).toEqual({
    entries: [{ name: "a", type: "file" }],
    omitted: 4,
  });
  await expect(call("file.readdir", { path: dir.at("a") })).rejects.toThrow("not a directory");
});

test("file.readdir shows names that are not UTF-8 with their bytes, and their types", async () => {
  using dir = scratch();
  mkdirSync(Buffer.concat([Buffer.from(dir.at("sub")), Buffer.of(0xe9)]));
  writeFileSync(Buffer.concat([Buffer.from(dir.at("f")), Buffer.of(0xff)]), "");
  expect(await call("file.readdir", { path: dir.path })).toEqual({
    entries: [
      { name: "f\\xff", type: "file" },
      { name: "sub\\xe9", type: "dir" },
    ],
  });
});

test("file.mkdir creates a directory, and sets the mode of an existing one", async () => {
  using dir = scratch();
  const path = dir.at("x/y");
  await expect(call("file.mkdir", { path })).rejects.toThrow("no such file");
  expect(await call("file.mkdir", { path, makedirs: true })).toEqual({ created: true });
  expect([modeOf(path), modeOf(dir.at("x"))]).toEqual(["755", "755"]);
  expect(await call("file.mkdir", { path: `${path}/`, mode: "0700" })).toEqual({ created: false });
  expect(modeOf(path)).toBe("700");
  await call("file.mkdir", { path });
  expect(modeOf(path)).toBe("700");
  writeFileSync(dir.at("file"), "");
  await expect(call("file.mkdir", { path: dir.at("file") })).rejects.toThrow("not a directory");
  symlinkSync(path, dir.at("link"));
  await expect(call("file.mkdir", { path: dir.at("link"), mode: "0777" })).rejects.toThrow();
  expect(modeOf(path)).toBe("700");
});

describe("file.remove", () => {
  test("removes files and links, and directories only on request", async () => {
    using dir = scratch();
    mkdirSync(dir.at("tree/sub"), { recursive: true });
    writeFileSync(dir.at("tree/sub/file"), "");
    writeFileSync(dir.at("kept"), "kept");
    symlinkSync(dir.path, dir.at("tree/up"));
    await expect(call("file.remove", { path: dir.at("tree") })).rejects.toThrow("recursive=true");
    expect(await call("file.remove", { path: dir.at("tree"), recursive: true })).toBe(true);
    expect(await call("file.remove", { path: dir.at("tree"), recursive: true })).toBe(false);
    expect(readdirSync(dir.path)).toEqual(["kept"]);
    expect(await call("file.remove", { path: dir.at("kept") })).toBe(true);
  });

  test("a trailing slash does not follow a link", async () => {
    using dir = scratch();
    mkdirSync(dir.at("real"));
    writeFileSync(dir.at("real/file"), "");
    symlinkSync("real", dir.at("link"));
    symlinkSync("nowhere", dir.at("dangling"));
    expect(await call("file.remove", { path: `${dir.at("link")}/`, recursive: true })).toBe(true);
    expect(await call("file.remove", { path: dir.at("dangling") })).toBe(true);
    expect(readdirSync(dir.path)).toEqual(["real"]);
    expect(readdirSync(dir.at("real"))).toEqual(["file"]);
  });

  // Only checked, never run: a failing guard must not damage the host.
  test.each(["/", "relative", "/tmp/..", "//", "/tmp/../..", "/./", ""])("refuses %p", (path) => {
    expect(() => checkCall("file.remove", { path, recursive: true })).toThrow("file.remove: path: ");
  });

  test.each(["/", "/tmp/..", "//", "/proc/self/root/."])("recognizes %p as the root directory", (path) => {
    expect(isRootDirectory(path)).toBe(true);
  });

  test("recognizes other directories as not the root", () => {
    using dir = scratch();
    symlinkSync("/", dir.at("link"));
    expect([dir.path, dir.at("link"), "/tmp"].map(isRootDirectory)).toEqual([false, false, false]);
  });
});

test("file.copy copies atomically, with the mode of the source", async () => {
  using dir = scratch();
  const data = Buffer.alloc(3_000_001, "abc");
  writeFileSync(dir.at("src"), data);
  chmodSync(dir.at("src"), 0o4751);
  const args = { src: dir.at("src"), dst: dir.at("sub/dst"), makedirs: true };
  expect(await call("file.copy", args)).toEqual({ bytes: data.length });
  expect(readFileSync(args.dst).equals(data)).toBe(true);
  expect(modeOf(args.dst)).toBe("751");
  const signal = AbortSignal.abort(new Error("cancelled"));
  writeFileSync(args.dst, "before");
  await expect(call("file.copy", args, { signal })).rejects.toThrow("cancelled");
  expect(readFileSync(args.dst, "utf8")).toBe("before");
  expect(readdirSync(dir.at("sub"))).toEqual(["dst"]);
  await expect(call("file.copy", { src: dir.path, dst: dir.at("x") })).rejects.toThrow("not a regular file");
});

test("file.symlink creates a link once, and replaces only on request", async () => {
  using dir = scratch();
  const path = dir.at("link");
  expect(await call("file.symlink", { src: "target", path })).toBe(true);
  expect(await call("file.symlink", { src: "target", path })).toBe(false);
  await expect(call("file.symlink", { src: "other", path })).rejects.toThrow("force=true");
  expect(await call("file.symlink", { src: "other", path, force: true })).toBe(true);
  expect(readlinkSync(path)).toBe("other");
  mkdirSync(dir.at("dir"));
  await expect(call("file.symlink", { src: "x", path: dir.at("dir"), force: true })).rejects.toThrow(
    "directory",
  );
  expect(readdirSync(dir.path).sort()).toEqual(["dir", "link"]);
});

test("file.get_hash matches other tools, and ends with its job", async () => {
  using dir = scratch();
  const path = dir.at("file");
  writeFileSync(path, "x".repeat(3_000_000));
  const { stdout } = await runProgram(["sha256sum", path]);
  expect(await call("file.get_hash", { path })).toBe(stdout.slice(0, 64));
  expect(await call("file.get_hash", { path, form: "md5" })).toHaveLength(32);
  await expect(call("file.get_hash", { path, form: "crc" })).rejects.toThrow("one of sha256, sha512");
  const signal = AbortSignal.abort(new Error("cancelled"));
  await expect(call("file.get_hash", { path }, { signal })).rejects.toThrow("cancelled");
});

test("file.set_mode and file.chown change one file and never the target of a link", async () => {
  using dir = scratch();
  const path = dir.at("file");
  writeFileSync(path, "", { mode: 0o600 });
  symlinkSync("file", dir.at("link"));
  await call("file.set_mode", { path, mode: "0640" });
  expect(modeOf(path)).toBe("640");
  await expect(call("file.set_mode", { path: dir.at("link"), mode: "0777" })).rejects.toThrow(
    "symbolic link",
  );
  await expect(call("file.chown", { path })).rejects.toThrow("give user, group or both");
  const owned = call("file.chown", { path: dir.at("link"), group: "nogroup" });
  if (!isRoot) return expect(owned).rejects.toThrow("operation not permitted");
  await owned;
  expect([lstatSync(dir.at("link")).gid, statSync(path).gid]).toEqual([65534, 0]);
});

test("file.file_exists and file.directory_exists distinguish files and directories", async () => {
  using dir = scratch();
  writeFileSync(dir.at("file"), "");
  const exists = async (path: string) => [
    await call("file.file_exists", { path }),
    await call("file.directory_exists", { path }),
  ];
  expect(await exists(dir.at("file"))).toEqual([true, false]);
  expect(await exists(dir.path)).toEqual([false, true]);
  expect(await exists(dir.at("none"))).toEqual([false, false]);
  expect(await exists(dir.at("file/below"))).toEqual([false, false]);
});
