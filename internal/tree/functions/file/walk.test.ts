import { expect, test } from "bun:test";
import { chownSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { proveHonest } from "../../../../test/harness/honesty.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { noAttributes, setAttributes } from "./attributes.ts";
import { fileStates } from "./index.ts";
import { readRegular } from "./inspect.ts";
import { walk } from "./walk.ts";

/** A directory `root/sub/file`, and one next to it that must not be entered. */
function makeTrees(at: string): { root: string; outside: string } {
  const [root, outside] = [join(at, "root"), join(at, "outside")];
  mkdirSync(join(root, "sub"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, "sub/file"), "x");
  writeFileSync(join(outside, "secret"), "x");
  return { root, outside };
}

test("a directory that becomes a link during the walk is not followed", () => {
  using directory = temporaryDirectory("walk");
  const { root, outside } = makeTrees(directory.path);
  const seen: string[] = [];
  const walking = () => {
    for (const { relative } of walk(root, undefined)) {
      seen.push(relative);
      if (relative !== "sub") continue;
      renameSync(join(root, "sub"), join(directory.path, "moved"));
      symlinkSync(outside, join(root, "sub"));
    }
  };
  expect(walking).toThrow("cannot open");
  expect(seen).toEqual(["sub"]);
});

test("an opened entry stays the same when its path changes", () => {
  using directory = temporaryDirectory("walk");
  const { root, outside } = makeTrees(directory.path);
  for (const { at, relative } of walk(root, undefined)) {
    if (relative !== "sub/file") continue;
    renameSync(join(root, "sub"), join(directory.path, "moved"));
    symlinkSync(outside, join(root, "sub"));
    setAttributes(at, { ...noAttributes, mode: 0o600 });
  }
  expect(statSync(join(directory.path, "moved/file")).mode & 0o777).toBe(0o600);
});

test("a link is followed neither for reading nor for changes", () => {
  using directory = temporaryDirectory("walk");
  const { root, outside } = makeTrees(directory.path);
  const link = join(root, "link");
  symlinkSync(join(outside, "secret"), link);
  expect(() => readRegular(link)).toThrow(`cannot read ${link}: is a symbolic link`);
  expect(() => setAttributes(link, { ...noAttributes, mode: 0o666 })).toThrow("is a symbolic link");
});

test("only the group is set, and the owner is unchanged", async () => {
  using directory = temporaryDirectory("walk");
  const path = join(directory.path, "file");
  writeFileSync(path, "x\n");
  chownSync(path, 1, 0);
  const args = { contents: ["x"], group: "daemon" };
  const plan = await proveHonest(directory.path, fileStates, "file.managed", path, args);
  expect(plan.changes).toEqual({ [path]: { group: { old: "root", new: "daemon" } } });
  expect(statSync(path).uid).toBe(1);
});
