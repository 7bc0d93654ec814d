import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository, type TestRepository } from "../../../../test/harness/git.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { systemClock } from "../../../base/clock.ts";
import { cleanEnvironment } from "../../../base/process/environment.ts";
import { type Git, openGit } from "../git.ts";
import type { Remote } from "../local.ts";
import { type Mirror, type MirrorState, openMirror, type SyncOptions } from "../mirror.ts";

// Branches and tags whose commits need a signature. The real git and the real ssh-keygen make the repositories, and
// judge them as well where the judgement must differ, to show that it does.

const day = 86_400_000;
const root = join(import.meta.dir, "../../../..");
let temporary = temporaryDirectory("git-signed");
let remote: TestRepository;
let signers = "";
let program = "";
let now = systemClock.now();
/** The steps of git that verify a signature. */
let verified: string[] = [];
const open: Mirror[] = [];

beforeEach(() => {
  temporary = temporaryDirectory("git-signed");
  remote = makeRepository(join(temporary.path, "server"));
  signers = join(temporary.path, "signers");
  now = systemClock.now();
  verified = [];
  // In place of the executable of a master.
  program = join(temporary.path, "program");
  const main = join(root, "cmd/svc-master/main.ts");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

function run(command: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: remote.path,
    env: { ...cleanEnvironment(undefined), GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", ...env },
  });
  return { code: exitCode, text: stdout.toString().trim(), error: stderr.toString() };
}

function must(command: readonly string[], env?: Record<string, string>): string {
  const { code, text, error } = run(command, env);
  if (code !== 0) throw new Error(`${command.join(" ")}: ${error}`);
  return text;
}

/** Makes a key, and returns its path. */
function makeKey(name: string): string {
  const path = join(temporary.path, name);
  must(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path]);
  return path;
}

const publicKey = (path: string) => must(["cut", "-d", " ", "-f", "1,2", `${path}.pub`]);
const allow = (...lines: string[]) => writeFileSync(signers, `# who may sign\n${lines.join("\n")}\n`);

interface Made {
  key?: string;
  parents?: readonly string[];
  files?: Record<string, string>;
  /** The date that the committer claims. */
  date?: number;
}

/** A commit with these files. */
function make({ key, parents = [], files = { a: "1" }, date = now }: Made): string {
  const lines = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(temporary.path, "content"), text);
    return `100644 blob ${must(["git", "hash-object", "-w", join(temporary.path, "content")])}\t${name}\n`;
  });
  writeFileSync(join(temporary.path, "tree"), lines.join(""));
  const tree = must(["sh", "-c", `git mktree < ${join(temporary.path, "tree")}`]);
  const who = {
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@t",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@t",
  };
  const at = `@${Math.floor(date / 1000)} +0000`;
  return must(
    [
      ...[
        "git",
        "-c",
        "gpg.format=ssh",
        "-c",
        `user.signingKey=${key ?? ""}`,
        "commit-tree",
        "-m",
        `${date}`,
      ],
      ...(key === undefined ? [] : ["-S"]),
      ...parents.flatMap((parent) => ["-p", parent]),
      tree,
    ],
    { ...who, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at },
  );
}

const point = (ref: string, object: string) => must(["git", "update-ref", ref, object]);
const pointMain = (object: string) => point("refs/heads/main", object);

/** What git says by itself, with the time of the committer. */
function plainGit(kind: "commit" | "tag", object: string): boolean {
  const options = ["-c", `gpg.ssh.allowedSignersFile=${signers}`];
  return run(["git", ...options, `verify-${kind}`, object]).code === 0;
}

function mirrorOf(of: Partial<Remote> = {}) {
  const signal = new AbortController().signal;
  const real = openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal });
  const git: Git = {
    ...real,
    attempt(cwd, args, options) {
      verified.push(...args.filter((arg) => arg.startsWith("verify-")));
      return real.attempt(cwd, args, options);
    },
  };
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: [], tags: [], signers, ...of },
    {
      ...{ git, dir: join(temporary.path, "gitfs"), maxBytes: 1024 ** 3, maxEnvironments: 200 },
      ...{ sshProgram: program, clock: { ...systemClock, now: () => now } },
    },
  );
  open.push(mirror);
  /** As if everything that is good came into force. */
  const inForce = new Map<string, string>();
  return async (options: Partial<SyncOptions> = {}) => {
    const state = await mirror.sync({
      inForce: (environment) => inForce.get(environment),
      ...{ released: () => undefined, report: () => {}, othersMs: 60_000 },
      ...options,
    });
    for (const [name, { commit }] of state.environments) inForce.set(name, commit);
    return state;
  };
}

const baseOf = ({ environments }: MirrorState) => environments.get("base")?.commit;
const reasonOf = ({ problems }: MirrorState) => problems[0]?.reason;
const unsigned = (object: string, name = "main") =>
  `${name} is at ${object.slice(0, 12)}, signed by no listed key: sign it, or release it`;

test("only a commit that a listed key signed counts; the last good one stays", async () => {
  const [alice, mallory] = [makeKey("alice"), makeKey("mallory")];
  allow(`alice@x ${publicKey(alice)}`);
  const first = make({ key: alice });
  pointMain(first);
  const sync = mirrorOf();
  expect(await sync()).toMatchObject({ problems: [] });
  let last = first;
  for (const key of [undefined, mallory]) {
    const bad = make({ ...(key === undefined ? {} : { key }), parents: [last], files: { a: "bad" } });
    expect(plainGit("commit", bad)).toBe(false);
    pointMain(bad);
    const state = await sync();
    expect(baseOf(state)).toBe(last);
    expect(reasonOf(state)).toBe(unsigned(bad));
    // Those below the newest are not considered, whatever they are.
    last = make({ key: alice, parents: [bad], files: { a: "good" } });
    pointMain(last);
    expect(baseOf(await sync())).toBe(last);
  }
});

test("a new commit costs one step of git, and one that is known or unsigned none", async () => {
  const alice = makeKey("alice");
  allow(`alice@x ${publicKey(alice)}`);
  const first = make({ key: alice });
  pointMain(first);
  const sync = mirrorOf();
  await sync();
  expect(verified).toEqual(["verify-commit"]);
  await sync();
  const second = make({ parents: [first] });
  pointMain(second);
  await sync();
  expect(verified).toEqual(["verify-commit"]);
  pointMain(make({ key: alice, parents: [second] }));
  await sync();
  expect(verified).toEqual(["verify-commit", "verify-commit"]);
});

test("without signers nothing new comes into force, and what is in force stays", async () => {
  const alice = makeKey("alice");
  const first = make({ key: alice });
  pointMain(first);
  const missing = await mirrorOf()();
  expect(missing.environments.size).toBe(0);
  expect(reasonOf(missing)).toBe(
    `nothing new counts: the signers in ${signers} cannot be read: no such file`,
  );
  allow(`alice@x ${publicKey(alice)}`);
  const sync = mirrorOf();
  await sync();
  const second = make({ key: alice, parents: [first] });
  pointMain(second);
  for (const text of ["", "# alice@x\n\n  \n"]) {
    writeFileSync(signers, text);
    const empty = await sync();
    expect(baseOf(empty)).toBe(first);
    expect(reasonOf(empty)).toBe(`nothing new counts: ${signers} lists no signers`);
  }
  // The file is read at each sync.
  allow(`alice@x ${publicKey(alice)}`);
  expect(baseOf(await sync())).toBe(second);
  // A key that is removed leaves in force what it signed, and signs nothing new.
  allow(`bob@x ${publicKey(makeKey("bob"))}`);
  expect(baseOf(await sync())).toBe(second);
  pointMain(make({ key: alice, parents: [second] }));
  expect(baseOf(await sync())).toBe(second);
});

describe("what the file of signers says of a key", () => {
  test("a namespace other than git does not count", async () => {
    const alice = makeKey("alice");
    const commit = make({ key: alice });
    pointMain(commit);
    allow(`alice@x namespaces="file" ${publicKey(alice)}`);
    expect(plainGit("commit", commit)).toBe(false);
    expect(baseOf(await mirrorOf()())).toBeUndefined();
    allow(`alice@x namespaces="file,git" ${publicKey(alice)}`);
    expect(baseOf(await mirrorOf()())).toBe(commit);
  });

  test("an authority vouches for the keys of its certificates, for its principals only", async () => {
    const [authority, carol] = [makeKey("authority"), makeKey("carol")];
    must(["ssh-keygen", "-q", "-s", authority, "-I", "carol", "-n", "carol@x", `${carol}.pub`]);
    const commit = make({ key: `${carol}-cert.pub` });
    pointMain(commit);
    allow(`*@y cert-authority ${publicKey(authority)}`);
    expect(plainGit("commit", commit)).toBe(false);
    expect(baseOf(await mirrorOf()())).toBeUndefined();
    // Listed as a plain key an authority signs nothing by its certificates.
    allow(`*@x ${publicKey(authority)}`);
    expect(baseOf(await mirrorOf()())).toBeUndefined();
    allow(`*@x cert-authority ${publicKey(authority)}`);
    expect(plainGit("commit", commit)).toBe(true);
    expect(baseOf(await mirrorOf()())).toBe(commit);
  });

  const dated = (at: number) => new Date(at).toISOString().slice(0, 10).replaceAll("-", "");

  test("an expired key signs nothing more, whatever date its committer claims", async () => {
    const alice = makeKey("alice");
    allow(`alice@x valid-before="${dated(now - 10 * day)}" ${publicKey(alice)}`);
    const honest = make({ key: alice });
    expect(plainGit("commit", honest)).toBe(false);
    const dishonest = make({ key: alice, date: now - 100 * day });
    // Control: git by itself believes the date.
    expect(plainGit("commit", dishonest)).toBe(true);
    for (const commit of [honest, dishonest]) {
      pointMain(commit);
      const state = await mirrorOf()();
      expect(state.environments.size).toBe(0);
      expect(reasonOf(state)).toBe(unsigned(commit));
    }
  });

  test("a key that is not valid yet signs nothing, with a date in the future either", async () => {
    const alice = makeKey("alice");
    allow(`alice@x valid-after="${dated(now + 10 * day)}" ${publicKey(alice)}`);
    const commit = make({ key: alice, date: now + 100 * day });
    expect(plainGit("commit", commit)).toBe(true);
    pointMain(commit);
    expect((await mirrorOf()()).environments.size).toBe(0);
  });

  test("what a sync saw while the key was valid counts later, also in the next process", async () => {
    const alice = makeKey("alice");
    const commit = make({ key: alice, date: now - 100 * day });
    pointMain(commit);
    writeFileSync(signers, "");
    expect((await mirrorOf()()).environments.size).toBe(0);
    allow(`alice@x valid-before="${dated(now + 5 * day)}" ${publicKey(alice)}`);
    now += 20 * day;
    expect(baseOf(await mirrorOf()())).toBe(commit);
    // Control: seen for the first time after the end of the key.
    const late = make({ key: alice, date: now - 100 * day, parents: [commit] });
    pointMain(late);
    expect(reasonOf(await mirrorOf()({ inForce: () => commit }))).toBe(unsigned(late));
    rmSync(join(temporary.path, "gitfs"), { recursive: true });
    pointMain(commit);
    expect((await mirrorOf()()).environments.size).toBe(0);
  });
});

describe("a merge without a signature", () => {
  function merged(files: Record<string, string>, key?: string) {
    const alice = makeKey("alice");
    allow(`alice@x ${publicKey(alice)}`);
    const first = make({ key: alice, files: { a: "1" } });
    const change = make({ key: alice, parents: [first], files: { a: "1", b: "2" } });
    const merge = make({ ...(key === undefined ? {} : { key }), parents: [first, change], files });
    return { alice, first, change, merge };
  }

  test("counts as the signed parent with the same files, and history continues from there", async () => {
    const { alice, first, change, merge } = merged({ a: "1", b: "2" });
    pointMain(first);
    const sync = mirrorOf();
    await sync();
    pointMain(merge);
    const state = await sync();
    expect(state.problems).toEqual([]);
    expect(baseOf(state)).toBe(change);
    const next = make({ key: alice, parents: [merge], files: { c: "3" } });
    const again = make({ parents: [merge, next], files: { c: "3" } });
    pointMain(again);
    expect(baseOf(await sync())).toBe(next);
    // The next process judges the same.
    expect(baseOf(await mirrorOf()({ inForce: () => next }))).toBe(next);
  });

  test("does not count when it changes a file, also when all parents are signed", async () => {
    const { first, merge } = merged({ a: "1", b: "3" });
    pointMain(first);
    const sync = mirrorOf();
    await sync();
    pointMain(merge);
    const state = await sync();
    expect(baseOf(state)).toBe(first);
    expect(reasonOf(state)).toBe(unsigned(merge));
  });

  test("does not count when the parent with its files is not signed", async () => {
    const { alice, first } = merged({});
    const change = make({ parents: [first], files: { b: "2" } });
    const other = make({ key: alice, parents: [first], files: { c: "3" } });
    const merge = make({ parents: [other, change], files: { b: "2" } });
    pointMain(first);
    const sync = mirrorOf();
    await sync();
    pointMain(merge);
    expect(reasonOf(await sync())).toBe(unsigned(merge));
  });

  test("a squash by the forge is named with what to do", async () => {
    const { first } = merged({});
    pointMain(first);
    const sync = mirrorOf();
    await sync();
    const squash = make({ parents: [first], files: { a: "1", b: "2" } });
    pointMain(squash);
    expect(reasonOf(await sync())).toBe(unsigned(squash));
  });
});

describe("a branch moves only to descendants of what is in force", () => {
  function history(length: number) {
    const alice = makeKey("alice");
    allow(`alice@x ${publicKey(alice)}`);
    const commits = [make({ key: alice })];
    for (let i = 1; i < length; i++) {
      const parents = commits.slice(-1);
      commits.push(make({ ...(i === length - 1 ? { key: alice } : {}), parents, files: { a: `${i}` } }));
    }
    return { alice, commits, first: commits[0] ?? "", last: commits.at(-1) ?? "" };
  }

  test("forward, also when there are more commits than are fetched at first", async () => {
    const { first, last } = history(50);
    pointMain(first);
    const sync = mirrorOf();
    await sync();
    pointMain(last);
    const state = await sync();
    expect(state.problems).toEqual([]);
    expect(baseOf(state)).toBe(last);
  }, 60_000);

  test("not back, and not aside, although the commits are signed", async () => {
    const { alice, first, last } = history(3);
    pointMain(last);
    const sync = mirrorOf();
    await sync();
    const aside = make({ key: alice, parents: [first], files: { a: "aside" } });
    const unrelated = make({ key: alice, files: { a: "unrelated" } });
    for (const other of [first, aside, unrelated]) {
      pointMain(other);
      // Also a master that has no copy of its own yet.
      for (const state of [await sync(), await mirrorOf()({ inForce: () => last })]) {
        expect(reasonOf(state)).toBe(
          `main is at ${other.slice(0, 12)}, which does not descend from ${last.slice(0, 12)} in force within 10,000 commits: move it back, or release it`,
        );
        expect(baseOf(state) ?? last).toBe(last);
      }
      // Control: without signers a force push is followed.
      const followed = mirrorOf();
      expect(baseOf(await followed({ inForce: () => undefined }))).toBe(other);
    }
    pointMain(last);
    expect((await sync()).problems).toEqual([]);
  });
});

describe("tags", () => {
  const sign = (name: string, object: string, key?: string) =>
    must([
      ...["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "gpg.format=ssh"],
      ...(key === undefined ? [] : ["-c", `user.signingKey=${key}`]),
      ...["tag", "--force", "-a", ...(key === undefined ? [] : ["-s"]), "-m", "x", name, object],
    ]);

  test("an annotated one needs a signature of its own, a lightweight one that of its commit", async () => {
    const alice = makeKey("alice");
    allow(`alice@x ${publicKey(alice)}`);
    const [good, bad] = [make({ key: alice }), make({ files: { b: "2" } })];
    pointMain(good);
    must(["git", "tag", "light-good", good]);
    must(["git", "tag", "light-bad", bad]);
    sign("own-good", bad, alice);
    sign("own-bad", good);
    const state = await mirrorOf({ tags: ["*"] })();
    expect([...state.environments.keys()].sort()).toEqual(["base", "light-good", "own-good"]);
    expect(state.problems.map(({ ref }) => ref)).toEqual(["refs/tags/light-bad", "refs/tags/own-bad"]);
    expect(plainGit("tag", "own-good")).toBe(true);
  });

  test("one that is in force does not move, also to a signed commit", async () => {
    const alice = makeKey("alice");
    allow(`alice@x ${publicKey(alice)}`);
    const first = make({ key: alice });
    const second = make({ key: alice, parents: [first], files: { a: "2" } });
    pointMain(second);
    sign("v1", first, alice);
    const sync = mirrorOf({ tags: ["*"] });
    expect((await sync()).environments.get("v1")?.commit).toBe(first);
    sign("v1", second, alice);
    const state = await sync();
    expect(state.environments.get("v1")?.commit).toBe(first);
    expect(reasonOf(state)).toBe(
      `the tag was moved from ${first.slice(0, 12)} to ${second.slice(0, 12)}: move it back, or release it`,
    );
  });
});

test("signatures of other kinds count as none, and run no program of the host", async () => {
  const alice = makeKey("alice");
  allow(`alice@x ${publicKey(alice)}`);
  const good = make({ key: alice });
  const text = must(["git", "cat-file", "commit", good]);
  const marker = join(temporary.path, "ran");
  must(["git", "config", "gpg.program", `touch ${marker}`]);
  const forms = {
    pgp: text.replaceAll("SSH SIGNATURE", "PGP SIGNATURE"),
    x509: text.replaceAll("SSH SIGNATURE", "SIGNED MESSAGE"),
    altered: text.replace("author t ", "author u "),
    twice: text.replace(/(gpgsig [\s\S]*?END SSH SIGNATURE-----\n)/, "$1$1"),
    "in the message": `${text.replace(/gpgsig [\s\S]*?END SSH SIGNATURE-----\n/, "")}\n\n${text.slice(text.indexOf("gpgsig"))}`,
  };
  for (const form of Object.values(forms)) {
    writeFileSync(join(temporary.path, "commit"), `${form}\n`);
    const id = must([
      "git",
      "hash-object",
      "-t",
      "commit",
      "-w",
      "--literally",
      join(temporary.path, "commit"),
    ]);
    pointMain(id);
    rmSync(join(temporary.path, "gitfs"), { recursive: true, force: true });
    expect(reasonOf(await mirrorOf()())).toBe(unsigned(id));
  }
  expect(await Bun.file(marker).exists()).toBe(false);
});
