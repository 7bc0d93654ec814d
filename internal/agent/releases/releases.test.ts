import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../wire/operator-record.ts";
import { type Release, signRelease } from "../../wire/release.ts";
import { openReleases } from "./open-releases.ts";

const newKey = () => newKeyPair("user", systemRandom);
const [root, second, bobKey, annKey, eveKey] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const account = () => newKeyPair("account", systemRandom).publicKey;
const [fleet, otherFleet] = [account(), account()];
const files = temporaryDirectory("releases");
afterAll(() => files[Symbol.dispose]());
const [snapshot, another] = ["ab".repeat(32), "cd".repeat(32)];
const day = 86_400_000;

let count = 0;
/** A peel with its file, its clock, and what it knows. */
function newPeel({ roles = [] as string[], environments = ["base"] } = {}) {
  const file = join(files.path, `releases-${++count}`);
  const clock = manualClock();
  const known = {
    current: [
      { name: "root", publicKey: root.publicKey },
      { name: "second", publicKey: second.publicKey },
    ],
    fleet: fleet as string | undefined,
  };
  const log = recordingLog();
  const open = () => openReleases({ file, administrators: known, roles, environments, clock, log });
  let own = open();
  return {
    ...{ file, clock, known, log },
    restart() {
      own = open();
    },
    record: (name: string, key: KeyPair, change: Partial<OperatorRecord> = {}, signer = root) =>
      encodeOperator(
        signOperator(
          {
            ...{ name, publicKey: key.publicKey, roles: ["admin"], createdAt: clock.now() },
            ...{ createdBy: "root", version: 1 },
            ...change,
          },
          signer,
        ),
      ),
    release: (change: Partial<Release> = {}, signer = root) =>
      signRelease(
        {
          ...{ fleet, environment: "base", snapshot, version: 1, releasedAt: clock.now(), operator: "root" },
          ...change,
        },
        signer,
      ),
    take: (release?: Uint8Array, ...records: Uint8Array[]) =>
      own.take({ releases: release === undefined ? [] : [release], records }),
    /** Version of the newest one, or why there is none. */
    newest(environment = "base") {
      const found = own.newest(environment);
      return "release" in found ? found.release.version : found.reason;
    },
    allows: (wanted: string, release?: Uint8Array, ...records: Uint8Array[]) =>
      own.allows(
        { environment: "base", snapshot: wanted },
        { releases: release === undefined ? [] : [release], records },
      ),
    current: () => own.current,
    seen: () => [...own.records.values()].map(({ name, version }) => `${name} ${version}`),
  };
}

describe("a release", () => {
  test("of an administrator, or of an operator whose record leads to one, is taken", () => {
    const peel = newPeel();
    expect(peel.take(peel.release())).toBe(true);
    expect(peel.newest()).toBe(1);
    const bob = peel.record("bob", bobKey);
    const ann = peel.record("ann", annKey, { createdBy: "bob" }, bobKey);
    expect(peel.take(peel.release({ version: 2, operator: "ann" }, annKey), ann, bob)).toBe(true);
    expect([peel.newest(), peel.seen().toSorted()]).toEqual([2, ["ann 1", "bob 1"]]);
    expect(peel.current()).toEqual([peel.release({ version: 2, operator: "ann" }, annKey)]);
  });

  const refused: [
    what: string,
    make: (peel: ReturnType<typeof newPeel>) => [Uint8Array, ...Uint8Array[]],
    says: string,
  ][] = [
    ["for another fleet", (peel) => [peel.release({ fleet: otherFleet })], "it is for the fleet"],
    [
      "of another environment",
      (peel) => [peel.release({ environment: "test" })],
      "takes no releases of test (release_environments)",
    ],
    [
      "from the future",
      (peel) => [peel.release({ releasedAt: peel.clock.now() + 61_000 })],
      "is from the future",
    ],
    [
      "of a stranger",
      (peel) => [peel.release({ operator: "eve" }, eveKey)],
      "the operator eve does not exist",
    ],
    ["under another name", (peel) => [peel.release({}, eveKey)], "root has another key"],
    [
      "of a record that a stranger signed",
      (peel) => [peel.release({ operator: "eve" }, eveKey), peel.record("eve", eveKey, {}, eveKey)],
      "is not signed by an administrator",
    ],
    [
      "of a role that may not",
      (peel) => [
        peel.release({ operator: "ann" }, annKey),
        peel.record("ann", annKey, { roles: ["operator"] }),
      ],
      "ann has no role that may release for this peel: admin",
    ],
    [
      "of an operator whose time has ended",
      (peel) => [
        peel.release({ operator: "ann" }, annKey),
        peel.record("ann", annKey, { expiresAt: peel.clock.now() }),
      ],
      "ann ended at",
    ],
    [
      "of one who is disabled",
      (peel) => [peel.release({ operator: "ann" }, annKey), peel.record("ann", annKey, { disabled: true })],
      "ann is disabled, and released base up to version 0",
    ],
  ];
  test.each(refused)("%s is refused, and does not run", (_, make, says) => {
    const peel = newPeel();
    const [release, ...records] = make(peel);
    peel.take(release, ...records);
    expect(peel.current()).toEqual([]);
    expect(peel.log.records.map(({ event }) => event)).toEqual(["a release is refused"]);
    const allowed = peel.allows(snapshot, release, ...records);
    expect(JSON.stringify([allowed, peel.log.records])).toContain(says);
    expect(allowed).not.toBe(true);
    // The control: the same peel takes a good one.
    expect(peel.take(peel.release())).toBe(true);
  });

  test("with any bit of it changed is refused", () => {
    const peel = newPeel();
    const good = peel.release();
    for (let bit = 0; bit < good.length * 8; bit += 5) {
      const changed = Uint8Array.from(good);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      peel.take(changed);
    }
    expect(peel.current()).toEqual([]);
    expect(peel.take(good)).toBe(true);
  });

  test("of a role of release_roles is taken where the peel lists it", () => {
    const peel = newPeel({ roles: ["releaser"], environments: ["base", "stage-*"] });
    const ann = peel.record("ann", annKey, { roles: ["releaser"] });
    const staged = peel.release({ operator: "ann", environment: "stage-1" }, annKey);
    expect(peel.take(staged, ann)).toBe(true);
    expect([peel.newest("stage-1"), peel.newest()]).toEqual([1, undefined]);
  });
});

describe("the greatest version", () => {
  test("stays, also after a restart, and nothing takes its place but a greater one", () => {
    const peel = newPeel();
    const old = peel.release({ version: 6, snapshot: another });
    peel.take(peel.release({ version: 7 }));
    for (const restarted of [false, true]) {
      if (restarted) peel.restart();
      expect([peel.take(old), peel.newest()]).toEqual([false, 7]);
      expect([peel.take(peel.release({ version: 7, snapshot: another })), peel.newest()]).toEqual([false, 7]);
      // A signed request may still name the older one, and moves nothing.
      expect([peel.allows(another, old), peel.newest()]).toEqual([true, 7]);
      expect(peel.allows(another)).toEqual({ reason: undefined });
    }
    expect([peel.take(peel.release({ version: 8, snapshot: another })), peel.newest()]).toEqual([true, 8]);
    expect(peel.allows(snapshot)).toBe(true);
  });

  test("is of one fleet: a peel that joins another one begins again", () => {
    const peel = newPeel();
    peel.take(peel.release({ version: 7 }));
    peel.known.fleet = otherFleet;
    expect([peel.newest(), peel.current()]).toEqual([undefined, []]);
    expect(peel.take(peel.release({ fleet: otherFleet }))).toBe(true);
    expect(peel.newest()).toBe(1);
    peel.known.fleet = fleet;
    expect(peel.newest()).toBe(7);
  });

  test("of a damaged file is not known, so nothing runs until someone decides", () => {
    const peel = newPeel();
    peel.take(peel.release({ version: 7 }));
    writeFileSync(peel.file, readFileSync(peel.file).subarray(0, 100));
    peel.restart();
    expect(peel.newest()).toContain("cannot be read");
    expect(peel.take(peel.release({ version: 8 }))).toBe(false);
    expect(JSON.stringify(peel.log.records)).toContain("delete it");
  });
});

describe("when it is judged", () => {
  test("the time of an operator counts when the release came first, and not later", () => {
    const peel = newPeel();
    const ann = peel.record("ann", annKey, { expiresAt: peel.clock.now() + day });
    const release = peel.release({ operator: "ann", version: 3 }, annKey);
    peel.take(release, ann);
    peel.clock.advance(2 * day);
    peel.restart();
    expect(peel.newest()).toBe(3);
    expect(peel.allows(snapshot, release)).toBe(true);
    // A new one comes too late.
    expect(peel.take(peel.release({ operator: "ann", version: 4 }, annKey))).toBe(false);
  });

  test("a clock that is behind takes nothing, and what it refused counts once it is right", () => {
    const peel = newPeel();
    const release = peel.release({ releasedAt: peel.clock.now() + 30 * day });
    expect(peel.take(release)).toBe(false);
    peel.clock.advance(30 * day);
    expect(peel.take(release)).toBe(true);
  });

  test("a clock that is ahead refuses an operator whose time has ended by it, and takes it once it is right", () => {
    const peel = newPeel();
    const ann = peel.record("ann", annKey, { expiresAt: peel.clock.now() + day });
    const release = peel.release({ operator: "ann" }, annKey);
    peel.clock.advance(2 * day);
    expect(peel.take(release, ann)).toBe(true);
    expect(peel.current()).toEqual([]);
    peel.clock.advance(-2 * day);
    expect([peel.take(release, ann), peel.newest()]).toEqual([true, 1]);
  });

  test("an administrator who is not one any more has released nothing, and no older one takes its place", () => {
    const peel = newPeel();
    peel.take(peel.release({ version: 1 }));
    peel.take(peel.release({ version: 2, operator: "second" }, second));
    peel.known.current = [{ name: "root", publicKey: root.publicKey }];
    expect(peel.newest()).toContain("release 2 of base does not count: the operator second does not exist");
    expect(peel.take(peel.release({ version: 2 }))).toBe(false);
    expect([peel.take(peel.release({ version: 3 })), peel.newest()]).toEqual([true, 3]);
  });
});

describe("records of operators", () => {
  test("only become newer, and only by someone who may sign them", () => {
    const peel = newPeel();
    peel.take(undefined, peel.record("ann", annKey, { version: 2, disabled: true }));
    expect(peel.seen()).toEqual(["ann 2"]);
    // The version before, which a thief has, and one that a thief made.
    peel.take(undefined, peel.record("ann", annKey));
    peel.take(undefined, peel.record("ann", annKey, { version: 9 }, eveKey));
    peel.restart();
    expect(peel.seen()).toEqual(["ann 2"]);
    expect(peel.take(peel.release({ operator: "ann" }, annKey), peel.record("ann", annKey))).toBe(false);
    // The control: an administrator enables her again.
    const enabled = peel.record("ann", annKey, { version: 3 });
    expect(peel.take(peel.release({ operator: "ann" }, annKey), enabled)).toBe(true);
  });

  test("of a disabled operator say which of its releases stay", () => {
    const peel = newPeel({ environments: ["*"] });
    const ann = peel.record("ann", annKey);
    const byAnn = (version: number, environment = "base") =>
      peel.release({ operator: "ann", version, environment, snapshot: another }, annKey);
    peel.take(peel.release({ version: 4 }));
    peel.take(byAnn(5), ann);
    // Signed by a thief with her key, after the last one that anyone saw.
    peel.take(byAnn(6));
    peel.take(byAnn(1, "test"));
    expect([peel.newest(), peel.newest("test")]).toEqual([6, 1]);
    peel.take(undefined, peel.record("ann", annKey, { version: 2, disabled: true, released: { base: 5 } }));
    peel.restart();
    expect([peel.newest(), peel.newest("test")]).toEqual([5, undefined]);
    expect([peel.take(byAnn(7)), peel.allows(another, byAnn(5))]).toEqual([false, true]);
    expect([peel.take(peel.release({ version: 6 })), peel.newest()]).toEqual([true, 6]);
  });

  test("without limits nothing of a disabled operator stays", () => {
    const peel = newPeel();
    peel.take(peel.release({ version: 1 }));
    peel.take(peel.release({ version: 2, operator: "ann" }, annKey), peel.record("ann", annKey));
    peel.take(undefined, peel.record("ann", annKey, { version: 2, disabled: true }));
    expect(peel.newest()).toBe(1);
  });

  test("of a removed operator say which of its releases stay, also when another one has the name", () => {
    const removed = { version: 2, disabled: true, released: { base: 5 } } as const;
    const byAnn = (peel: ReturnType<typeof newPeel>, version: number, key = annKey) =>
      peel.release({ operator: "ann", version, snapshot: another }, key);
    // A peel that was there, one that comes back when all is over, and one that joins later.
    for (const knows of ["all", "the first", "nothing"]) {
      const peel = newPeel();
      if (knows !== "nothing") peel.take(byAnn(peel, 5), peel.record("ann", annKey));
      const last = peel.record("ann", annKey, removed);
      const next = peel.record("ann", eveKey, { version: 3 });
      if (knows === "all") peel.take(undefined, last);
      peel.take(knows === "nothing" ? byAnn(peel, 5) : undefined, next, last);
      peel.restart();
      expect([peel.newest(), peel.seen()]).toEqual([5, ["ann 3", "ann 2"]]);
      expect([peel.take(byAnn(peel, 6)), peel.allows(another, byAnn(peel, 4))]).toEqual([false, true]);
      // The key of the one before does not act for the one who has the name now.
      expect(peel.take(peel.release({ operator: "ann", version: 7 }, bobKey))).toBe(false);
      expect([peel.take(byAnn(peel, 6, eveKey)), peel.newest()]).toEqual([true, 6]);
      // Nor does an earlier last record come back, and one that is forged counts nowhere.
      peel.take(undefined, peel.record("ann", annKey, { version: 1, disabled: true, released: { base: 9 } }));
      peel.take(
        undefined,
        peel.record("ann", annKey, { ...removed, version: 8, released: { base: 9 } }, eveKey),
      );
      peel.take(undefined, peel.record("ann", bobKey, { version: 1 }));
      peel.restart();
      expect(peel.seen()).toEqual(["ann 3", "ann 2"]);
      peel.take(undefined, peel.record("ann", eveKey, { version: 4, disabled: true, released: { base: 6 } }));
      expect([peel.newest(), peel.take(byAnn(peel, 7, eveKey))]).toEqual([6, false]);
    }
  });

  test("of an administrator of the list count only when another one of the list signed them", () => {
    const peel = newPeel();
    const bob = peel.record("bob", bobKey);
    const off = { version: 1, disabled: true, createdBy: "x" } as const;
    peel.take(undefined, bob, peel.record("second", second, off, bobKey));
    peel.take(undefined, peel.record("second", second, off, second));
    expect(peel.seen()).toEqual(["bob 1"]);
    expect(peel.take(peel.release({ operator: "second" }, second))).toBe(true);
    peel.take(undefined, peel.record("second", second, { ...off, released: { base: 1 } }, root));
    expect([peel.newest(), peel.take(peel.release({ operator: "second", version: 2 }, second))]).toEqual([
      1,
      false,
    ]);
  });
});

test("what was taken is whole after a kill -9 at any moment", async () => {
  const peel = newPeel();
  const credentials = { administrators: peel.known, seed: root.seed, fleet };
  const script = join(import.meta.dir, "..", "..", "..", "test", "harness", "take-releases-main.ts");
  let last = 0;
  for (let round = 0; round < 6; round++) {
    const child = Bun.spawn(
      [process.execPath, script, peel.file, JSON.stringify({ ...credentials, from: last })],
      {
        stdout: "pipe",
      },
    );
    let text = "";
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.split("\n").length > 10 + 7 * round) child.kill("SIGKILL");
    }
    await child.exited;
    // A line is written when a release is taken; of the last one it may be cut off.
    const said = Number(text.split("\n").at(-2));
    peel.clock.advance(systemClock.now() - peel.clock.now());
    peel.restart();
    expect(peel.newest()).toBeGreaterThanOrEqual(said);
    expect(said).toBeGreaterThan(last);
    last = Number(peel.newest());
  }
  // What a killed process leaves is another file, which the next start of a peel removes.
  expect(readdirSync(files.path)).toContain(`releases-${count}`);
}, 30_000);
