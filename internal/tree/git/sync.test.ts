import { afterEach, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Mirror, MirrorState } from "./mirror.ts";
import { type GitSync, startGitSync } from "./sync.ts";

const intervalMs = 300_000;
const running: GitSync[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((sync) => sync.stop()));
});

function stateOf(files: Record<string, string>, commit = "1"): MirrorState {
  const environment = { ref: "refs/heads/main", commit: commit.repeat(40), files: contentsOf(files) };
  return { environments: new Map([["base", environment]]), warnings: [] };
}

function mirrorOf(remote: string) {
  const mirror = {
    remote,
    now: (): MirrorState => stateOf({ a: "1" }),
    kept: (): MirrorState => ({ environments: new Map(), warnings: [] }),
    sync: async (): Promise<MirrorState> => mirror.now(),
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

test("a remote that was never read has the state of the local mirror, unconfirmed", async () => {
  const mirror = mirrorOf("one");
  mirror.now = () => {
    throw new Error("no route");
  };
  mirror.kept = () => stateOf({ a: "kept" });
  const { sync } = start(mirror);
  await sync.syncNow();
  expect(sync.states()[0]).toMatchObject({ confirmed: false });
  expect(sync.states()[0]?.environments.has("base")).toBe(true);
  expect(sync.problem()).toContain("no route");
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
