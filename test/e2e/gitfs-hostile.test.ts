import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { until } from "../harness/until.ts";

// Someone who may push branches and tags to the repository of a fleet, but not to the branch that is `base`. Each
// attack has a control: the same push to a ref that may be used arrives.

setDefaultTimeout(120_000);

let bus: TestBus;
let remote: TestRepository;
let master: MasterDaemon;
let peel: Daemon;
let out = "";

/** A tree whose state `web` writes this text. */
const tree = (text: string) => ({
  "top.sls": "base:\n  '*': [web]\n",
  "web.sls": `${join(out, "web")}:\n  file.managed:\n    - contents: ${text}\n`,
});
const written = () => (existsSync(join(out, "web")) ? readFileSync(join(out, "web"), "utf8").trim() : "");
const run = (...args: string[]) => svc(bus, "run", "web-1.example", ...args);

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  mkdirSync(out);
  mkdirSync(join(bus.dir, "no-states"));
  remote = makeRepository(join(bus.dir, "git"));
  remote.commit("master", tree("good-1"));
  master = await startMasterBinary(bus, [
    ...["--states-dir", join(bus.dir, "no-states"), "--gitfs-remotes", remote.url, "--gitfs-interval", "1s"],
    ...["--gitfs-base", "master", "--gitfs-environments", "release/*", "--gitfs-tags", "v[0-9]"],
    ...["--gitfs-max-bytes", "2MiB"],
  ]);
  peel = startPeelBinary(bus, master.url, "web-1.example");
  await peel.program.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  expect((await svc(bus, "enroll", "approve", id)).code).toBe(0);
  await peel.program.waitFor("peel connected");
  await becomes("good-1");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Runs what is in force until it writes this text. */
async function becomes(text: string, ...args: string[]): Promise<void> {
  await until(
    async () => {
      await run("state.apply", "web", ...args);
      return written();
    },
    (found) => found === text,
    60_000,
  );
}

/** Pushes the next good commit to `base`, and waits for it: everything that was pushed before was read as well. */
let version = 1;
async function nextArrives(): Promise<void> {
  const text = `good-${++version}`;
  remote.commit("master", tree(text));
  await becomes(text);
}

async function gitfs(): Promise<{ status: string; message?: string }> {
  const { checks } = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
    checks: { gitfs: { status: string; message?: string } };
  };
  return checks.gitfs;
}

test("pushed branches main and base do not take base from the configured branch", async () => {
  remote.commit("main", tree("evil"));
  remote.commit("base", tree("evil"));
  remote.git("tag", "base", "refs/heads/main");
  remote.git("tag", "master", "refs/heads/main");
  await nextArrives();
  expect((await run("state.highstate")).code).toBe(0);
  expect(written()).toBe(`good-${version}`);
  expect(await gitfs()).toEqual({ status: "up", message: "ok", latency_ms: expect.any(Number) } as never);
});

test("a pushed branch or tag is an environment only if a pattern names it", async () => {
  remote.commit("evil", tree("evil"));
  remote.git("tag", "evil-tag", "refs/heads/evil");
  remote.commit("release/1", tree("release"));
  remote.git("tag", "v1", "refs/heads/release/1");
  await nextArrives();
  for (const name of ["evil", "evil-tag", "main", "master"]) {
    const refused = await run("state.apply", "web", `environment=${name}`);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain(`environment "${name}" does not exist`);
  }
  expect(written()).toBe(`good-${version}`);
  // Control: those that a pattern names.
  await becomes("release", "environment=release/1");
  await becomes(`good-${version}`);
  await becomes("release", "environment=v1");
});

/** A tree of 100^4 paths in a few objects. */
function pushBomb(branch: string): void {
  const mktree = (lines: readonly string[]) => {
    const { stdout } = Bun.spawnSync(["git", "mktree"], {
      cwd: remote.path,
      stdin: Buffer.from(lines.join("\n")),
    });
    return stdout.toString().trim();
  };
  const names = Array.from({ length: 100 }, (_, i) => i);
  let found = mktree(names.map((i) => `100644 blob ${remote.git("rev-parse", "master:web.sls")}\tf${i}`));
  for (let level = 0; level < 3; level++) found = mktree(names.map((i) => `040000 tree ${found}\td${i}`));
  const who = ["-c", "user.name=t", "-c", "user.email=t@test"];
  remote.git("update-ref", `refs/heads/${branch}`, remote.git(...who, "commit-tree", "-m", "x", found));
}

test("branches that are huge, broken or move all the time stop no other one, and are named", async () => {
  remote.commit("release/1", tree("before"));
  await becomes("before", "environment=release/1");
  pushBomb("release/1");
  const noise = Array.from({ length: 96 }, () => crypto.getRandomValues(new Uint8Array(65_536)));
  remote.commit("release/large", { large: Buffer.concat(noise) });
  remote.commit("release/broken", { broken: "a text that no other commit has" });
  const object = remote.git("rev-parse", "release/broken:broken");
  rmSync(join(remote.path, "objects", object.slice(0, 2), object.slice(2)));
  const [one, two] = [tree("one"), tree("two")].map((files) => remote.commit("release/moving", files));
  let moves = 0;
  let isMoving = true;
  const moving = until(() => {
    remote.git("update-ref", "refs/heads/release/moving", (moves++ % 2 === 0 ? one : two) ?? "");
    return !isMoving;
  });
  for (let i = 0; i < 2; i++) await nextArrives();
  isMoving = false;
  await moving;
  const { status, message = "" } = await until(
    gitfs,
    (found) => found.message?.includes("release/large") === true,
  );
  expect(status).toBe("degraded");
  for (const reason of [
    "refs/heads/release/1: it has more than 100,000 files",
    "refs/heads/release/large: it is larger than 2MiB (gitfs.max_bytes)",
    "refs/heads/release/broken: git fetch failed",
  ]) {
    expect(message).toContain(reason);
  }
  const shown = await until(
    async () => (await svc(bus, "status")).stdout,
    (text) => text.includes("refs/heads/release/1"),
  );
  expect(shown).toContain("it has more than 100,000 files");
  expect(await (await fetch(`${master.healthUrl}/metrics`)).text()).toMatch(/^svc_gitfs_refused 3$/m);
  // The last good content of a branch that became too large.
  await becomes("before", "environment=release/1");
  expect((await run("state.apply", "web", "environment=release/large")).code).not.toBe(0);
  // Control: without these branches there is nothing to report.
  for (const name of ["1", "large", "broken"]) remote.git("update-ref", "-d", `refs/heads/release/${name}`);
  await until(gitfs, (found) => found.status === "up");
  expect((await run("state.apply", "web", "environment=release/1")).code).not.toBe(0);
});

test("a base branch that is deleted keeps its last content, until it is back", async () => {
  const commit = remote.git("rev-parse", "master");
  await becomes(`good-${version}`);
  remote.git("update-ref", "-d", "refs/heads/master");
  const { status, message } = await until(
    gitfs,
    (found) => found.message?.includes("refs/heads/master") === true,
  );
  expect(status).toBe("degraded");
  expect(message).toContain("the branch is gone");
  // Control: other branches are read on. This one stopped at either of its two commits.
  await becomes(
    remote.git("show", "release/moving:web.sls").split("contents: ")[1] ?? "",
    "environment=release/moving",
  );
  await becomes(`good-${version}`);
  remote.git("update-ref", "refs/heads/master", commit);
  await nextArrives();
  expect((await gitfs()).status).toBe("up");
});
