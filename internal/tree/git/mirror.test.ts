import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository, type TestRepository } from "../../../test/harness/git.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { maxBlobBytes } from "../files/manifest.ts";
import { createDirectoryScan, snapshotOf } from "../files/mod.ts";
import { type Git, openGit, shownUrl } from "./git.ts";
import type { Remote } from "./local.ts";
import {
  type GitEnvironment,
  type Mirror,
  type MirrorState,
  openMirror,
  type SyncOptions,
} from "./mirror.ts";

let temporary = temporaryDirectory("git");
let remote: TestRepository;
let stopping = new AbortController();
const open: Mirror[] = [];
/** The git commands that were run. */
let ran: string[] = [];

beforeEach(() => {
  temporary = temporaryDirectory("git");
  remote = makeRepository(join(temporary.path, "server"));
  stopping = new AbortController();
  ran = [];
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

/** Everything is an environment, unless a test says otherwise. */
function mirrorOf(of: Partial<Remote> = {}, bounds: { maxBytes?: number; maxEnvironments?: number } = {}) {
  const real = openGit({
    sshKey: "",
    knownHosts: "/nonexistent",
    clock: systemClock,
    signal: stopping.signal,
  });
  const git: Git = {
    ...real,
    run(cwd, args, options) {
      ran.push(args.join(" "));
      return real.run(cwd, args, options);
    },
  };
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: ["*"], tags: ["*"], ...of },
    {
      git,
      dir: join(temporary.path, "gitfs"),
      maxBytes: 1024 ** 3,
      maxEnvironments: 200,
      sshProgram: "/bin/false",
      clock: systemClock,
      ...bounds,
    },
  );
  open.push(mirror);
  const none = { inForce: () => undefined, released: () => undefined };
  return {
    ...mirror,
    sync: (options: Partial<SyncOptions> = {}) =>
      mirror.sync({ ...none, report: () => {}, othersMs: 60_000, ...options }),
    load: (options: Partial<SyncOptions> = {}) => mirror.load({ ...none, ...options }),
  };
}

const reasonsOf = ({ problems }: MirrorState) =>
  Object.fromEntries(problems.map(({ ref, reason }) => [ref, reason]));

async function textsOf(environment: GitEnvironment | undefined): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [path, content] of environment?.files ?? []) {
    const parts: Uint8Array[] = [];
    for await (const piece of content.pieces()) parts.push(piece);
    found[path] = Buffer.concat(parts).toString("latin1");
  }
  return found;
}

const fetches = () => ran.filter((command) => command.startsWith("fetch"));

test("branches and tags are environments, with their files and commits", async () => {
  const large = Buffer.alloc(2 * maxBlobBytes + 7, "x");
  const main = remote.commit("main", {
    "top.sls": "base: {}",
    "a/b.sls": "x",
    "run.sh": "#!",
    empty: "",
    large,
  });
  const dev = remote.commit("feature/web", { "top.sls": "dev: {}" });
  remote.git("tag", "v1", main);
  remote.git("-c", "user.name=t", "-c", "user.email=t@test", "tag", "-a", "-m", "annotated", "v2", dev);
  const { environments, warnings } = await mirrorOf().sync();
  expect(warnings).toEqual([]);
  expect([...environments.keys()].sort()).toEqual(["base", "feature/web", "v1", "v2"]);
  expect(environments.get("base")).toMatchObject({ ref: "refs/heads/main", commit: main });
  expect(environments.get("v2")?.commit).toBe(dev);
  expect(await textsOf(environments.get("base"))).toEqual({
    "top.sls": "base: {}",
    "a/b.sls": "x",
    "run.sh": "#!",
    empty: "",
    large: large.toString("latin1"),
  });
  expect(environments.get("base")?.files.get("run.sh")?.executable).toBe(true);
  expect(environments.get("base")?.files.get("large")?.blobs).toHaveLength(3);
  // The same commit is the same map.
  expect(environments.get("v1")?.files).toBe(environments.get("base")?.files as never);
  expect(statSync(join(temporary.path, "gitfs")).mode & 0o777).toBe(0o700);
});

test("one fetch for changes, none without changes, and unchanged environments are the same objects", async () => {
  remote.commit("main", { a: "1" });
  remote.commit("dev", { a: "dev" });
  const mirror = mirrorOf();
  const first = (await mirror.sync()).environments;
  ran = [];
  expect((await mirror.sync()).environments).toEqual(first);
  expect(fetches()).toEqual([]);
  remote.commit("main", { a: "2" });
  const second = (await mirror.sync()).environments;
  expect(fetches()).toHaveLength(1);
  expect(fetches()[0]).toContain("+refs/heads/main:refs/svc/");
  expect(await textsOf(second.get("base"))).toEqual({ a: "2" });
  expect(second.get("dev")?.files).toBe(first.get("dev")?.files as never);
});

test("a force-pushed branch, a deleted one, and one that replaces a directory of branches", async () => {
  const old = remote.commit("main", { a: "1" });
  remote.commit("x", { a: "x" });
  const mirror = mirrorOf();
  await mirror.sync();
  remote.commit("main", { a: "2" });
  await mirror.sync();
  remote.git("update-ref", "refs/heads/main", old);
  remote.git("update-ref", "-d", "refs/heads/x");
  remote.commit("x/y", { a: "x/y" });
  const { environments } = await mirror.sync();
  expect(environments.get("base")?.commit).toBe(old);
  expect([...environments.keys()].sort()).toEqual(["base", "x/y"]);
});

test("links, submodules and invalid names are left out, with a warning", async () => {
  remote.commit("main", { "top.sls": "x", link: null, "line\nend": "x" });
  const sub = remote.git("rev-parse", "main");
  // A tree with a submodule, as git itself would write it.
  const entry = `160000 commit ${sub}\tsubmodule\n100644 blob ${remote.git("rev-parse", "main:top.sls")}\tkept`;
  writeFileSync(join(temporary.path, "tree"), `${entry}\n`);
  const { stdout } = Bun.spawnSync(["git", "mktree", "--missing"], {
    cwd: remote.path,
    stdin: Bun.file(join(temporary.path, "tree")),
  });
  remote.git(
    "branch",
    "sub",
    remote.git(
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@test",
      "commit-tree",
      "-m",
      "x",
      stdout.toString().trim(),
    ),
  );
  const { environments, warnings } = await mirrorOf().sync();
  expect([...(environments.get("base")?.files.keys() ?? [])]).toEqual(["top.sls"]);
  expect([...(environments.get("sub")?.files.keys() ?? [])]).toEqual(["kept"]);
  for (const reason of ["a symbolic link", "a character that is not allowed", "a submodule"]) {
    expect(warnings.some((line) => line.includes(reason))).toBe(true);
  }
});

test("an unavailable remote is an error; fetched content is kept, also for the next process", async () => {
  const commit = remote.commit("main", { a: "1" });
  const mirror = mirrorOf();
  await mirror.sync();
  renameSync(remote.path, `${remote.path}.away`);
  await expect(mirror.sync()).rejects.toThrow("git ls-remote failed");
  const { environments } = await mirrorOf().load();
  expect(environments.get("base")?.commit).toBe(commit);
  expect(await textsOf(environments.get("base"))).toEqual({ a: "1" });
  expect((await mirrorOf({ url: "file:///nowhere/at/all.git" }).load()).environments.size).toBe(0);
});

test("a repository without branches is an error", async () => {
  remote.commit("main", { a: "1" });
  const mirror = mirrorOf();
  await mirror.sync();
  remote.git("update-ref", "-d", "refs/heads/main");
  await expect(mirror.sync()).rejects.toThrow("no branches or tags");
  expect((await mirror.load()).environments.has("base")).toBe(true);
});

test("a branch with broken objects does not prevent fetching the others", async () => {
  remote.commit("main", { a: "1" });
  const mirror = mirrorOf();
  await mirror.sync();
  remote.commit("good", { a: "good" });
  const bad = remote.commit("bad", { a: "unique content" });
  const object = remote.git("rev-parse", "bad:a");
  const loose = join(remote.path, "objects", object.slice(0, 2), object.slice(2));
  expect(existsSync(loose)).toBe(true);
  renameSync(loose, `${loose}.gone`);
  const state = await mirror.sync();
  expect([...state.environments.keys()].sort()).toEqual(["base", "good"]);
  expect(Object.keys(reasonsOf(state))).toEqual(["refs/heads/bad"]);
  expect(bad).toMatch(/^[0-9a-f]{40}$/);
});

test("protocols that run programs, and plaintext ones, are rejected", async () => {
  const marker = join(temporary.path, "ran");
  for (const url of [
    `ext::sh -c touch% ${marker}`,
    "git://127.0.0.1:1/x",
    "http://127.0.0.1:1/x",
    "ftp://127.0.0.1:1/x",
  ]) {
    await expect(mirrorOf({ url }).sync()).rejects.toThrow("not allowed");
  }
  expect(existsSync(marker)).toBe(false);
});

test("hooks and configuration of a mirror or a user are not run", async () => {
  remote.commit("main", { a: "1" });
  const mirror = mirrorOf();
  await mirror.sync();
  const marker = join(temporary.path, "ran");
  for (const directory of new Bun.Glob("gitfs/*").scanSync({ cwd: temporary.path, onlyFiles: false })) {
    const hooks = join(temporary.path, directory, "hooks");
    Bun.spawnSync(["mkdir", "-p", hooks]);
    for (const name of ["reference-transaction", "post-update", "pre-auto-gc"]) {
      writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    }
  }
  remote.commit("main", { a: "2" });
  await mirror.sync();
  expect(existsSync(marker)).toBe(false);
});

test("no credentials are shown", () => {
  expect(shownUrl("https://user:secret@git.test/x.git")).toBe("https://git.test/x.git");
  expect(shownUrl("fatal: unable to access 'https://token@git.test/x.git/': no")).toBe(
    "fatal: unable to access 'https://git.test/x.git/': no",
  );
  expect(shownUrl("git@git.test:x.git")).toBe("git@git.test:x.git");
});

test("files are the blobs of the commit, and one snapshot with a directory that has the same", async () => {
  const files = {
    // A checkout would convert the first two.
    ".gitattributes": "*.txt text eol=crlf\n*.id ident\n",
    "lines.txt": "one\ntwo\n",
    "version.id": "$Id$\n",
    "run.sh": "#!/bin/sh\n",
  };
  remote.commit("main", { ...files, link: null, ".hg/requires": "store\n" });
  const { environments, warnings } = await mirrorOf().sync();
  const base = environments.get("base");
  expect(await textsOf(base)).toEqual(files);
  expect(warnings).toEqual([
    'refs/heads/main: ".hg/requires": a directory of a version control tool; not published',
    'refs/heads/main: "link": a symbolic link: put the file itself there; not published',
  ]);
  const directory = join(temporary.path, "directory");
  mkdirSync(join(directory, ".hg"), { recursive: true });
  for (const [path, text] of Object.entries({ ...files, ".hg/requires": "other\n" })) {
    writeFileSync(join(directory, path), text, { mode: path === "run.sh" ? 0o700 : 0o655 });
  }
  symlinkSync("run.sh", join(directory, "link"));
  const scanned = (await createDirectoryScan(directory, systemClock).scan()).files;
  expect(snapshotOf(scanned)).toBe(snapshotOf(base?.files ?? []));
});
