import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ManualClock, manualClock, settle } from "../../../test/harness/clock.ts";
import { makeRepository, type TestRepository } from "../../../test/harness/git.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { until } from "../../../test/harness/until.ts";
import { type Git, openGit } from "./git.ts";
import { type Mirror, type MirrorState, openMirror } from "./mirror.ts";

// Branches whose server or whose objects make git wait for ever. Time passes only where a test moves it.

let temporary = temporaryDirectory("git-hanging");
let remote: TestRepository;
let clock: ManualClock;
const open: Mirror[] = [];

beforeEach(() => {
  temporary = temporaryDirectory("git-hanging");
  remote = makeRepository(join(temporary.path, "server"));
  clock = manualClock();
  for (const branch of ["main", "a-slow", "b"]) remote.commit(branch, { branch });
});
afterEach(async () => {
  await passing(Promise.all(open.splice(0).map((mirror) => mirror.stop())));
  temporary[Symbol.dispose]();
});

/** A program that leaves a mark and does not end, when its arguments have this text and `hangs` is on. */
function hangsAt(text: string, program: string): string {
  const path = join(temporary.path, "hangs");
  hangs(true);
  const hang = `case "$*" in *${text}*) touch '${hung()}'; exec sleep 1000;; esac`;
  const script = `if [ -e '${isOn()}' ]; then ${hang}; fi`;
  writeFileSync(path, `#!/bin/sh\n${script}\nexec ${program} "$@"\n`, { mode: 0o755 });
  return path;
}
const isOn = () => join(temporary.path, "on");
const hangs = (yes: boolean) => (yes ? writeFileSync(isOn(), "") : rmSync(isOn()));
const hung = () => join(temporary.path, "hung");

function mirrorOf(change: (git: Git) => Partial<Git>) {
  const { signal } = new AbortController();
  const real = openGit({ sshKey: "", knownHosts: "/nonexistent", clock, signal });
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: ["*"], tags: [] },
    {
      ...{ git: { ...real, ...change(real) }, dir: join(temporary.path, "gitfs") },
      ...{ maxBytes: 1024 ** 3, maxEnvironments: 200, sshProgram: "/bin/false", clock },
    },
  );
  open.push(mirror);
  return () =>
    mirror.sync({ inForce: () => undefined, released: () => undefined, report: () => {}, othersMs: 120_000 });
}

/** Lets time pass as it does, for processes that are being ended. */
async function passing<T>(ending: Promise<T>): Promise<T> {
  let isOver = false;
  const noted = ending.then(
    () => {},
    () => {},
  );
  void noted.then(() => {
    isOver = true;
  });
  await until(() => {
    clock.advance(25);
    return isOver;
  });
  return ending;
}

/** Lets a sync hang, and then this time pass. */
async function after<T>(sync: Promise<T>, ms: number): Promise<T> {
  await until(() => existsSync(hung()));
  expect(await Promise.race([sync, Promise.resolve("waits")])).toBe("waits" as never);
  clock.advance(ms - 1);
  expect(await Promise.race([sync.then(() => "ended"), settle().then(() => "waits")])).toBe("waits");
  clock.advance(1);
  return passing(sync);
}

const reasonsOf = ({ problems }: MirrorState) =>
  Object.fromEntries(problems.map(({ ref, reason }) => [ref.slice("refs/heads/".length), reason]));
const namesOf = ({ environments }: MirrorState) => [...environments.keys()].sort();

test("a listing that does not end is stopped after 30 s, and the others are read", async () => {
  const slow = remote.git("rev-parse", "a-slow");
  const program = hangsAt(`ls-tree*${slow}`, "git");
  const sync = mirrorOf(({ command }) => ({ command: [program, ...command.slice(1)] }));
  const state = await after(sync(), 30_000);
  expect(reasonsOf(state)).toEqual({
    "a-slow": "listing its files takes longer than 30 s: the next sync tries it again",
  });
  expect(namesOf(state)).toEqual(["b", "base"]);
  // Control: the same commit, when the host is not busy any more.
  hangs(false);
  expect(namesOf(await sync())).toEqual(["a-slow", "b", "base"]);
});

/** Fetches of this branch come from a server that hangs. */
const slowFetch =
  (program: string) =>
  (real: Git): Partial<Git> => ({
    run(cwd, args, options) {
      const [command = "", ...rest] = args;
      const isSlow = command === "fetch" && args.at(-1)?.startsWith("+refs/heads/a-slow:") === true;
      if (!isSlow) return real.run(cwd, args, options);
      return real.run(cwd, [command, `--upload-pack=${program}`, ...rest], options);
    },
  });

test("a fetch that does not end is stopped after 5 minutes, and comes last from then on", async () => {
  const program = hangsAt("remote.git", "git-upload-pack");
  const sync = mirrorOf(slowFetch(program));
  const first = await after(sync(), 300_000);
  expect(namesOf(first)).toEqual(["base"]);
  expect(reasonsOf(first)).toEqual({
    "a-slow": "git fetch took longer than 5 minutes: the next sync tries it again",
    b: "not read yet, because other branches and tags take too long",
  });
  // The others are read before it, although the server still hangs.
  rmSync(hung());
  const newest = remote.commit("b", { b: "2" });
  const second = await after(sync(), 300_000);
  expect(second.environments.get("b")?.commit).toBe(newest);
  expect(Object.keys(reasonsOf(second))).toEqual(["a-slow"]);
  const [repository = ""] = readdirSync(join(temporary.path, "gitfs"));
  const packs = readdirSync(join(temporary.path, "gitfs", repository, "objects", "pack"));
  expect(packs.filter((name) => name.startsWith("tmp_"))).toEqual([]);
});

test("a branch that hung is there as soon as its server answers", async () => {
  const program = hangsAt("remote.git", "git-upload-pack");
  const sync = mirrorOf(slowFetch(program));
  await after(sync(), 300_000);
  hangs(false);
  expect(namesOf(await sync())).toEqual(["a-slow", "b", "base"]);
});

test("a server that does not list its branches is given up after 5 minutes, and nothing is lost", async () => {
  const program = hangsAt("remote.git", "git-upload-pack");
  hangs(false);
  const sync = mirrorOf((real) => ({
    run(cwd, [command = "", ...rest], options) {
      const slow = command === "ls-remote" ? [`--upload-pack=${program}`] : [];
      return real.run(cwd, [command, ...slow, ...rest], options);
    },
  }));
  const before = await sync();
  hangs(true);
  await expect(after(sync(), 300_000)).rejects.toThrow("git ls-remote took longer than 5 minutes");
  hangs(false);
  expect((await sync()).environments).toEqual(before.environments);
});

test("a reader of contents that is silent for a minute is started again", async () => {
  const program = hangsAt("cat-file", "git");
  const sync = mirrorOf(({ command }) => ({ command: [program, ...command.slice(1)] }));
  const syncing = sync();
  await until(() => existsSync(hung()));
  hangs(false);
  const state = await after(syncing, 60_000);
  expect(reasonsOf(state)).toEqual({ main: "git cat-file hangs" });
  expect(namesOf(state)).toEqual(["a-slow", "b"]);
  expect(namesOf(await sync())).toEqual(["a-slow", "b", "base"]);
});
