import { afterEach, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Mirror, MirrorState, SyncOptions } from "./mirror.ts";
import { type GitSync, startGitSync } from "./sync.ts";

const intervalMs = 300_000;
const running: GitSync[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((sync) => sync.stop()));
});

function stateOf(files: Record<string, string>, commit = "1"): MirrorState {
  const environment = { ref: "refs/heads/main", commit: commit.repeat(40), files: contentsOf(files) };
  return { environments: new Map([["base", environment]]), problems: [], warnings: [], confirmed: true };
}

function mirrorOf(remote: string) {
  const mirror = {
    remote,
    now: (): MirrorState => stateOf({ a: "1" }),
    kept: (): MirrorState => ({ environments: new Map(), problems: [], warnings: [], confirmed: false }),
    sync: async (_: SyncOptions): Promise<MirrorState> => mirror.now(),
    load: async (): Promise<MirrorState> => mirror.kept(),
    stop: async () => {},
  };
  return mirror;
}

function start(...mirrors: Mirror[]) {
  const clock = manualClock();
  const log = recordingLog();
  let changes = 0;
  const stopping = new AbortController();
  const sync = startGitSync({
    mirrors,
    intervalMs,
    inForce: () => undefined,
    released: () => undefined,
    onChange: () => changes++,
    clock,
    jitter: () => 0.5,
    log,
    signal: stopping.signal,
  });
  running.push(sync);
  return { clock, log, sync, stopping, changes: () => changes };
}

test("reads immediately and then at each interval; reports only changes", async () => {
  const mirror = mirrorOf("one");
  const good = stateOf({ a: "1" });
  mirror.now = () => good;
  const { clock, sync, changes } = start(mirror);
  expect(sync.problem()).toContain("no successful sync of one yet");
  await sync.syncNow();
  expect(sync.problem()).toBeUndefined();
  expect(changes()).toBe(1);
  mirror.now = () => stateOf({ a: "2" });
  clock.advance(intervalMs);
  await sync.syncNow();
  expect(changes()).toBeGreaterThan(1);
});

test("a failing remote keeps its content, and is reported after three intervals", async () => {
  const [one, two] = [mirrorOf("one"), mirrorOf("two")];
  const { clock, log, sync } = start(one, two);
  await sync.syncNow();
  two.now = () => {
    throw new Error("connection refused");
  };
  for (let i = 0; i < 3; i++) {
    clock.advance(intervalMs);
    await sync.syncNow();
  }
  expect(sync.problem()).toBeUndefined();
  clock.advance(1_000);
  await sync.syncNow();
  expect(sync.problem()).toContain("two");
  expect(sync.problem()).toContain("connection refused");
  expect(sync.states()[1]?.environments.has("base")).toBe(true);
  expect(sync.states()[1]?.confirmed).toBe(true);
  expect(log.records.some(({ level }) => level === "warn")).toBe(true);
  two.now = () => stateOf({ a: "back" });
  await sync.syncNow();
  expect(sync.problem()).toBeUndefined();
});

test("a remote that hangs keeps no other one from being read at each interval", async () => {
  const [hanging, other] = [mirrorOf("hanging"), mirrorOf("other")];
  const forever = Promise.withResolvers<never>();
  hanging.sync = () => forever.promise;
  let reads = 0;
  other.sync = async () => stateOf({ a: `${++reads}` });
  const { clock, sync } = start(hanging, other);
  for (let round = 1; round <= 3; round++) {
    // Of the one that does not hang: until its next interval.
    await clock.asleep();
    expect(reads).toBe(round);
    clock.advance(intervalMs);
  }
  await clock.asleep();
  expect(sync.states()[1]?.environments.get("base")?.files.get("a")?.size).toBe(1);
  expect(sync.problem()).toContain("no successful sync of hanging yet");
  forever.reject(new Error("stopped"));
});

test("a remote that was never read has the state of the local mirror, unconfirmed", async () => {
  const mirror = mirrorOf("one");
  mirror.now = () => {
    throw new Error("no route");
  };
  mirror.kept = () => ({ ...stateOf({ a: "kept" }), confirmed: false });
  const { sync } = start(mirror);
  await sync.syncNow();
  expect(sync.states()[0]).toMatchObject({ confirmed: false });
  expect(sync.states()[0]?.environments.has("base")).toBe(true);
  expect(sync.problem()).toContain("no route");
});

const problem = (name: string, isKept = true) => ({
  ...{ ref: `refs/heads/${name}`, environment: name, reason: "it is larger than 1GiB", isKept },
});

test("refs that are not used are named with their reason, and those without content are held", async () => {
  const mirror = mirrorOf("one");
  mirror.now = () => ({
    ...stateOf({ a: "1" }),
    problems: [problem("x"), problem("base"), problem("y", false)],
  });
  const { sync, log } = start(mirror);
  await sync.syncNow();
  expect(sync.problem()).toContain("one refs/heads/x: it is larger than 1GiB");
  expect([...(sync.states()[0]?.held ?? [])]).toEqual(["x"]);
  expect(log.records.filter(({ level }) => level === "warn")).toHaveLength(3);
  mirror.now = () => ({
    ...stateOf({ a: "1" }),
    problems: ["a", "b", "c", "d"].map((name) => problem(name)),
  });
  await sync.syncNow();
  expect(sync.problem()).toEndWith("; and 1 more: see svc status");
  expect(sync.problems()).toHaveLength(4);
  mirror.now = () => stateOf({ a: "1" });
  await sync.syncNow();
  expect(sync.problem()).toBeUndefined();
});

test("what a sync has read counts before it ends, and the rest stays until it is read", async () => {
  const mirror = mirrorOf("one");
  const [base, dev] = [stateOf({ a: "1" }), stateOf({ a: "dev" })];
  const devFiles = dev.environments.get("base");
  if (devFiles === undefined) throw new Error("no files");
  mirror.now = () => ({
    ...base,
    environments: new Map([...base.environments, ["dev", devFiles]]),
    problems: [problem("x")],
  });
  const { sync } = start(mirror);
  await sync.syncNow();
  const next = stateOf({ a: "2" }, "2");
  mirror.sync = async ({ report }) => {
    report({ ...next, confirmed: new Set(["base"]) });
    const [state] = sync.states();
    expect(state?.environments.get("base")?.commit).toBe("2".repeat(40));
    expect(state?.environments.get("dev")).toBe(devFiles);
    expect(state?.confirmed).toBe(true);
    expect(sync.problem()).toContain("refs/heads/x");
    return next;
  };
  await sync.syncNow();
  expect([...(sync.states()[0]?.environments.keys() ?? [])]).toEqual(["base"]);
  expect(sync.problem()).toBeUndefined();
});

test("warnings are logged once, and the sync ends with its signal", async () => {
  const mirror = mirrorOf("one");
  const good = { ...stateOf({ a: "1" }), warnings: ["refs/heads/x: odd"] };
  mirror.now = () => good;
  const { log, sync, stopping } = start(mirror);
  for (let i = 0; i < 3; i++) await sync.syncNow();
  expect(log.records.filter(({ fields }) => fields.warning === "refs/heads/x: odd")).toHaveLength(1);
  expect(sync.running).toBe(true);
  stopping.abort(new Error("over"));
  await sync.stop();
  expect(sync.running).toBe(false);
});
