import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { snapshotOf } from "../files/mod.ts";
import { readCheckout } from "./read-checkout.ts";

const root = mkdtempSync(join(tmpdir(), "svc-checkout-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const clock = systemClock;
const { signal } = new AbortController();
const read = (directory: string, commit?: string) =>
  readCheckout(directory, { commit, maxBytes: 1024 * 1024, clock, signal });

function git(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...args], { cwd, env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

function workTree(name: string) {
  const directory = join(root, name);
  mkdirSync(join(directory, "web"), { recursive: true });
  writeFileSync(join(directory, "top.sls"), "base: {'*': [web]}\n");
  writeFileSync(join(directory, "web/init.sls"), "a: test.nop\n");
  chmodSync(join(directory, "web/init.sls"), 0o755);
  git(directory, "init", "-q", "-b", "main");
  const commit = () => {
    git(directory, "add", "-A");
    git(directory, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a");
    return git(directory, "rev-parse", "HEAD");
  };
  return { directory, commit, first: commit() };
}

test("a work tree gives the blobs of HEAD, and the same files as the directory without Git", async () => {
  const { directory, first } = workTree("same");
  symlinkSync("top.sls", join(directory, "link.sls"));
  const plain = join(root, "plain");
  mkdirSync(join(plain, "web"), { recursive: true });
  for (const path of ["top.sls", "web/init.sls"])
    Bun.spawnSync(["cp", "-p", join(directory, path), join(plain, path)]);
  rmSync(join(directory, "link.sls"));
  const found = await read(directory);
  expect([found.commit, [...found.files.keys()].sort()]).toEqual([first, ["top.sls", "web/init.sls"]]);
  const scanned = await read(plain);
  expect([scanned.commit, snapshotOf(scanned.files)]).toEqual([undefined, snapshotOf(found.files)]);
  // A directory of it gives what is below that.
  expect([...(await read(join(directory, "web"))).files.keys()]).toEqual(["init.sls"]);
});

test("a change that Git does not ignore is refused by name, and an ignored file is not read", async () => {
  const { directory, commit, first } = workTree("changed");
  writeFileSync(join(directory, ".gitignore"), "*.tmp\n");
  const second = commit();
  writeFileSync(join(directory, "web/a.tmp"), "x");
  expect((await read(directory)).files.has("web/a.tmp")).toBe(false);
  writeFileSync(join(directory, "web/new file.sls"), "x");
  writeFileSync(join(directory, "top.sls"), "changed");
  await expect(read(directory)).rejects.toMatchObject({
    kind: "conflict",
    message: expect.stringContaining("not committed: top.sls, web/new file.sls;"),
  });
  // What a commit has does not depend on what is on disk.
  expect((await read(directory, "HEAD")).commit).toBe(second);
  expect((await read(directory, first.slice(0, 10))).commit).toBe(first);
  await expect(read(directory, "f".repeat(40))).rejects.toMatchObject({ kind: "not_found" });
  await expect(read(directory, "--all")).rejects.toMatchObject({ kind: "not_found" });
});

test("a directory without Git has no commits, and one that is missing is named", async () => {
  const plain = mkdtempSync(join(root, "none-"));
  await expect(read(plain, "HEAD")).rejects.toThrow("not a Git work tree");
  await expect(read(join(plain, "gone"))).rejects.toThrow("gone does not exist");
});
