import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { openGit } from "../../internal/tree/git/git.ts";
import { openMirror } from "../../internal/tree/git/mirror.ts";
import { binaries } from "../harness/fleet.ts";
import { makeRepository } from "../harness/git.ts";
import { runProgram } from "../harness/process.ts";
import { sshKeys } from "../harness/ssh-keys.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// The compiled master as the program that git runs to verify a signature.

const temporary = temporaryDirectory("gitfs-signed");
afterAll(() => temporary[Symbol.dispose]());
const remote = makeRepository(join(temporary.path, "server"));
const key = sshKeys(temporary.path).make("ed25519");
const signers = join(temporary.path, "signers");

/** Signs the tree of `main` again, with a date of the committer. */
async function commitAt(date: string): Promise<string> {
  const command = [
    ...["git", "-C", remote.path, "-c", "gpg.format=ssh", "-c", `user.signingKey=${key.path}`],
    ...["-c", "user.name=t", "-c", "user.email=t@test", "commit-tree", "-S", "-m", date, "main^{tree}"],
  ];
  const { code, stdout, stderr } = await runProgram(command, { env: { GIT_COMMITTER_DATE: date } });
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}

async function baseWith(options: string): Promise<string | undefined> {
  writeFileSync(signers, `ann@example.com namespaces="git"${options} ${key.publicKey}\n`);
  const git = openGit({
    ...{ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal: new AbortController().signal },
  });
  const mirror = openMirror(
    { url: remote.url, base: "main", environments: [], tags: [], signers },
    {
      ...{
        git,
        dir: join(temporary.path, `gitfs${options.length}`),
        maxBytes: 1024 ** 3,
        maxEnvironments: 200,
      },
      ...{ sshProgram: binaries.master, clock: systemClock },
    },
  );
  try {
    const options = {
      inForce: () => undefined,
      released: () => undefined,
      report: () => {},
      othersMs: 60_000,
    };
    return (await mirror.sync(options)).environments.get("base")?.commit;
  } finally {
    await mirror.stop();
  }
}

test("the master judges a key at the time of the sync, and not at the date of the committer", async () => {
  remote.commit("main", { a: "1" });
  const commit = await commitAt("2020-01-02T03:04:05Z");
  remote.git("update-ref", "refs/heads/main", commit);
  expect(await baseWith("")).toBe(commit);
  expect(await baseWith(',valid-before="20991231Z"')).toBe(commit);
  expect(await baseWith(',valid-before="20210101"')).toBeUndefined();
  // Control: git alone, with the date that the commit has.
  const options = ["-C", remote.path, "-c", `gpg.ssh.allowedSignersFile=${signers}`];
  expect((await runProgram(["git", ...options, "verify-commit", commit])).code).toBe(0);
});

test("without the time of a sync the executable verifies nothing", async () => {
  const { code, stdout } = await runProgram([binaries.master, "-Y", "find-principals"]);
  expect([code, stdout]).toEqual([1, ""]);
});
