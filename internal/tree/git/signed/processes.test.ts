import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeRepository, type TestRepository } from "../../../../test/harness/git.ts";
import { commitsIn } from "../../../../test/harness/signed-commits.ts";
import { type SshKey, sshKeys } from "../../../../test/harness/ssh-keys.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { systemClock } from "../../../base/clock.ts";
import { type Git, openGit } from "../git.ts";
import { type Mirror, openMirror } from "../mirror.ts";

// What signatures cost: git itself writes down each of its processes.

const root = join(import.meta.dir, "../../../..");
let temporary = temporaryDirectory("git-processes");
let remote: TestRepository;
let make: ReturnType<typeof commitsIn>["make"];
let ann: SshKey;
const open: Mirror[] = [];

beforeEach(() => {
  temporary = temporaryDirectory("git-processes");
  remote = makeRepository(join(temporary.path, "server"));
  make = commitsIn(remote).make;
  mkdirSync(join(temporary.path, "keys"));
  ann = sshKeys(join(temporary.path, "keys")).make("ed25519");
  writeFileSync(join(temporary.path, "signers"), `ann@example.com ${ann.publicKey}\n`);
  const main = join(root, "cmd/svc-master/main.ts");
  const script = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
  writeFileSync(join(temporary.path, "program"), script, { mode: 0o755 });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

/** A mirror whose syncs return how many processes of git ran, those of the server included, and what was verified. */
function mirrorOf(name: string, isSigned: boolean) {
  const trace = join(temporary.path, `${name}.trace`);
  const { signal } = new AbortController();
  const real = openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal });
  const traced = { GIT_TRACE2_EVENT: trace };
  const git: Git = {
    ...real,
    env: { ...real.env, ...traced },
    run: (cwd, args, options) => real.run(cwd, args, { ...options, env: traced }),
    attempt: (cwd, args, options) =>
      real.attempt(cwd, args, { ...options, env: { ...options?.env, ...traced } }),
  };
  const mirror = openMirror(
    {
      ...{ url: remote.url, base: "main", environments: [], tags: [] },
      ...(isSigned ? { signers: join(temporary.path, "signers") } : {}),
    },
    {
      ...{ git, dir: join(temporary.path, name), maxBytes: 1024 ** 3, maxEnvironments: 200 },
      ...{ sshProgram: join(temporary.path, "program"), clock: systemClock },
    },
  );
  open.push(mirror);
  let inForce: string | undefined;
  return async () => {
    rmSync(trace, { force: true });
    const options = { inForce: () => inForce, released: () => undefined, report: () => {}, othersMs: 60_000 };
    inForce = (await mirror.sync(options)).environments.get("base")?.commit;
    const lines = existsSync(trace) ? readFileSync(trace, "utf8").trim().split("\n") : [];
    const started = lines.flatMap((line) => {
      const { event, argv = [] } = JSON.parse(line) as { event: string; argv?: string[] };
      return event === "start" ? [argv] : [];
    });
    const verified = started.filter((argv) => argv.includes("verify-commit")).length;
    return { commit: inForce, processes: started.length, verified };
  };
}

test("a signature costs one process of git for each new commit, and none without a new one", async () => {
  let last = make({ key: ann, files: { a: "1" } });
  remote.git("update-ref", "refs/heads/main", last);
  const [plain, signed] = [mirrorOf("plain", false), mirrorOf("signed", true)];
  await plain();
  await signed();
  expect(await signed()).toMatchObject({ commit: last, verified: 0 });
  for (const text of ["2", "3"]) {
    last = make({ key: ann, parents: [last], files: { a: text } });
    remote.git("update-ref", "refs/heads/main", last);
    const [without, withSigners] = [await plain(), await signed()];
    expect(without).toEqual({ commit: last, processes: expect.any(Number), verified: 0 });
    expect(without.processes).toBeGreaterThan(2);
    expect(withSigners).toMatchObject({ commit: last, verified: 1 });
    expect(withSigners.processes).toBeLessThanOrEqual(without.processes + 1);
  }
  // A merge that counts as its parent costs no more.
  const side = make({ key: ann, parents: [last], files: { a: "4" } });
  remote.git("update-ref", "refs/heads/main", make({ parents: [last, side], files: { a: "4" } }));
  const [without, withSigners] = [await plain(), await signed()];
  expect(withSigners).toMatchObject({ commit: side, verified: 1 });
  expect(withSigners.processes).toBeLessThanOrEqual(without.processes + 1);
}, 60_000);
