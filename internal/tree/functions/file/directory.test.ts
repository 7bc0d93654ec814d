import { expect, test } from "bun:test";
import {
  existsSync,
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
import {
  applyState,
  planState,
  proveHonest,
  proveIdle,
  snapshot,
  stateContext,
} from "../../../../test/harness/honesty.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { fileStates } from "./index.ts";
import { mountsAt } from "./mounts.ts";
import { removalProblem } from "./path.ts";
import { readPatterns } from "./pattern.ts";

const directories = [fileStates, "file.directory"] as const;
const links = [fileStates, "file.symlink"] as const;
const absent = [fileStates, "file.absent"] as const;
const mode = (path: string) => (lstatSync(path).mode & 0o7777).toString(8);

test("a directory is made with its parents, mode and owner, and then only its mode is changed", async () => {
  using directory = temporaryDirectory("directory");
  const path = join(directory.path, "a/b");
  const args = { makedirs: true, mode: "0750", user: "daemon", group: "nogroup" };
  const plan = await proveHonest(directory.path, ...directories, path, args);
  expect(plan.changes).toEqual({ [path]: { created: true, mode: "0750", user: "daemon", group: "nogroup" } });
  expect(mode(path)).toBe("750");
  const again = await proveHonest(directory.path, ...directories, `${path}/`, { dir_mode: "2755" });
  expect(again.changes).toEqual({ [path]: { mode: { old: "0750", new: "2755" } } });
  const missing = await planState(...directories, join(directory.path, "no/b"));
  await expect(missing.apply?.() ?? Promise.resolve()).rejects.toThrow("set makedirs: true to create it");
});

test("recurse corrects the contents, including links themselves, and does not follow links", async () => {
  using directory = temporaryDirectory("directory");
  const root = join(directory.path, "root");
  const outside = join(directory.path, "outside");
  mkdirSync(join(root, "sub/deep"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, "sub/file"), "x");
  writeFileSync(join(outside, "file"), "x");
  symlinkSync(outside, join(root, "link"));
  const args = {
    user: "daemon",
    mode: "0711",
    file_mode: "0600",
    recurse: ["user", "mode"],
  };
  const plan = await proveHonest(directory.path, ...directories, root, args);
  expect(Object.keys(plan.changes).sort()).toEqual(
    ["", "/link", "/sub", "/sub/deep", "/sub/file"].map((each) => `${root}${each}`),
  );
  expect([mode(join(root, "sub/file")), mode(join(root, "sub/deep"))]).toEqual(["600", "711"]);
  expect(lstatSync(join(root, "link")).uid).not.toBe(0);
  expect([statSync(outside).uid, statSync(join(outside, "file")).uid]).toEqual([0, 0]);
});

test("recurse respects max_depth, and can exclude files or directories", async () => {
  using directory = temporaryDirectory("directory");
  mkdirSync(join(directory.path, "a/b"), { recursive: true });
  writeFileSync(join(directory.path, "f"), "x");
  const args = { user: "daemon", recurse: ["user", "ignore_files"], max_depth: 1 };
  const plan = await proveHonest(directory.path, ...directories, directory.path, args);
  expect(Object.keys(plan.changes)).toEqual([directory.path, join(directory.path, "a")]);
});

test("clean removes unmanaged files that are not excluded", async () => {
  using directory = temporaryDirectory("directory");
  const root = join(directory.path, "conf.d");
  const outside = join(directory.path, "outside");
  for (const name of ["keep", "drop/deep", "both/keep", "excluded/x"]) {
    mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, name, "file"), "x");
  }
  for (const name of ["one", "two", "note.txt", "both/drop"]) writeFileSync(join(root, name), "x");
  mkdirSync(outside);
  writeFileSync(join(outside, "mine"), "x");
  symlinkSync(outside, join(root, "out"));
  const described = ["keep", "one", "both/keep/file"].map((name) => ({
    function: "file.managed",
    name: join(root, name),
  }));
  const plan = await proveHonest(
    directory.path,
    ...directories,
    root,
    { clean: true, exclude_pat: ["*.txt", "E@^excluded/x"] },
    stateContext({ described }),
  );
  expect(Object.keys(plan.changes).sort()).toEqual(
    ["both/drop", "drop", "out", "two"].map((name) => join(root, name)),
  );
  expect(readdirSync(root).sort()).toEqual(["both", "excluded", "keep", "note.txt", "one"]);
  expect(existsSync(join(outside, "mine"))).toBe(true);
});

test("a file is only replaced by a directory with force", async () => {
  using directory = temporaryDirectory("directory");
  const [path, link] = [join(directory.path, "a"), join(directory.path, "l")];
  writeFileSync(path, "x");
  await expect(planState(...directories, path)).rejects.toThrow("is a file; set force: true to replace it");
  await proveHonest(directory.path, ...directories, path, { force: true });
  symlinkSync("a", link);
  await expect(planState(...directories, link)).rejects.toThrow("set follow_symlinks: true to follow");
  await proveHonest(directory.path, ...directories, link, { follow_symlinks: true, mode: "0700" });
  expect(mode(path)).toBe("700");
});

test("a link is created and changed, and replaces a file only with force", async () => {
  using directory = temporaryDirectory("symlink");
  const [link, file] = [join(directory.path, "a/l"), join(directory.path, "f")];
  await proveHonest(directory.path, ...links, link, { target: "../one", makedirs: true, user: "daemon" });
  const plan = await proveHonest(directory.path, ...links, link, { target: "/two" });
  expect(plan.changes).toEqual({ [link]: { target: { old: "../one", new: "/two" } } });
  expect(lstatSync(link).uid).not.toBe(0);
  await proveHonest(directory.path, ...links, link, { target: "/two", user: "nobody" });
  writeFileSync(file, "x");
  await expect(planState(...links, file, { target: "/x" })).rejects.toThrow(
    "set force: true to replace it with the link",
  );
  await proveHonest(directory.path, ...links, file, { target: "/x", force: true });
  expect(readlinkSync(file)).toBe("/x");
  await expect(planState(...links, join(directory.path, "a"), { target: "/x", force: true })).rejects.toThrow(
    "is a directory",
  );
});

test("files, links and directories are removed, but never the target of a link", async () => {
  using directory = temporaryDirectory("absent");
  const [kept, tree] = [join(directory.path, "kept"), join(directory.path, "tree")];
  mkdirSync(join(tree, "sub"), { recursive: true });
  mkdirSync(kept);
  writeFileSync(join(kept, "file"), "x");
  symlinkSync(kept, join(tree, "sub/link"));
  symlinkSync(kept, join(directory.path, "link"));
  await proveHonest(directory.path, ...absent, `${directory.path}/link/`);
  const plan = await proveHonest(directory.path, ...absent, tree);
  expect(plan.changes).toEqual({ [tree]: { removed: "directory" } });
  expect(readFileSync(join(kept, "file"), "utf8")).toBe("x");
  expect(await proveIdle(directory.path, ...absent, tree)).toBe(`${tree} does not exist`);
});

test.each(["/", "/etc", "/usr", "/home", "/var/lib", "/boot"])("%p is never removed as a whole", (path) => {
  expect(removalProblem(path)).toContain("is a system directory");
});

test("entries below system directories may be removed", () => {
  expect(["/etc/motd", "/srv/www", "/home/alice", "/usr/local"].map(removalProblem)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("mounts at or below a path are found", () => {
  const info = [
    "21 1 8:1 / / rw - ext4 /dev/sda1 rw",
    "22 21 0:5 / /srv/with\\040space rw - tmpfs none rw",
    "23 21 0:6 / /srv2 rw - tmpfs none rw",
  ].join("\n");
  expect(mountsAt("/srv", info)).toEqual(["/srv/with space"]);
  expect(mountsAt("/srv2", info)).toEqual(["/srv2"]);
  expect(mountsAt("/srv3", info)).toEqual([]);
});

test("patterns are globs, or regular expressions after E@", () => {
  const matches = readPatterns(["*.swp", "cache/?", "[!a]bc", "E@^log\\d+/"]) ?? (() => false);
  const paths = ["x.swp", "a/b/x.swp", "cache/1", "cache/12", "xbc", "abc", "log1/x", "logs/x", "x.swp.txt"];
  expect(paths.filter(matches)).toEqual(["x.swp", "a/b/x.swp", "cache/1", "xbc", "log1/x"]);
  expect(readPatterns([])).toBeUndefined();
  expect(() => readPatterns(["E@("])).toThrow("not a valid regular expression");
});

test("files are copied, touched and checked for existence", async () => {
  using directory = temporaryDirectory("copy");
  const [source, copy, touched] = ["s", "d/c", "t"].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ];
  const copies = [fileStates, "file.copy"] as const;
  await expect(planState(...copies, copy, { source })).rejects.toThrow(`cannot read ${source}: no such file`);
  writeFileSync(source, "text\n", { mode: 0o750 });
  await proveHonest(directory.path, ...copies, copy, { source, makedirs: true, user: "daemon" });
  expect(mode(copy)).toBe("750");
  writeFileSync(source, "new\n");
  await proveIdle(directory.path, ...copies, copy, { source });
  await proveHonest(directory.path, ...copies, copy, { source, force: true, preserve: true });
  expect([readFileSync(copy, "utf8"), statSync(copy).uid]).toEqual(["new\n", 0]);
  await proveHonest(directory.path, fileStates, "file.touch", touched);
  await proveIdle(directory.path, fileStates, "file.touch", source);
  await proveIdle(directory.path, fileStates, "file.exists", source);
  await proveIdle(directory.path, fileStates, "file.missing", join(directory.path, "no"));
  await expect(planState(fileStates, "file.missing", source)).rejects.toThrow(`${source} exists`);
  await expect(planState(fileStates, "file.exists", join(directory.path, "no"))).rejects.toThrow(
    "does not exist",
  );
});

test("a reverted change restores the original state", async () => {
  using directory = temporaryDirectory("revert");
  const path = join(directory.path, "a/b");
  const before = snapshot(directory.path);
  await applyState(fileStates, "file.managed", path, { contents: ["x"], makedirs: true });
  await applyState(...absent, join(directory.path, "a"));
  expect(snapshot(directory.path)).toEqual(before);
});
