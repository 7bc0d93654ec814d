import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository, type TestRepository } from "../../../test/harness/git.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { type Git, openGit } from "./git.ts";
import { listTree } from "./list-tree.ts";
import { type Mirror, type MirrorState, openMirror } from "./mirror.ts";

// Repositories that change or break while they are read. Nothing half comes in, and one line says what happens next.

let temporary = temporaryDirectory("git-bad-input");
let remote: TestRepository;
const open: Mirror[] = [];
/** Arguments for the next steps of git that talk to the server, and what happens before them. */
let serverArgs: string[] = [];
let before = (_ref: string) => {};

beforeEach(() => {
  temporary = temporaryDirectory("git-bad-input");
  remote = makeRepository(join(temporary.path, "server"));
  remote.commit("main", { a: "1" });
  serverArgs = [];
  before = () => {};
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

function mirrorOf() {
  const { signal } = new AbortController();
  const real = openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal });
  const git: Git = {
    ...real,
    run(cwd, args, options) {
      const [command = "", ...rest] = args;
      if (command !== "fetch" && command !== "ls-remote") return real.run(cwd, args, options);
      before(command === "fetch" ? (args.at(-1)?.slice(1).split(":")[0] ?? "") : "");
      return real.run(cwd, [command, ...serverArgs, ...rest], options);
    },
  };
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: ["*"], tags: ["*"] },
    {
      ...{ git, dir: join(temporary.path, "gitfs"), maxBytes: 1024 ** 3, maxEnvironments: 200 },
      ...{ sshProgram: "/bin/false", clock: systemClock },
    },
  );
  open.push(mirror);
  return () =>
    mirror.sync({ inForce: () => undefined, released: () => undefined, report: () => {}, othersMs: 60_000 });
}

/** A server that ends the connection after this number of bytes. */
function half(bytes: number): string[] {
  const program = join(temporary.path, "half.ts");
  const path = join(temporary.path, "half");
  writeFileSync(
    program,
    `const server = Bun.spawn(["git-upload-pack", ...process.argv.slice(2)], { stdin: "inherit", stdout: "pipe" });
let left = ${bytes};
for await (const chunk of server.stdout) {
  if (left > 0) await Bun.write(Bun.stdout, chunk.subarray(0, left));
  left -= chunk.length;
  if (left <= 0) break;
}
server.kill();
process.exit(0);
`,
  );
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
  return [`--upload-pack=${path}`];
}

const commitsOf = ({ environments }: MirrorState) =>
  Object.fromEntries([...environments].map(([name, { commit }]) => [name, commit]));
const linesOf = ({ problems }: MirrorState) => problems.map(({ ref, reason }) => `${ref}: ${reason}`);
const noise = () => Buffer.concat([0, 1, 2, 3].map(() => crypto.getRandomValues(new Uint8Array(65_536))));

/** Everything of a mirror that git left unfinished. */
function leftovers(): string[] {
  const [repository = ""] = readdirSync(join(temporary.path, "gitfs"));
  const packs = readdirSync(join(temporary.path, "gitfs", repository, "objects", "pack"));
  return packs.filter((name) => name.startsWith("tmp_"));
}

test("a branch that is deleted between the listing and the fetch keeps its content until the next sync", async () => {
  const first = remote.commit("dev", { a: "dev" });
  remote.commit("other", { a: "other" });
  const sync = mirrorOf();
  await sync();
  remote.commit("dev", { a: "dev 2" });
  const other = remote.commit("other", { a: "other 2" });
  before = (ref) => {
    if (ref === "refs/heads/dev") remote.git("update-ref", "-d", ref);
  };
  const state = await sync();
  expect(linesOf(state)).toEqual([
    "refs/heads/dev: it was deleted while it was read: the next sync tries it again",
  ]);
  expect(commitsOf(state)).toMatchObject({ dev: first, other });
  const after = await sync();
  expect([linesOf(after), after.environments.has("dev")]).toEqual([[], false]);
});

test("a branch that moves between the listing and the fetch has the newer commit", async () => {
  const sync = mirrorOf();
  await sync();
  remote.commit("main", { a: "2" });
  let newest = "";
  before = (ref) => {
    if (ref !== "") newest = remote.commit("main", { a: "3" });
  };
  expect(commitsOf(await sync())).toEqual({ base: newest });
  before = () => {};
  expect(commitsOf(await sync())).toEqual({ base: newest });
});

test("a pack that ends in the middle changes nothing, and is fetched again", async () => {
  const first = remote.git("rev-parse", "main");
  const sync = mirrorOf();
  await sync();
  const second = remote.commit("main", { a: noise() });
  serverArgs = half(100_000);
  const state = await sync();
  expect(linesOf(state)).toEqual([
    expect.stringMatching(/^refs\/heads\/main: git fetch failed: [^\n]+: the next sync tries it again$/),
  ]);
  expect(commitsOf(state)).toEqual({ base: first });
  expect(leftovers()).toEqual([]);
  // Control: the whole of it.
  serverArgs = [];
  const whole = await sync();
  expect([commitsOf(whole), linesOf(whole)]).toEqual([{ base: second }, []]);
});

test("a list of branches that ends in the middle removes none of them", async () => {
  for (let i = 0; i < 40; i++) remote.git("branch", `branch-${i}`, "main");
  const sync = mirrorOf();
  const { environments } = await sync();
  expect(environments.size).toBe(41);
  for (const bytes of [0, 40, 500, 2_000]) {
    serverArgs = half(bytes);
    await expect(sync()).rejects.toThrow(/^git ls-remote failed: /);
  }
  serverArgs = [];
  expect((await sync()).environments).toEqual(environments);
});

test("a link out of the tree is left out, with a line that says what to do", async () => {
  remote.commit("main", { a: "1", link: null });
  const state = await mirrorOf()();
  expect([...(state.environments.get("base")?.files.keys() ?? [])]).toEqual(["a"]);
  expect(state.warnings).toEqual([
    'refs/heads/main: "link": a symbolic link: put the file itself there; not published',
  ]);
});

test("damaged objects are named, with what to do", async () => {
  const commit = remote.git("rev-parse", "main");
  const { signal } = new AbortController();
  const git = openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal });
  const list = (of: string) => listTree(git, { repository: remote.path, commit: of, clock: systemClock });
  expect(await list(commit)).toHaveLength(1);
  await expect(list("f".repeat(40))).rejects.toThrow(
    "its files cannot be listed: objects are missing or damaged: run git fsck in the repository",
  );
});
