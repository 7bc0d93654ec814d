import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { until } from "../../../test/harness/until.ts";
import { systemRandom } from "../../base/id.ts";
import { deriveSettingsKey, newCurvePair } from "../../identity/mod.ts";
import type { MasterKeyView } from "../keys/other-masters.ts";
import { createDigests, type Place } from "./digest.ts";
import { followComparedFiles } from "./follow.ts";

const seed = newCurvePair(systemRandom);
/** The files are looked at every half minute in any case; a test does not wait for the watch. */
const rescanMs = 30_000;

let made: ReturnType<typeof temporaryDirectory>;
let stack: DisposableStack;
beforeEach(() => {
  made = temporaryDirectory("compared-files");
  stack = new DisposableStack();
  stack.use(made);
});
afterEach(() => stack.dispose());

/** A master with files of its own, which sees the others as their heartbeats report them. */
function masterOf(name: string, clock: ReturnType<typeof manualClock>, key: typeof seed | "none" = seed) {
  const dir = join(made.path, name);
  mkdirSync(join(dir, "settings"), { recursive: true });
  const places: Record<string, Place> = {
    settings: { path: join(dir, "settings"), is: "directory", asSettings: true },
    roles: { path: join(dir, "roles.yaml"), is: "file" },
  };
  const others: MasterKeyView[] = [];
  const own = key === "none" ? undefined : key;
  const publicKeys = own === undefined ? [] : [own.publicKey];
  const compared = followComparedFiles({
    ...{ places, authDir: dir, others: { current: () => others }, clock, log: recordingLog() },
    keys: {
      ...{ current: { current: own, next: undefined }, publicKeys, problem: undefined },
      onChange: () => () => {},
    },
  });
  stack.defer(() => compared.stop());
  const unused = { commandKeys: [], signsWith: "", accountKeys: [], issuesWith: "" };
  return {
    compared,
    write: (file: string, text: string) => writeFileSync(join(dir, file), text),
    remove: (file: string) => rmSync(join(dir, file)),
    path: (file: string) => join(dir, file),
    view: (): MasterKeyView => ({ ...unused, name, settingsKeys: publicKeys, files: compared.report() }),
    sees(...views: MasterKeyView[]) {
      others.splice(0, others.length, ...views);
    },
    /** Resolves when it reports what is on disk now. */
    async reread() {
      const digests = createDigests(deriveSettingsKey(seed, "files"));
      const wanted: [string, Uint8Array][] = [];
      for (const [kind, place] of Object.entries(places)) {
        const digest = await digests.digest(place);
        if (digest !== undefined) wanted.push([kind, digest]);
      }
      clock.advance(rescanMs);
      await until(() => Bun.deepEquals(compared.report(), Object.fromEntries(wanted)));
    },
  };
}

const digestOf = (view: MasterKeyView, kind: string) =>
  Buffer.from(view.files?.[kind] ?? [])
    .toString("hex")
    .slice(0, 4);

test("files that differ for a minute are named on both masters, with both digests, until they are the same", async () => {
  const clock = manualClock();
  const [one, two] = [masterOf("master-1", clock), masterOf("master-2", clock)];
  one.write("roles.yaml", "roles: {a: {}}\n");
  two.write("roles.yaml", "roles: {b: {}}\n");
  await one.reread();
  await two.reread();
  const meet = () => {
    one.sees(two.view());
    two.sees(one.view());
  };
  meet();
  expect([one.compared.check().status, two.compared.check().status]).toEqual(["up", "up"]);
  clock.advance(59_999);
  expect([one.compared.check().status, two.compared.check().status]).toEqual(["up", "up"]);
  clock.advance(1);
  const [here, there] = [digestOf(one.view(), "roles"), digestOf(two.view(), "roles")];
  expect(one.compared.check()).toEqual({
    status: "degraded",
    message: `roles.yaml differs from that of master-2 (${here}… here, ${there}… there)`,
    next: `copy what is right from one master to the other: ${one.path("roles.yaml")}`,
  });
  expect(two.compared.check().message).toBe(
    `roles.yaml differs from that of master-1 (${there}… here, ${here}… there)`,
  );
  two.write("roles.yaml", "roles: {a: {}}\n");
  await two.reread();
  meet();
  expect([one.compared.check(), two.compared.check()]).toEqual([{ status: "up" }, { status: "up" }]);
});

test("a difference that ended in between counts from the beginning, and so does that of a master that was away", async () => {
  const clock = manualClock();
  const [one, two] = [masterOf("master-1", clock), masterOf("master-2", clock)];
  two.write("roles.yaml", "b");
  await two.reread();
  one.sees(two.view());
  expect(one.compared.check().status).toBe("up");
  clock.advance(50_000);
  one.sees();
  expect(one.compared.check().status).toBe("up");
  one.sees(two.view());
  expect(one.compared.check().status).toBe("up");
  clock.advance(50_000);
  expect(one.compared.check().status).toBe("up");
  clock.advance(10_000);
  expect(one.compared.check().message).toMatch(
    /^roles\.yaml differs from that of master-2 \(none here, [0-9a-f]{4}… there\)$/,
  );
});

test("a directory that is missing is one without files, and each file below one counts", async () => {
  const clock = manualClock();
  const [one, two] = [masterOf("master-1", clock), masterOf("master-2", clock)];
  rmSync(two.path("settings"), { recursive: true });
  await one.reread();
  await two.reread();
  one.sees(two.view());
  one.compared.check();
  clock.advance(60_000);
  expect(one.compared.check()).toEqual({ status: "up" });
  one.write("settings/top.sls", "base: {}\n");
  await one.reread();
  one.compared.check();
  clock.advance(60_000);
  expect(one.compared.check().message).toMatch(
    /^settings differs from that of master-2 \([0-9a-f]{4}… here, none there\)$/,
  );
});

test("masters with different keys of settings are named by these, and one that reports nothing is not compared", async () => {
  const clock = manualClock();
  const other = newCurvePair(systemRandom);
  const [one, two] = [masterOf("master-1", clock), masterOf("master-2", clock, other)];
  await until(() => one.compared.report() !== undefined && two.compared.report() !== undefined);
  one.sees(two.view(), { ...two.view(), name: "older", files: undefined, settingsKeys: [] });
  one.compared.check();
  clock.advance(60_000);
  expect(one.compared.check()).toEqual({
    status: "degraded",
    message: `settings.seed differs from that of master-2 (${seed.publicKey.slice(0, 4)}… here, ${other.publicKey.slice(0, 4)}… there)`,
    next: `copy what is right from one master to the other: ${one.path("settings.seed")}`,
  });
});

test("without a key nothing is reported", async () => {
  const clock = manualClock();
  const one = masterOf("master-1", clock, "none");
  clock.advance(rescanMs);
  expect([one.compared.report(), one.compared.check()]).toEqual([undefined, { status: "up" }]);
});
