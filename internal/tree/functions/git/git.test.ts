import { expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository } from "../../../../test/harness/git.ts";
import { applyState, planState, proveHonest, proveIdle } from "../../../../test/harness/honesty.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { gitStates } from "./git.ts";
import { gitConfigStates } from "./git-config.ts";

const latest = [gitStates, "git.latest"] as const;
const cloned = [gitStates, "git.cloned"] as const;

test("a repository is cloned and updated, and local work is not lost", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "clones/app");
  const first = remote.commit("main", { file: "one\n" });
  const plan = await proveHonest(directory.path, ...latest, remote.url, { target });
  expect(plan.changes).toEqual({ [target]: { created: true, url: remote.url, revision: first } });
  expect(readFileSync(join(target, "file"), "utf8")).toBe("one\n");

  const second = remote.commit("main", { file: "two\n" });
  await expect(applyState(...latest, remote.url, { target })).rejects.toThrow("force_reset: true");
  const forced = { target, force_reset: true };
  const update = await proveHonest(directory.path, ...latest, remote.url, forced);
  expect(update.changes).toEqual({ [target]: { revision: { old: first, new: second } } });

  writeFileSync(join(target, "file"), "mine\n");
  writeFileSync(join(target, "untracked"), "mine\n");
  await proveIdle(directory.path, ...latest, remote.url, { target });
  const third = remote.commit("main", { file: "three\n" });
  await expect(planState(...latest, remote.url, { target })).rejects.toThrow("has local changes (file)");
  const reset = await proveHonest(directory.path, ...latest, remote.url, forced);
  expect(reset.changes[target]).toMatchObject({ thrown_away: ["file"], revision: { new: third } });
  expect(existsSync(join(target, "untracked"))).toBe(true);
});

test("tags, branches and commits are checked out, as another user", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  const first = remote.commit("main", { file: "one\n" });
  remote.git("tag", "v1", first);
  const other = remote.commit("other", { file: "other\n" });
  const args = { target, user: "root", force_reset: true };
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "v1", depth: 1 });
  expect(readFileSync(join(target, "file"), "utf8")).toBe("one\n");
  const branch = await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "other" });
  expect(branch.changes).toEqual({
    [target]: { revision: { old: first, new: other }, branch: { old: null, new: "other" } },
  });
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: first });
  await proveIdle(directory.path, ...latest, remote.url, { ...args, rev: first });
  await expect(planState(...latest, remote.url, { ...args, rev: "no" })).rejects.toThrow(
    "has no branch or tag no",
  );
});

test("a shallow clone is updated", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  remote.commit("main", { file: "one\n" });
  const args = { target, depth: 1 };
  await proveHonest(directory.path, ...latest, remote.url, args);
  remote.commit("main", { file: "two\n" });
  await proveHonest(directory.path, ...latest, remote.url, args);
  expect(readFileSync(join(target, "file"), "utf8")).toBe("two\n");
  writeFileSync(join(target, "untracked"), "mine\n");
  remote.commit("main", { file: "two\n", untracked: "theirs\n" });
  await expect(applyState(...latest, remote.url, args)).rejects.toThrow("git checkout");
  expect(readFileSync(join(target, "untracked"), "utf8")).toBe("mine\n");
});

test("the files belong to the user that git runs as", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  remote.commit("main", { file: "one\n" });
  // The user needs access to both the repository and the clone.
  Bun.spawnSync(["chmod", "-R", "a+rX", directory.path]);
  Bun.spawnSync(["chown", "-R", "daemon", join(directory.path, "remote")]);
  const target = join(directory.path, "app");
  await proveHonest(directory.path, ...latest, remote.url, { target, user: "daemon" });
  expect(statSync(join(target, "file")).uid).toBe(statSync(target).uid);
  expect(statSync(target).uid).not.toBe(0);
});

test("an existing directory that is not a clone is not changed", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  remote.commit("main", { file: "one\n" });
  const target = join(directory.path, "app");
  mkdirSync(target);
  writeFileSync(join(target, "mine"), "x");
  await expect(planState(...latest, remote.url, { target })).rejects.toThrow(
    "is not empty and is not a clone",
  );
  await proveHonest(directory.path, ...latest, remote.url, { target, force_clone: true });
  expect(existsSync(join(target, "mine"))).toBe(true);
});

test("a URL or name cannot run a program, and no password is shown", async () => {
  using directory = temporaryDirectory("git");
  const target = join(directory.path, "app");
  const mark = join(directory.path, "ran");
  for (const url of [`ext::sh -c touch% ${mark}`, `--upload-pack=touch ${mark}`]) {
    await expect(planState(...latest, url, { target })).rejects.toThrow();
  }
  expect(existsSync(mark)).toBe(false);
  for (const rev of ["--exec=x", "a..b", "a:b", "+a", "a b"]) {
    await expect(planState(...latest, "file:///no", { target, rev })).rejects.toThrow(
      "rev: expected a valid git name",
    );
  }
  const secret = planState(...latest, "https://me:hush@127.0.0.1:1/x.git", { target });
  await expect(secret).rejects.toThrow(/^(?!.*hush)/);
});

test("a password reaches the server, and neither the clone nor a message", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  remote.commit("main", { file: "one\n" });
  Bun.spawnSync(["git", "update-server-info"], { cwd: remote.path });
  const basic = `Basic ${Buffer.from("app:p@ss hush").toString("base64")}`;
  // The files of the repository, over the protocol of git that needs no program.
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url, headers }) {
      if (headers.get("authorization") !== basic) {
        return new Response("", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
      }
      const path = join(remote.path, new URL(url).pathname.slice(1));
      return existsSync(path) ? new Response(readFileSync(path)) : new Response("", { status: 404 });
    },
  });
  const host = `127.0.0.1:${server.port}/`;
  const given = { https_user: "app", https_pass: "p@ss hush" };
  const ways = [
    [...latest, `http://app:p%40ss%20hush@${host}`, {}] as const,
    [...cloned, `http://${host}`, given] as const,
  ];
  for (const [at, [states, called, url, args]] of ways.entries()) {
    const target = join(directory.path, `app${at}`);
    const plan = await proveHonest(directory.path, states, called, url, { target, ...args });
    expect(plan.changes[target]).toMatchObject({ url: `http://${host}` });
    expect(readFileSync(join(target, "file"), "utf8")).toBe("one\n");
    expect(readFileSync(join(target, ".git/config"), "utf8")).not.toContain("hush");
  }
  const [old, name] = [join(directory.path, "app0"), `http://app:p%40ss%20hush@${host}`];
  Bun.spawnSync(["git", "config", "remote.origin.url", name], { cwd: old });
  const { changes } = await proveHonest(directory.path, ...latest, name, { target: old });
  expect(changes[old]).toEqual({ url: { old: `http://${host}`, new: `http://${host}` } });
  expect(readFileSync(join(old, ".git/config"), "utf8")).not.toContain("hush");
  const wrong = planState(...latest, `http://${host}`, {
    target: "/nonexistent/app",
    ...given,
    https_pass: "other hush",
  });
  await expect(wrong).rejects.toThrow(/^(?!.*hush).*Authentication failed/);
});

test("git does not run as root where another user can replace files", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  remote.commit("main", { file: "one\n" });
  const [home, shared] = [join(directory.path, "home"), join(directory.path, "shared")];
  for (const path of [home, shared]) mkdirSync(path);
  chownSync(home, 1, 1);
  chmodSync(shared, 0o775);
  chmodSync(directory.path, 0o755);
  Bun.spawnSync(["chown", "-R", "1", join(directory.path, "remote")]);
  await applyState(...latest, remote.url, { target: join(home, "app") });
  expect(statSync(join(home, "app/file")).uid).toBe(1);
  const refused = planState(...latest, remote.url, { target: join(shared, "app") });
  await expect(refused).rejects.toThrow("set user to the owner of the files");
  const asRoot = planState(...latest, remote.url, { target: join(home, "other"), user: "root" });
  await expect(asRoot).rejects.toThrow("git does not run as root");
});

test("git.cloned clones once, does not ask the repository before, and checks out a branch", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  const first = remote.commit("main", { file: "one\n" });
  remote.git("tag", "v1", first);
  remote.commit("main", { file: "two\n" });
  const missing = await planState(...cloned, "https://127.0.0.1:1/x", { target });
  expect(missing.changes).toEqual({ [target]: { created: true, url: "https://127.0.0.1:1/x" } });
  const plan = await planState(...cloned, remote.url, { target, branch: "v1" });
  await plan.apply?.();
  expect(readFileSync(join(target, "file"), "utf8")).toBe("one\n");
  await proveIdle(directory.path, ...cloned, remote.url, { target, branch: "v1" });
  await proveIdle(directory.path, ...cloned, remote.url, { target });
  writeFileSync(join(directory.path, "file"), "x");
  await expect(planState(...cloned, remote.url, { target: directory.path })).rejects.toThrow("is not empty");
});

test("options of a repository are set and removed", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const repo = remote.path;
  const set = [gitConfigStates, "git.config_set", "user.email"] as const;
  await proveHonestly({ value: "a@x.test" });
  await proveHonestly({ multivar: ["one", "two"] });
  const unset = [gitConfigStates, "git.config_unset", "user.email"] as const;
  await expect(planState(...unset, { repo })).rejects.toThrow("has 2 values; set all: true");
  await applyState(...unset, { repo, all: true });
  expect((await planState(...unset, { repo })).apply).toBeUndefined();
  for (const name of ["color.ui", "color.diff"]) {
    await applyState(gitConfigStates, "git.config_set", name, { value: "true", repo });
  }
  const many = await applyState(gitConfigStates, "git.config_unset", "color\\..+", { repo });
  expect(Object.keys(many.changes)).toEqual(["color.ui", "color.diff"]);
  await expect(planState(gitConfigStates, "git.config_set", "user", { value: "x", repo })).rejects.toThrow(
    "is not a valid name of an option",
  );
  await expect(planState(...set, { value: "x" })).rejects.toThrow("give either repo, or global: true");
  const stranger = await planState(...set, { value: "x", global: true, user: "nobody-here" });
  await expect(stranger.apply?.()).rejects.toThrow("this host has no user nobody-here");

  async function proveHonestly(args: Record<string, string | string[]>) {
    await applyState(...set, { repo, ...args });
    expect((await planState(...set, { repo, ...args })).apply).toBeUndefined();
  }
});

test.each([
  ["feature", "feature/x"],
  ["feature/x", "feature"],
  ["a/b", "a/b/c/d"],
])("a branch %s that gives way to %s is followed", async (before, after) => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  remote.commit("main", { file: "main\n" });
  remote.commit(before, { file: "old\n" });
  const args = { target, force_reset: true };
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: before });
  remote.git("branch", "-D", before);
  const next = remote.commit(after, { file: "new\n" });
  const plan = await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: after });
  expect(plan.changes[target]).toMatchObject({
    revision: { new: next },
    branch: { old: before, new: after },
  });
  expect(readFileSync(join(target, "file"), "utf8")).toBe("new\n");
  await proveIdle(directory.path, ...latest, remote.url, { ...args, rev: after });
  // Another branch is fetched next, and a commit with everything.
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "main" });
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: next });
});

test("tags that exclude each other, a tag that was a branch, and a branch and a tag of one name", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  const args = { target, force_reset: true };
  const first = remote.commit("main", { file: "one\n" });
  remote.git("tag", "v1", first);
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "v1" });
  remote.git("tag", "-d", "v1");
  const second = remote.commit("main", { file: "two\n" });
  remote.git("tag", "v1/rc", second);
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "v1/rc" });
  expect(readFileSync(join(target, "file"), "utf8")).toBe("two\n");
  const branch = remote.commit("v1/rc", { file: "branch\n" });
  const both = await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "v1/rc" });
  expect(both.changes[target]).toMatchObject({ revision: { new: branch }, branch: { new: "v1/rc" } });
  remote.git("branch", "-D", "v1/rc");
  await proveHonest(directory.path, ...latest, remote.url, { ...args, rev: "v1/rc" });
  expect(readFileSync(join(target, "file"), "utf8")).toBe("two\n");
});

test("a local branch in the way with commits of its own stays, and one of another work tree", async () => {
  using directory = temporaryDirectory("git");
  const remote = makeRepository(join(directory.path, "remote"));
  const target = join(directory.path, "app");
  remote.commit("main", { file: "one\n" });
  await proveHonest(directory.path, ...latest, remote.url, { target, rev: "main" });
  const run = (...argv: string[]) => {
    const who = ["-c", "user.name=t", "-c", "user.email=t@test"];
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", "-C", target, ...who, ...argv]);
    if (exitCode !== 0) throw new Error(`git ${argv.join(" ")}: ${stderr}`);
    return stdout.toString().trim();
  };
  run("branch", "feature");
  run("worktree", "add", "--quiet", join(directory.path, "other"), "feature");
  remote.git("branch", "feature/x", "main");
  const args = { target, rev: "feature/x" };
  await expect(applyState(...latest, remote.url, args)).rejects.toThrow(
    /git branch: .*(checked out|used by worktree) at/,
  );
  run("worktree", "remove", join(directory.path, "other"));
  const tree = run("rev-parse", "HEAD^{tree}");
  run("branch", "--force", "feature", run("commit-tree", "-p", "HEAD", "-m", "mine", tree));
  const mine = run("rev-parse", "feature");
  await expect(applyState(...latest, remote.url, args)).rejects.toThrow(
    "the local branch feature excludes the name feature/x and has commits that no branch of the repository has",
  );
  expect(run("rev-parse", "feature")).toBe(mine);
  await proveHonest(directory.path, ...latest, remote.url, { ...args, force_reset: true });
  expect(run("branch", "--show-current")).toBe("feature/x");
});
