import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { until } from "../harness/until.ts";

// A repository with 300 branches, of which three are hostile: one is huge, one is broken, and one moves all the time.
// The compiled master publishes the others, and what is pushed to them.

setDefaultTimeout(180_000);

const good = Array.from({ length: 250 }, (_, i) => `env/${i}`);
/** Each of them is fetched by itself. */
const ownCommits = 25;
let bus: TestBus;
let remote: TestRepository;
let master: MasterDaemon;
let isMoving = true;
let moving: Promise<unknown> | undefined;
let moves = 0;

/** Commits each of these texts to a branch of its own, all at once. @returns the commits */
async function pushAll(texts: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const lines = Object.entries(texts).map(([branch, text]) => {
    const files = { "top.sls": "base: {}\n", "web.sls": `${text.replace("/", "-")}: test.nop\n` };
    const entries = Object.entries(files).map(
      ([path, content]) => `M 644 inline ${path}\ndata ${content.length}\n${content}\n`,
    );
    return `commit refs/heads/${branch}\ncommitter t <t@test> ${++moves} +0000\ndata 1\nx\n${entries.join("")}\n`;
  });
  const { exitCode, stderr } = Bun.spawnSync(["git", "fast-import", "--quiet", "--force"], {
    cwd: remote.path,
    stdin: Buffer.from(lines.join("")),
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return Object.fromEntries(
    remote
      .git("for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads")
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
}

/** A tree of 100^4 paths in a few objects. */
function pushHuge(branch: string): void {
  const mktree = (lines: readonly string[]) => {
    const { stdout } = Bun.spawnSync(["git", "mktree"], {
      cwd: remote.path,
      stdin: Buffer.from(lines.join("\n")),
    });
    return stdout.toString().trim();
  };
  const names = Array.from({ length: 100 }, (_, i) => i);
  let found = mktree(names.map((i) => `100644 blob ${remote.git("rev-parse", "main:web.sls")}\tf${i}`));
  for (let level = 0; level < 3; level++) found = mktree(names.map((i) => `040000 tree ${found}\td${i}`));
  const who = ["-c", "user.name=t", "-c", "user.email=t@test"];
  remote.git("update-ref", `refs/heads/${branch}`, remote.git(...who, "commit-tree", "-m", "x", found));
}

beforeAll(async () => {
  bus = await startBus();
  remote = makeRepository(join(bus.dir, "git"));
  mkdirSync(join(bus.dir, "no-states"));
  const unnamed = Array.from({ length: 46 }, (_, i) => `feature-${i}`);
  const own = ["main", ...good.slice(0, ownCommits)];
  await pushAll(Object.fromEntries(own.map((name) => [name, name])));
  // The others are at the same commit, as branches are that somebody just made.
  const main = remote.git("rev-parse", "main");
  const shared = [...good.slice(ownCommits), ...unnamed].map((name) => `create refs/heads/${name} ${main}\n`);
  Bun.spawnSync(["git", "update-ref", "--stdin"], { cwd: remote.path, stdin: Buffer.from(shared.join("")) });
  pushHuge("env/a-huge");
  remote.commit("env/a-broken", { broken: "a text that no other commit has" });
  const object = remote.git("rev-parse", "env/a-broken:broken");
  rmSync(join(remote.path, "objects", object.slice(0, 2), object.slice(2)));
  const ends = ["one", "two"].map((text) =>
    remote.commit("env/a-moving", { "web.sls": `${text}: test.nop\n` }),
  );
  let turns = 0;
  const move = () => {
    if (turns++ % 20 === 0) remote.git("update-ref", "refs/heads/env/a-moving", ends[moves++ % 2] ?? "");
    return !isMoving;
  };
  moving = until(move, Boolean, 600_000);
  master = await startMasterBinary(bus, [
    ...["--states-dir", join(bus.dir, "no-states"), "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    ...["--gitfs-environments", "env/*", "--gitfs-max-environments", "255"],
  ]);
});
afterAll(async () => {
  isMoving = false;
  await moving;
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The commit of each environment that is in force. */
async function inForce(): Promise<Record<string, string>> {
  const { code, stdout } = await svc(bus, "states", "releases", "--output", "json");
  // Before the first publication.
  if (code !== 0) return {};
  const environments = JSON.parse(stdout) as { environment: string; content?: { commit: string } }[];
  return Object.fromEntries(
    environments.map(({ environment, content }) => [environment, content?.commit ?? ""]),
  );
}

async function gitfs(): Promise<{ status: string; message: string }> {
  const { checks } = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
    checks: { gitfs: { status: string; message?: string } };
  };
  return { message: "", ...checks.gitfs };
}

test("the good ones are published, and the hostile ones are named", async () => {
  const found = await until(inForce, (now) => Object.keys(now).length === good.length + 2, 120_000);
  expect(Object.keys(found).sort()).toEqual(["env/a-moving", "base", ...good].sort());
  const { status, message } = await until(
    gitfs,
    (now) => now.message.includes("env/a-huge") && now.message.includes("env/a-broken"),
  );
  expect(status).toBe("degraded");
  expect(message).toContain("refs/heads/env/a-huge: it has more than 100,000 files");
  expect(message).toContain("refs/heads/env/a-broken: git fetch failed: ");
  await until(
    async () => await (await fetch(`${master.healthUrl}/metrics`)).text(),
    (text) => /^svc_gitfs_refused 2$/m.test(text),
  );
});

test("a push arrives in base and in the others, whatever the hostile ones do", async () => {
  const last = good.slice(-3);
  const pushed = await pushAll({
    main: "next",
    ...Object.fromEntries(last.map((name) => [name, `${name} again`])),
  });
  const wanted = { base: pushed.main, ...Object.fromEntries(last.map((name) => [name, pushed[name]])) };
  const found = await until(inForce, (now) =>
    Object.entries(wanted).every(([name, commit]) => now[name] === commit),
  );
  expect(Object.keys(found).sort()).toEqual(["env/a-moving", "base", ...good].sort());
});
