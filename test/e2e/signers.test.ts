import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { newOperator, writeOperatorFile } from "../harness/operators.ts";
import { newPerson, type Person } from "../harness/person.ts";
import { runProgram } from "../harness/process.ts";
import { listAdministrators } from "../harness/registered.ts";
import { commitsIn } from "../harness/signed-commits.ts";
import { sshKeys } from "../harness/ssh-keys.ts";
import { until } from "../harness/until.ts";

// A fleet whose repository needs signed commits, with the compiled programs. Who pushes has everything but the keys of
// the signers. Each refusal has a control: the same files, signed or released, come into force.

setDefaultTimeout(120_000);

let bus: TestBus;
let remote: TestRepository;
let commits: ReturnType<typeof commitsIn>;
let keys: ReturnType<typeof sshKeys>;
let ann: ReturnType<typeof keys.make>;
let master: MasterDaemon;
let peel: Daemon;
let carl: Person;
let out = "";
let signers = "";
/** What is in force, and how often the files changed. */
let last = "";
let version = 0;

const tree = (text: string) => ({
  "top.sls": "base:\n  '*': [web]\n",
  "web.sls": `${join(out, "web")}:\n  file.managed:\n    - contents: ${text}\n`,
});
const next = () => tree(`version-${++version}`);
const listed = (...lines: string[]) => writeFileSync(signers, lines.map((line) => `${line}\n`).join(""));
const lineOf = (key: { publicKey: string }, options = "") =>
  `someone@example.com namespaces="git"${options} ${key.publicKey}`;
const point = (commit: string, ref = "refs/heads/main") => remote.git("update-ref", ref, commit);
const short = (commit: string) => commit.slice(0, 12);

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  signers = join(bus.dir, "signers");
  for (const name of ["out", "no-states", "keys"]) mkdirSync(join(bus.dir, name));
  remote = makeRepository(join(bus.dir, "git"));
  commits = commitsIn(remote);
  keys = sshKeys(join(bus.dir, "keys"));
  ann = keys.make("ed25519");
  listed(lineOf(ann));
  last = commits.make({ files: next(), key: ann });
  point(last);
  const root = newOperator("root");
  listAdministrators(bus.authDir, root);
  master = await startMaster();
  carl = await newPerson(bus, writeOperatorFile(bus, root), "carl", ["admin"]);
  peel = startPeelBinary(bus, master.url, "web-1.example");
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await carl.svc("enroll", "list", "--output", "json")).stdout);
  expect((await carl.svc("enroll", "approve", pending.id)).code).toBe(0);
  await peel.program.waitFor("peel connected");
  await arrives(last);
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

function startMaster(...more: string[]): Promise<MasterDaemon> {
  const flags = ["--states-dir", join(bus.dir, "no-states"), ...more];
  return startMasterBinary(bus, flags, {}, [], {}, undefined, {
    gitfs: { remotes: [{ url: remote.url, tags: ["v*"], signers }], interval: "1s" },
  });
}

async function gitfs(): Promise<{ status: string; message: string }> {
  const { checks } = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
    checks: { gitfs: { status: string; message?: string } };
  };
  return { message: "", ...checks.gitfs };
}

/** What masters say of an environment. */
async function standingOf(environment: string) {
  const { code, stdout } = await carl.svc("states", "releases", "--output", "json");
  // Before the first publication.
  if (code !== 0) return undefined;
  const environments = JSON.parse(stdout) as Standing[];
  return environments.find((one) => one.environment === environment);
}

interface Standing {
  environment: string;
  content?: { commit: string };
  /** What waits for a release, where nothing else comes into force. */
  candidate?: { content: { commit: string } };
}

/** The commit of an environment that is in force. */
const inForce = async (environment = "base") => (await standingOf(environment))?.content?.commit;

async function arrives(commit: string, environment?: string): Promise<void> {
  await until(
    () => inForce(environment),
    (found) => found === commit,
  );
  if (environment === undefined) last = commit;
  expect((await until(gitfs, ({ status }) => status === "up")).message).toBe("ok");
}

/** Waits for the reason, and expects that nothing else came into force. */
async function stays(
  reason: string,
  environment = "base",
  commit: string | undefined = environment === "base" ? last : undefined,
): Promise<void> {
  const { status, message } = await until(gitfs, (found) => found.message.includes(reason));
  expect(status).toBe("degraded");
  expect(message).toContain(reason);
  expect(await inForce(environment)).toBe(commit);
}

const unsigned = (object: string, name = "main") =>
  `${name} is at ${short(object)}, signed by no listed key: sign it, or release it`;

test("signed files run; what nobody signed does not, and every place where one looks says why", async () => {
  const run = () => carl.svc("run", "web-1.example", "state.highstate");
  // Until the peel has its settings.
  await until(run, ({ code }) => code === 0);
  expect(readFileSync(join(out, "web"), "utf8").trim()).toBe("version-1");
  const bad = commits.make({ files: next(), parents: [last] });
  point(bad);
  await stays(`refs/heads/main: ${unsigned(bad)}`);
  expect(await run()).toMatchObject({ code: 0 });
  expect(readFileSync(join(out, "web"), "utf8").trim()).toBe("version-1");
  for (const command of ["status", "doctor"]) {
    const shown = await until(
      () => carl.svc(command),
      ({ stdout, stderr }) => (stdout + stderr).includes(unsigned(bad)),
    );
    expect(shown.stdout + shown.stderr).toContain(unsigned(bad));
  }
  const good = commits.make({ files: tree(`version-${version}`), parents: [bad], key: ann });
  point(good);
  await arrives(good);
  expect(await run()).toMatchObject({ code: 0 });
  expect(readFileSync(join(out, "web"), "utf8").trim()).toBe(`version-${version}`);
});

describe("a commit does not come into force", () => {
  const asPgp = (commit: string) =>
    commits.write(
      `${remote.git("cat-file", "commit", commit)}\n`.replaceAll("SSH SIGNATURE", "PGP SIGNATURE"),
    );
  const forms: Record<string, () => string> = {
    "with the signature of a key that is not listed": () =>
      commits.make({ files: next(), parents: [last], key: keys.make("ed25519") }),
    "with the signature of a key that has ended, whatever date it claims": () => {
      const bert = keys.make("ed25519");
      listed(lineOf(ann), lineOf(bert, ',valid-before="20210101"'));
      const commit = commits.make({
        ...{ files: next(), parents: [last], key: bert, date: "2020-01-02T03:04:05Z" },
      });
      // Git alone believes the date.
      const options = ["-C", remote.path, "-c", `gpg.ssh.allowedSignersFile=${signers}`];
      const { exitCode } = Bun.spawnSync(["git", ...options, "verify-commit", commit]);
      expect(exitCode).toBe(0);
      return commit;
    },
    "with a signature of PGP": () => asPgp(commits.make({ files: next(), parents: [last], key: ann })),
    "as the squash of a forge": () => commits.make({ files: next(), parents: [last] }),
    "as a merge that changes a file": () => {
      const side = commits.make({ files: next(), parents: [last], key: ann });
      return commits.make({ files: next(), parents: [last, side] });
    },
  };
  test.each(Object.keys(forms))("%s", async (form) => {
    const bad = forms[form]?.() ?? "";
    point(bad);
    await stays(unsigned(bad));
    // Control: exactly these files.
    const good = commits.make({ files: tree(`version-${version}`), parents: [last], key: ann });
    point(good);
    await arrives(good);
    listed(lineOf(ann));
  });
});

test("a merge by a forge that adds nothing counts as its signed parent", async () => {
  const side = commits.make({ files: next(), parents: [last], key: ann });
  point(commits.make({ files: tree(`version-${version}`), parents: [last, side] }));
  await arrives(side);
});

/** Releases exactly these files, from a checkout of its own. */
async function release(commit: string, environment = "base"): Promise<void> {
  const checkout = join(carl.home, `checkout-${commit}`);
  for (const command of [
    ["git", "clone", "--quiet", remote.path, checkout],
    ["git", "-C", checkout, "checkout", "--quiet", commit],
  ]) {
    expect((await runProgram(command)).code).toBe(0);
  }
  const words = [
    "states",
    "release",
    "--environment",
    environment,
    "--tree",
    checkout,
    "--accept-sources",
    "--yes",
  ];
  const cautious = await carl.svc(...words);
  expect([cautious.code, cautious.stderr]).toEqual([1, expect.stringContaining("add --unpublished")]);
  expect(await carl.svc(...words, "--unpublished")).toMatchObject({ code: 0 });
}

test("a commit that nobody signed comes into force when an operator releases it", async () => {
  const squash = commits.make({ files: next(), parents: [last] });
  point(squash);
  await stays(unsigned(squash));
  await release(squash);
  await arrives(squash);
});

test("a branch that is forced back or aside stays, until an operator releases that", async () => {
  const before = commits.make({ files: next(), parents: [last], key: ann });
  const newest = commits.make({ files: next(), parents: [before], key: ann });
  for (const commit of [before, newest]) {
    point(commit);
    await arrives(commit);
  }
  const aside = commits.make({ files: next(), parents: [before], key: ann });
  for (const commit of [before, aside]) {
    point(commit);
    await stays(`main is at ${short(commit)}, which does not descend from ${short(newest)} in force`);
  }
  await release(aside);
  await arrives(aside);
});

test("a tag does not move, until an operator releases that", async () => {
  const moved = commits.make({ files: next(), parents: [last], key: ann });
  point(last, "refs/tags/v1");
  await arrives(last, "v1");
  commits.tag("v2", last, keys.make("ed25519"));
  await stays(unsigned(remote.git("rev-parse", "refs/tags/v2"), "v2"), "v2");
  commits.tag("v2", last, ann);
  await arrives(last, "v2");
  // Of an environment that masters do not have yet.
  const squash = commits.make({ files: next(), parents: [last] });
  point(squash, "refs/tags/v3");
  await stays(unsigned(squash, "v3"), "v3");
  await release(squash, "v3");
  await arrives(squash, "v3");
  const first = last;
  point(moved, "refs/tags/v1");
  const reason = `the tag was moved from ${short(first)} to ${short(moved)}: move it back, or release it`;
  await stays(reason, "v1", first);
  await release(moved, "v1");
  await arrives(moved, "v1");
});

test("without signers nothing new comes into force, and a key that is exchanged counts at once", async () => {
  const waiting = commits.make({ files: next(), parents: [last], key: ann });
  rmSync(signers);
  point(waiting);
  await stays(`nothing new counts: the signers in ${signers} cannot be read: no such file`);
  listed("# nobody");
  await stays(`nothing new counts: ${signers} lists no signers`);
  const dora = keys.make("ed25519");
  listed(lineOf(dora));
  await stays(unsigned(waiting));
  const after = commits.make({ files: next(), parents: [waiting], key: dora });
  point(after);
  await arrives(after);
  // What is in force stays when its key is no longer listed.
  listed(lineOf(ann));
  const stale = commits.make({ files: next(), parents: [last], key: dora });
  point(stale);
  await stays(unsigned(stale));
  const signed = commits.make({ files: tree(`version-${version}`), parents: [last], key: ann });
  point(signed);
  await arrives(signed);
});

test("a master that takes over, without a copy of the repository, keeps the same commit in force", async () => {
  const bad = commits.make({ files: next(), parents: [last] });
  point(bad);
  await stays(unsigned(bad));
  const before = master;
  master = await startMaster();
  await before[Symbol.asyncDispose]();
  await stays(unsigned(bad));
  const good = commits.make({ files: tree(`version-${version}`), parents: [bad], key: ann });
  point(good);
  await arrives(good);
});

test("where only released files come into force, a commit that nobody signed is not even a candidate", async () => {
  const before = master;
  master = await startMaster("--states-require-release");
  await before[Symbol.asyncDispose]();
  const candidate = async () => (await standingOf("base"))?.candidate?.content.commit;
  const signed = commits.make({ files: next(), parents: [last], key: ann });
  point(signed);
  await until(candidate, (found) => found === signed);
  // What was released last takes the place of what was only signed since.
  const overtaken = last;
  last =
    (await until(
      () => inForce(),
      (found) => found !== overtaken,
    )) ?? "";
  const bad = commits.make({ files: next(), parents: [signed] });
  point(bad);
  await stays(unsigned(bad));
  expect(await candidate()).toBe(signed);
  await release(bad);
  await arrives(bad);
  // Control: a signed one is a candidate again, and waits.
  const good = commits.make({ files: next(), parents: [bad], key: ann });
  point(good);
  await until(candidate, (found) => found === good);
  expect(await inForce()).toBe(bad);
});
