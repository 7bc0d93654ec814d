import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository, type TestRepository } from "../../../test/harness/git.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { type Git, openGit } from "./git.ts";
import type { MirrorOptions, Remote } from "./local.ts";
import { type Mirror, type MirrorState, openMirror, type SyncOptions } from "./mirror.ts";

// Branches that cost too much, or that are broken, next to good ones.

const mebibyte = 1024 * 1024;
let temporary = temporaryDirectory("git-bounds");
let remote: TestRepository;
const open: Mirror[] = [];
/** The refs that were fetched. */
let fetched: string[] = [];
/** Variables for git. */
let environment: Record<string, string> = {};

beforeEach(() => {
  fetched = [];
  environment = {};
  temporary = temporaryDirectory("git-bounds");
  remote = makeRepository(join(temporary.path, "server"));
  remote.commit("main", { a: "1" });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

function mirrorOf(of: Partial<Remote> = {}, bounds: Partial<MirrorOptions> = {}) {
  const signal = new AbortController().signal;
  const real = openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal });
  const git: Git = {
    ...real,
    run(cwd, args, options) {
      if (args[0] === "fetch") fetched.push((args.at(-1) ?? "").split(":")[0] ?? "");
      return real.run(cwd, args, { ...options, env: environment });
    },
  };
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: ["*"], tags: ["*"], ...of },
    {
      git,
      dir: join(temporary.path, "gitfs"),
      maxBytes: 2 * mebibyte,
      maxEnvironments: 200,
      sshProgram: "/bin/false",
      clock: systemClock,
      ...bounds,
    },
  );
  open.push(mirror);
  return (options: Partial<SyncOptions> = {}) =>
    mirror.sync({
      ...{ inForce: () => undefined, released: () => undefined, report: () => {}, othersMs: 60_000 },
      ...options,
    });
}

const reasonsOf = ({ problems }: MirrorState) =>
  Object.fromEntries(problems.map(({ ref, reason }) => [ref.slice("refs/heads/".length), reason]));
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(Math.min(bytes, 65_536)));
const noise = (bytes: number) => Buffer.concat(Array.from({ length: bytes / 65_536 }, () => random(65_536)));

/** The packs of the only mirror. */
function packs(): string[] {
  const [mirror = ""] = readdirSync(join(temporary.path, "gitfs"));
  return readdirSync(join(temporary.path, "gitfs", mirror, "objects", "pack"));
}

/** A commit of any tree, as `git mktree` reads it. */
function commitTree(branch: string, tree: string): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@test"];
  const id = remote.git(...who, "commit-tree", "-m", "x", tree);
  remote.git("update-ref", `refs/heads/${branch}`, id);
  return id;
}

function makeTree(lines: readonly string[]): string {
  const { stdout, exitCode } = Bun.spawnSync(["git", "mktree"], {
    cwd: remote.path,
    stdin: Buffer.from(lines.map((line) => `${line}\n`).join("")),
  });
  expect(exitCode).toBe(0);
  return stdout.toString().trim();
}

/** A tree of `width` to the power of `depth` paths in a few objects. */
function bomb(width: number, depth: number): string {
  const blob = remote.git("rev-parse", "main:a");
  let tree = makeTree(Array.from({ length: width }, (_, i) => `100644 blob ${blob}\tf${i}`));
  for (let level = 1; level < depth; level++) {
    tree = makeTree(Array.from({ length: width }, (_, i) => `040000 tree ${tree}\td${i}`));
  }
  return tree;
}

test("a branch larger than the bound is not fetched to its end, and leaves nothing behind", async () => {
  remote.commit("large", { large: noise(6 * mebibyte) });
  remote.commit("fits", { small: noise(mebibyte) });
  const sync = mirrorOf();
  const state = await sync();
  expect([...state.environments.keys()].sort()).toEqual(["base", "fits"]);
  expect(reasonsOf(state)).toEqual({ large: "it is larger than 2MiB (gitfs.max_bytes)" });
  expect(packs().filter((name) => name.startsWith("tmp_"))).toEqual([]);
  // Control: with more room it is an environment.
  const wide = await mirrorOf({}, { maxBytes: 16 * mebibyte })();
  expect([...wide.environments.keys()].sort()).toEqual(["base", "fits", "large"]);
});

test("files that are small only while they are compressed count as what they are", async () => {
  remote.commit("zeros", { a: Buffer.alloc(mebibyte), b: Buffer.alloc(mebibyte + 1, "b") });
  expect(reasonsOf(await mirrorOf()())).toEqual({ zeros: "it is larger than 2MiB (gitfs.max_bytes)" });
});

test("what is refused for good is not fetched again until the branch moves", async () => {
  remote.commit("large", { large: noise(6 * mebibyte) });
  const sync = mirrorOf();
  await sync();
  fetched = [];
  expect(reasonsOf(await sync())).toEqual({ large: "it is larger than 2MiB (gitfs.max_bytes)" });
  expect(fetched).toEqual([]);
  remote.commit("large", { now: "small" });
  expect((await sync()).environments.has("large")).toBe(true);
});

test("a tree of millions of paths is not listed to its end, and its branch keeps its last content", async () => {
  const good = remote.commit("dev", { a: "dev" });
  const sync = mirrorOf();
  await sync();
  const count = packs().length;
  commitTree("dev", bomb(100, 4));
  const begun = systemClock.monotonic();
  const state = await sync();
  expect(systemClock.monotonic() - begun).toBeLessThan(20_000);
  expect(reasonsOf(state)).toEqual({ dev: "it has more than 100,000 files" });
  expect(state.environments.get("dev")?.commit).toBe(good);
  expect(packs()).toHaveLength(count);
  // Control: a tree within the bound, of the same form.
  commitTree("dev", bomb(10, 3));
  const after = await sync();
  expect(after.problems).toEqual([]);
  expect(after.environments.get("dev")?.files.size).toBe(1_000);
}, 60_000);

test("long paths are a bound of their own", async () => {
  let tree = bomb(40, 2);
  for (let level = 0; level < 250; level++) tree = makeTree([`040000 tree ${tree}\t${"d".repeat(200)}`]);
  commitTree("long", tree);
  expect(reasonsOf(await mirrorOf()())).toEqual({ long: "its paths are longer than 64 MiB" });
}, 60_000);

test("of 300 branches of which 3 are hostile 297 are published, base first", async () => {
  const id = remote.git("rev-parse", "main");
  const lines = Array.from({ length: 299 }, (_, i) => `create refs/heads/b${i} ${id}\n`).join("");
  Bun.spawnSync(["git", "update-ref", "--stdin"], { cwd: remote.path, stdin: Buffer.from(lines) });
  commitTree("b7", bomb(100, 4));
  remote.commit("b8", { large: noise(6 * mebibyte) });
  remote.commit("b9", { broken: "unique content of b9" });
  const object = remote.git("rev-parse", "b9:broken");
  rmSync(join(remote.path, "objects", object.slice(0, 2), object.slice(2)));
  const reports: string[][] = [];
  const state = await mirrorOf(
    {},
    { maxEnvironments: 255 + 100 },
  )({
    report: ({ environments }) => reports.push([...environments.keys()]),
  });
  expect(reports[0]).toEqual(["base"]);
  expect(state.environments.size).toBe(297);
  expect(Object.keys(reasonsOf(state)).sort()).toEqual(["b7", "b8", "b9"]);
  // Those at a commit that is there already need no fetch.
  expect(fetched).toHaveLength(4);
}, 120_000);

test("when there are many packs, what is needed no more is removed, and branches at one commit stay", async () => {
  remote.git("branch", "a", "main");
  remote.git("branch", "b", "main");
  const sync = mirrorOf();
  await sync();
  for (let i = 0; i < 52; i++) {
    remote.commit("main", { a: `version ${i}` });
    await sync();
  }
  expect(packs().filter((name) => name.endsWith(".pack")).length).toBeLessThan(10);
  remote.git("branch", "-D", "a");
  expect((await sync()).environments.get("base")?.commit).toBe(remote.git("rev-parse", "main"));
  const { environments, problems } = await mirrorOf()();
  expect([...environments.keys()].sort()).toEqual(["b", "base"]);
  expect(problems).toEqual([]);
}, 60_000);

test("beyond the number of environments branches are left out, by name, and never base", async () => {
  for (const name of ["a", "b", "c"]) remote.commit(name, { name });
  const state = await mirrorOf({}, { maxEnvironments: 2 })();
  expect([...state.environments.keys()].sort()).toEqual(["a", "b", "base"]);
  expect(reasonsOf(state)).toEqual({
    c: "left out: there are more than 2 environments (gitfs.max_environments)",
  });
});

test("a repository that never had the branch gives nothing to base, and its branches are named", async () => {
  remote.git("branch", "-m", "main", "master");
  remote.commit("dev", { a: "dev" });
  const state = await mirrorOf()();
  expect([...state.environments.keys()].sort()).toEqual(["dev", "master"]);
  expect(state.problems).toEqual([
    {
      ref: "refs/heads/main",
      environment: "base",
      reason:
        "there is no branch main (gitfs.base), so it adds nothing to base; its branches are dev, master",
      isKept: false,
    },
  ]);
});

test("a base branch that is gone keeps its last content until it is back; others go", async () => {
  const commit = remote.git("rev-parse", "main");
  remote.commit("dev", { a: "dev" });
  const sync = mirrorOf();
  await sync();
  remote.git("update-ref", "-d", "refs/heads/main");
  remote.commit("main/other", { a: "in its place" });
  remote.git("update-ref", "-d", "refs/heads/dev");
  const gone = await sync();
  expect([...gone.environments.keys()].sort()).toEqual(["base", "main/other"]);
  expect(gone.environments.get("base")?.commit).toBe(commit);
  expect(reasonsOf(gone).main).toContain("the branch is gone");
  // Another master has no copy of it, and does not take it away either.
  rmSync(join(temporary.path, "gitfs"), { recursive: true });
  const elsewhere = await mirrorOf()({
    inForce: (environment) => (environment === "base" ? commit : undefined),
  });
  expect(elsewhere.environments.has("base")).toBe(false);
  expect(elsewhere.problems).toMatchObject([{ environment: "base", isKept: true }]);
  remote.git("update-ref", "-d", "refs/heads/main/other");
  remote.git("update-ref", "refs/heads/main", commit);
  expect((await sync()).problems).toEqual([]);
});

test("a copy that is older than what is in force does not come back when the branch breaks", async () => {
  const old = remote.git("rev-parse", "main");
  await mirrorOf()();
  const bad = remote.commit("main", { large: noise(6 * mebibyte) });
  // The next process: another master published something newer meanwhile.
  const newer = await mirrorOf()({ inForce: () => "f".repeat(40) });
  expect(newer.environments.has("base")).toBe(false);
  expect(newer.problems).toMatchObject([{ environment: "base", isKept: true }]);
  // Control: exactly what is in force.
  const same = await mirrorOf()({ inForce: () => old });
  expect(same.environments.get("base")?.commit).toBe(old);
  expect(bad).not.toBe(old);
});

test("a tag of something else than a commit is named, and is of no size", async () => {
  remote.commit("x", { large: noise(mebibyte) });
  remote.git("tag", "blob", "x:large");
  remote.git("tag", "tree", "x^{tree}");
  const state = await mirrorOf({ environments: [] })();
  expect([...state.environments.keys()]).toEqual(["base"]);
  expect(state.problems.map(({ ref, reason }) => [ref, reason])).toEqual([
    ["refs/tags/blob", "it does not point to a commit"],
    ["refs/tags/tree", "it does not point to a commit"],
  ]);
});

test("branches that take too long wait for the next sync, but not those that were read before", async () => {
  remote.commit("old", { a: "old" });
  const sync = mirrorOf();
  await sync();
  remote.commit("new", { a: "new" });
  remote.commit("main", { a: "2" });
  const late = await sync({ othersMs: -1 });
  expect([...late.environments.keys()].sort()).toEqual(["base", "old"]);
  expect(late.environments.get("base")?.commit).toBe(remote.git("rev-parse", "main"));
  expect(reasonsOf(late).new).toContain("not read yet");
  expect([...(await sync()).environments.keys()].sort()).toEqual(["base", "new", "old"]);
});

describe("a server that never stops sending", () => {
  const server = join(import.meta.dir, "../../../test/harness/endless-remote-main.ts");

  /** Its branch, read by git with `ssh` replaced. */
  function endless(what: "pack" | "refs" | "objects") {
    const ssh = join(temporary.path, "ssh");
    const script = `#!/bin/sh\nENDLESS=${what} exec '${process.execPath}' '${server}'\n`;
    writeFileSync(ssh, script, { mode: 0o755 });
    environment = { GIT_SSH_COMMAND: ssh, GIT_PROTOCOL: "version=0" };
    return mirrorOf({ url: "ssh://git@endless.test/x" });
  }

  test("is stopped at the bound, and leaves no files", async () => {
    const state = await endless("pack")();
    expect(reasonsOf(state)).toEqual({ main: "it is larger than 2MiB (gitfs.max_bytes)" });
    expect(state.environments.size).toBe(0);
    expect(packs()).toEqual([]);
  });

  test("is refused when it announces more objects than memory holds", async () => {
    expect(reasonsOf(await endless("objects")()).main).toContain("Out of memory");
    expect(packs()).toEqual([]);
  });

  test("is stopped while it lists its branches", async () => {
    await expect(endless("refs")()).rejects.toThrow("git ls-remote failed: fatal: Out of memory");
  }, 60_000);
});
