import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentsOf } from "../../../../test/harness/contents.ts";
import { makeRepository, type TestRepository } from "../../../../test/harness/git.ts";
import { commitsIn } from "../../../../test/harness/signed-commits.ts";
import { type SshKey, sshKeys } from "../../../../test/harness/ssh-keys.ts";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { systemClock } from "../../../base/clock.ts";
import { snapshotOf } from "../../files/mod.ts";
import { openGit } from "../git.ts";
import type { Remote } from "../local.ts";
import { type Mirror, type MirrorState, openMirror, type SyncOptions } from "../mirror.ts";
import type { Released } from "./released.ts";

// What operators released, next to what is signed.

const root = join(import.meta.dir, "../../../..");
let temporary = temporaryDirectory("git-released");
let remote: TestRepository;
let make: ReturnType<typeof commitsIn>["make"];
let keys: ReturnType<typeof sshKeys>;
let ann: SshKey;
let first = "";
/** The newest release, and how often files were compared with it. */
let released: Released | undefined;
let compared = 0;
const open: Mirror[] = [];

beforeEach(() => {
  temporary = temporaryDirectory("git-released");
  remote = makeRepository(join(temporary.path, "server"));
  mkdirSync(join(temporary.path, "keys"));
  keys = sshKeys(join(temporary.path, "keys"));
  make = commitsIn(remote).make;
  ann = keys.make("ed25519");
  allow(ann);
  released = undefined;
  compared = 0;
  // In place of the executable of a master.
  const main = join(root, "cmd/svc-master/main.ts");
  const script = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
  writeFileSync(join(temporary.path, "program"), script, { mode: 0o755 });
  first = make({ key: ann, files: { a: "1" } });
  point(first);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((mirror) => mirror.stop()));
  temporary[Symbol.dispose]();
});

const allow = ({ publicKey }: SshKey) =>
  writeFileSync(join(temporary.path, "signers"), `ann@example.com ${publicKey}\n`);
const point = (commit: string, ref = "refs/heads/main") => remote.git("update-ref", ref, commit);
const baseOf = ({ environments }: MirrorState) => environments.get("base")?.commit;
const reasonOf = ({ problems }: MirrorState) => problems[0]?.reason;
const unsigned = (object: string) =>
  `main is at ${object.slice(0, 12)}, signed by no listed key: sign it, or release it`;

function mirrorOf(of: Partial<Remote> = {}) {
  const { signal } = new AbortController();
  const mirror = openMirror(
    {
      ...{ url: remote.url, base: "main", environments: [], tags: [] },
      ...{ signers: join(temporary.path, "signers"), ...of },
    },
    {
      git: openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal }),
      ...{ dir: join(temporary.path, "gitfs"), maxBytes: 1024 ** 3, maxEnvironments: 200 },
      ...{ sshProgram: join(temporary.path, "program"), clock: systemClock },
    },
  );
  open.push(mirror);
  /** As if everything that is good came into force. */
  const inForce = new Map<string, string>();
  return async (options: Partial<SyncOptions> = {}) => {
    const state = await mirror.sync({
      inForce: (environment) => inForce.get(environment),
      ...{ released: () => released, report: () => {}, othersMs: 60_000, ...options },
    });
    for (const [name, { commit }] of state.environments) inForce.set(name, commit);
    return state;
  };
}

/** The next release: exactly these files. */
function release(files: Record<string, string>) {
  const snapshot = snapshotOf(contentsOf(files));
  released = {
    version: (released?.version ?? 0) + 1,
    has(found) {
      compared++;
      return snapshotOf(found) === snapshot;
    },
  };
}

test("a release brings a commit into force that no listed key signed, and no other one", async () => {
  const sync = mirrorOf();
  await sync();
  const bad = make({ parents: [first], files: { a: "2" } });
  point(bad);
  release({ a: "other" });
  expect(baseOf(await sync())).toBe(first);
  expect(reasonOf(await sync())).toBe(unsigned(bad));
  expect(compared).toBe(1);
  release({ a: "2" });
  const state = await sync();
  expect([baseOf(state), state.problems]).toEqual([bad, []]);
  // Control: the next one, which nobody released.
  const next = make({ parents: [bad], files: { a: "3" } });
  point(next);
  const refused = await sync();
  expect([baseOf(refused), reasonOf(refused)]).toEqual([bad, unsigned(next)]);
});

test("a release lets a branch move aside, and history continues from there", async () => {
  const last = make({ key: ann, parents: [first], files: { a: "2" } });
  point(last);
  const sync = mirrorOf();
  await sync();
  const aside = make({ key: ann, parents: [first], files: { a: "aside" } });
  point(aside);
  expect(baseOf(await sync())).toBe(last);
  release({ a: "aside" });
  expect(baseOf(await sync())).toBe(aside);
  point(last);
  expect(reasonOf(await sync())).toContain(`does not descend from ${aside.slice(0, 12)}`);
  const next = make({ key: ann, parents: [aside], files: { a: "4" } });
  point(next);
  expect(baseOf(await sync())).toBe(next);
});

test("a release moves a ref once: what was released last does not come back over what was signed since", async () => {
  release({ a: "1" });
  const sync = mirrorOf();
  expect(baseOf(await sync())).toBe(first);
  const second = make({ key: ann, parents: [first], files: { a: "2" } });
  point(second);
  expect(baseOf(await sync())).toBe(second);
  point(first);
  expect(reasonOf(await sync())).toContain("which does not descend from");
  // Nor in the next process, nor on a master that has no copy of its own.
  const inForce = () => second;
  expect(reasonOf(await mirrorOf()({ inForce }))).toContain("which does not descend from");
  rmSync(join(temporary.path, "gitfs"), { recursive: true });
  const fresh = mirrorOf();
  expect(reasonOf(await fresh({ inForce }))).toContain("which does not descend from");
  // Control: an operator releases the same files again.
  release({ a: "1" });
  expect(baseOf(await fresh({ inForce }))).toBe(first);
});

test("a release lets a tag move", async () => {
  const second = make({ key: ann, parents: [first], files: { a: "2" } });
  point(first, "refs/tags/v1");
  const sync = mirrorOf({ tags: ["*"] });
  await sync();
  point(second, "refs/tags/v1");
  expect((await sync()).environments.get("v1")?.commit).toBe(first);
  release({ a: "2" });
  const state = await sync();
  expect([state.environments.get("v1")?.commit, state.problems]).toEqual([second, []]);
});

test("a release changes nothing while the file lists no signers", async () => {
  const sync = mirrorOf();
  await sync();
  const bad = make({ parents: [first], files: { a: "2" } });
  point(bad);
  release({ a: "2" });
  writeFileSync(join(temporary.path, "signers"), "");
  expect(baseOf(await sync())).toBe(first);
  allow(keys.make("ed25519"));
  expect(baseOf(await sync())).toBe(bad);
});
