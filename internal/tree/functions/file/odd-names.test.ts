import { expect, test } from "bun:test";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { applyState, planState, stateContext } from "../../../../test/harness/honesty.ts";
import { memoryFiles } from "../../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { fileStates } from "./index.ts";
import { walk } from "./walk.ts";

/** A path with the bytes of a text in Latin-1 at its end. */
const latin = (directory: string, name: string) =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, "latin1")]);

/** Names that are not UTF-8, of each kind of entry, and one that is. */
function makeTree(root: string): void {
  mkdirSync(root);
  mkdirSync(latin(root, "sub\xff"));
  mkdirSync(latin(root, "sub\xff/deep\xe9"));
  for (const name of ["sub\xff/deep\xe9/f", "sub\xff/f\xe9", "caf\xe9", "ok"])
    writeFileSync(latin(root, name), "");
  symlinkSync(Buffer.from("t\xe9", "latin1"), latin(root, "link\xe9"));
}

const shown = (root: string, names: readonly string[]) => names.map((name) => `${root}/${name}`).sort();
const all = [
  "caf\\xe9",
  "link\\xe9",
  "ok",
  "sub\\xff",
  "sub\\xff/deep\\xe9",
  "sub\\xff/deep\\xe9/f",
  "sub\\xff/f\\xe9",
];

test("owner and mode of every entry are corrected, once", async () => {
  using directory = temporaryDirectory("odd-names");
  const root = join(directory.path, "odd");
  makeTree(root);
  const args = { user: "daemon", mode: "0750", file_mode: "0640", recurse: ["user", "mode"] };
  const plan = await planState(fileStates, "file.directory", root, args);
  expect(Object.keys(plan.changes).sort()).toEqual([root, ...shown(root, all)].sort());
  await plan.apply?.();
  const state = (name: string) => {
    const { uid, mode } = lstatSync(latin(root, name));
    return [uid, (mode & 0o7777).toString(8)];
  };
  expect(["caf\xe9", "sub\xff", "sub\xff/deep\xe9", "sub\xff/deep\xe9/f"].map(state)).toEqual([
    [1, "640"],
    [1, "750"],
    [1, "750"],
    [1, "640"],
  ]);
  expect(state("link\xe9")[0]).toBe(1);
  expect((await planState(fileStates, "file.directory", root, args)).apply).toBeUndefined();
});

test("clean removes every entry, except those that a pattern keeps", async () => {
  using directory = temporaryDirectory("odd-names");
  const root = join(directory.path, "odd");
  makeTree(root);
  const args = { clean: true, exclude_pat: ["caf?"] };
  const plan = await planState(fileStates, "file.directory", root, args);
  expect(plan.changes[`${root}/link\\xe9`]).toEqual({ removed: "symbolic link to t\\xe9" });
  await plan.apply?.();
  expect(readdirSync(root, { encoding: "latin1" })).toEqual(["caf\xe9"]);
  await applyState(fileStates, "file.directory", root, { clean: true });
  expect(readdirSync(root)).toEqual([]);
});

test("file.recurse cleans every entry that is not in the source", async () => {
  using directory = temporaryDirectory("odd-names");
  const root = join(directory.path, "odd");
  makeTree(root);
  const context = stateContext({ files: memoryFiles({ "tree/kept": "x" }) });
  const args = { source: "svc://tree", clean: true };
  const plan = await planState(fileStates, "file.recurse", root, args, context);
  await plan.apply?.();
  expect(readdirSync(root)).toEqual(["kept"]);
  expect((await planState(fileStates, "file.recurse", root, args, context)).apply).toBeUndefined();
});

test("file.absent, and a directory whose own name is not UTF-8, as an entry of another", async () => {
  using directory = temporaryDirectory("odd-names");
  makeTree(join(directory.path, "odd"));
  await applyState(fileStates, "file.absent", join(directory.path, "odd"));
  expect(existsSync(join(directory.path, "odd"))).toBe(false);
});

test("a path that leads through a link to such a directory is walked, also where another user owns it", async () => {
  using directory = temporaryDirectory("odd-names");
  const root = join(directory.path, "odd");
  makeTree(root);
  renameSync(root, latin(directory.path, "r\xe9al"));
  symlinkSync(Buffer.from("r\xe9al", "latin1"), root);
  const names = () => [...walk(`${root}`, 1)].map(({ name }) => name);
  expect(names()).toEqual(["caf\udce9", "link\udce9", "ok", "sub\udcff"]);
  chownSync(latin(directory.path, "r\xe9al"), 1, 1);
  expect(names()).toEqual(["caf\udce9", "link\udce9", "ok", "sub\udcff"]);
});

test("a message names an entry that stays, with its bytes", async () => {
  using directory = temporaryDirectory("odd-names");
  const root = join(directory.path, "odd");
  makeTree(root);
  const walking = () => {
    for (const { relative } of walk(root, undefined)) {
      if (relative !== "sub\udcff") continue;
      renameSync(latin(root, "sub\xff"), latin(directory.path, "moved"));
      symlinkSync("/", latin(root, "sub\xff"));
    }
  };
  expect(walking).toThrow(`cannot open ${root}/sub\\xff: `);
});
