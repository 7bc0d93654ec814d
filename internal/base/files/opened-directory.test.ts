import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { findForeignDirectory } from "./foreign-directory.ts";
import { openForReading } from "./open-for-reading.ts";
import { openDirectory } from "./opened-directory.ts";
import { createPrivateDirectory } from "./private-directory.ts";
import { replaceEntryNow } from "./replace-entry.ts";

const unchanged = { uid: undefined, gid: undefined, mode: undefined };

/** `root/real/sub` and `alice/sub`, which belongs to another user. */
function makePlaces(): Disposable & { at: (name: string) => string } {
  const directory = temporaryDirectory("opened");
  const at = (name: string) => join(directory.path, name);
  mkdirSync(at("root/real/sub"), { recursive: true });
  mkdirSync(at("alice/sub"), { recursive: true });
  for (const name of ["alice", "alice/sub"]) chownSync(at(name), 1, 1);
  return { at, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test("links that only root can change are followed, as before", () => {
  using places = makePlaces();
  const { at } = places;
  symlinkSync("real", at("root/relative"));
  symlinkSync(at("root/real"), at("root/absolute"));
  symlinkSync("../root/real/./sub", at("root/upwards"));
  for (const name of ["root/relative/sub", "root/absolute/sub", "root/upwards"]) {
    using directory = openDirectory(at(name));
    expect([directory.path, directory.isFixedPath]).toEqual([at("root/real/sub"), true]);
  }
  symlinkSync("loop", at("root/loop"));
  expect(() => openDirectory(at("root/loop"))).toThrow("ELOOP");
  expect(() => openDirectory(at("root/none"))).toThrow("ENOENT");
});

test("links that another user can change are refused at every level", () => {
  using places = makePlaces();
  const { at } = places;
  symlinkSync(at("root/real"), at("alice/link"));
  symlinkSync(at("root/real"), at("alice/sub/link"));
  for (const name of ["alice/link", "alice/link/sub", "alice/sub/link"]) {
    expect(() => openDirectory(at(name))).toThrow("is a symbolic link that another user can change");
  }
  mkdirSync(at("shared"));
  chmodSync(at("shared"), 0o1777);
  symlinkSync(at("root"), at("shared/mine"));
  openDirectory(at("shared/mine"))[Symbol.dispose]();
  chmodSync(at("shared"), 0o777);
  expect(() => openDirectory(at("shared/mine"))).toThrow("another user can change");
});

test("a directory stays the same when its path changes", () => {
  using places = makePlaces();
  const { at } = places;
  using directory = openDirectory(at("alice/sub"));
  expect(directory.isFixedPath).toBe(false);
  renameSync(at("alice/sub"), at("alice/moved"));
  symlinkSync(at("root/real"), at("alice/sub"));
  replaceEntryNow(directory, "file", Buffer.from("x"), { ...unchanged, mode: 0o640 });
  directory.makeDirectory("made", { uid: 1, gid: 1, mode: 0o750 });
  directory.link("link", "nowhere");
  directory.changeOwner("link", 1, 1);
  expect(readdirSync(at("alice/moved")).sort()).toEqual(["file", "link", "made"]);
  expect(readFileSync(directory.forChild("file"), "utf8")).toBe("x");
  const { uid, mode } = statSync(at("alice/moved/made"));
  expect([uid, mode & 0o777, lstatSync(at("alice/moved/link")).uid]).toEqual([1, 0o750, 1]);
  expect(readdirSync(at("root/real"))).toEqual(["sub"]);
  directory.remove("file");
  directory.remove("file");
  directory.removeTree("made");
  expect(readdirSync(at("alice/moved"))).toEqual(["link"]);
});

test("a private directory stays private wherever it is moved, and is emptied", () => {
  using places = makePlaces();
  const { at } = places;
  using parent = openDirectory(at("alice/sub"));
  {
    using own = createPrivateDirectory(parent, "work");
    const { uid, mode } = own.directory.own;
    expect([uid, mode & 0o777]).toEqual([0, 0o700]);
    replaceEntryNow(own.directory, "file", Buffer.from("x"), unchanged);
    renameSync(at(`alice/sub/${own.name}`), at("alice/sub/moved"));
  }
  expect(readdirSync(at("alice/sub"))).toEqual(["moved"]);
  expect(readdirSync(at("alice/sub/moved"))).toEqual([]);
});

test("a file for reading tells whether another user can change it", () => {
  using places = makePlaces();
  const { at } = places;
  for (const name of ["root/file", "alice/file"]) writeFileSync(at(name), name);
  symlinkSync("file", at("root/link"));
  symlinkSync(at("root/file"), at("alice/link"));
  const isFixed = (name: string) => {
    using file = openForReading(at(name));
    return file.isFixed;
  };
  expect(["root/file", "root/link", "alice/file"].map(isFixed)).toEqual([true, true, false]);
  chmodSync(at("root/file"), 0o666);
  expect(isFixed("root/file")).toBe(false);
  expect(() => openForReading(at("alice/link"))).toThrow("another user can change");
  expect(() => openForReading(at("root/real"))).toThrow("is not a regular file");
});

test("the directory in which another user can replace entries is found", () => {
  using places = makePlaces();
  const { at } = places;
  expect(findForeignDirectory(at("root/real/new/below"))).toBeUndefined();
  expect(findForeignDirectory(at("alice/sub/new"))).toEqual({ path: at("alice/sub"), uid: 1 });
  mkdirSync(at("alice/of-root"));
  expect(findForeignDirectory(at("alice/of-root"))).toEqual({ path: at("alice/of-root"), uid: 0 });
});
