import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { decode } from "../../base/msgpack.ts";
import type { EndedRun } from "../../host/modules/mod.ts";
import { noMask } from "../masking/mask.ts";
import { reportRuns } from "./report-runs.ts";
import { sendReports } from "./send-reports.ts";
import { openWaitingReports, reportsDirectory } from "./waiting-reports.ts";

const files = temporaryDirectory("reports");
afterAll(() => files[Symbol.dispose]());
let count = 0;
const running: { stop(): void }[] = [];
afterEach(() => {
  for (const sending of running.splice(0)) sending.stop();
});

const minute = 60_000;
const reportSubject = "$KV.compliance.web-1";
const diffsSubject = "$KV.compliance-diffs.web-1";
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const stored = () => Promise.resolve(json({ stream: "KV_compliance", seq: 1 }));
const refused = () => Promise.resolve(json({ error: { code: 503, description: "no space left" } }));
const silent = () => Promise.reject(new Error("503"));

const run = (ok: number, more: Partial<EndedRun> = {}): EndedRun => ({
  ...{ startedAt: ok, duration_ms: 1, environment: "base", test: false, not_run: 0 },
  states: Array.from({ length: ok }, (_, at) => ({
    ...{ id: `${at}`, function: "test.nop", name: "", file: "", line: 0 },
    ...{ result: true, changes: {}, comment: "", duration_ms: 0 },
  })),
  ...more,
});
const drifted = (): EndedRun => {
  const [first, ...others] = run(2).states;
  return run(2, { states: first === undefined ? [] : [{ ...first, changes: { a: "b" } }, ...others] });
};

function reporting(
  options: { connected?: boolean; answer?: () => Promise<Uint8Array>; permitted?: boolean } = {},
) {
  const dataDir = join(files.path, `${++count}`);
  mkdirSync(dataDir);
  const dir = reportsDirectory(dataDir);
  const clock = manualClock();
  const log = recordingLog();
  const reports = openWaitingReports(dir, log);
  const end = reportRuns(reports, () => noMask, log);
  const state = { connected: true, answer: stored, permitted: true, ...options };
  const requested: { subject: string; ok: unknown }[] = [];
  const connects = new Set<() => void>();
  const start = () => {
    const sending = sendReports({
      connection: {
        get connected() {
          return state.connected;
        },
        request(subject, data) {
          requested.push({ subject, ok: (decode(data) as Record<string, unknown>).ok });
          return state.answer();
        },
        onConnect(check) {
          connects.add(check);
          if (state.connected) check();
          return () => connects.delete(check);
        },
      },
      ...{ peelId: "web-1", reports, dir, clock, jitter: () => 0.5, log },
      mayPublish: () => state.permitted,
    });
    running.push(sending);
  };
  const onDisk = () => {
    try {
      return readdirSync(dir);
    } catch {
      return [];
    }
  };
  return {
    ...{ dir, clock, log, reports, end, state, requested, start, onDisk },
    connect: () => {
      for (const check of connects) check();
    },
  };
}

test("a report waits on the disk for the owner alone, until the bus has stored it", async () => {
  const { dir, end, state, requested, start, onDisk, connect } = reporting({ connected: false });
  start();
  end(run(1));
  await settle();
  expect([requested, onDisk()]).toEqual([[], ["000000000001.msgpack"]]);
  const modes = [dir, join(dir, "000000000001.msgpack")].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
  state.connected = true;
  connect();
  await settle();
  expect([requested, onDisk()]).toEqual([[{ subject: reportSubject, ok: 1 }], []]);
  connect();
  await settle();
  expect(requested).toHaveLength(1);
});

test("of several that wait the newest one wins, whatever the clock says", async () => {
  const { end, requested, start, onDisk } = reporting();
  end(run(3, { startedAt: 9_000_000_000_000 }));
  end(run(2, { startedAt: 0 }));
  expect(onDisk()).toHaveLength(1);
  start();
  await settle();
  expect(requested).toEqual([{ subject: reportSubject, ok: 2 }]);
});

test("a report of this process is sent at once", async () => {
  const { end, requested, start, onDisk } = reporting();
  start();
  end(run(4));
  await settle();
  expect(requested).toEqual([{ subject: reportSubject, ok: 4 }]);
  expect(onDisk()).toEqual([]);
});

test("a report of a call on the host is found without being told", async () => {
  const { dir, clock, log, requested, start } = reporting();
  start();
  reportRuns(openWaitingReports(dir, log), () => noMask, log)(run(4));
  clock.advance(minute);
  await settle();
  expect(requested).toEqual([{ subject: reportSubject, ok: 4 }]);
});

test("one that is kept while another is sent stays, and is sent after it", async () => {
  const slow = Promise.withResolvers<Uint8Array>();
  const { end, requested, start, onDisk, state } = reporting({ answer: () => slow.promise });
  end(run(1));
  start();
  await settle();
  end(run(2));
  state.answer = stored;
  slow.resolve(await stored());
  await settle();
  expect(requested.map(({ ok }) => ok)).toEqual([1, 2]);
  expect(onDisk()).toEqual([]);
});

test.each([
  ["a refusal of the storage", refused],
  ["masters that do not answer", silent],
])("after %s it is sent again, later each time", async (_, answer) => {
  const { clock, end, requested, start, onDisk, state } = reporting({ answer });
  end(run(1));
  start();
  await settle();
  for (let hour = 0; hour < 60; hour++) {
    clock.advance(minute);
    await settle();
  }
  expect(requested.length).toBeGreaterThan(5);
  expect(requested.length).toBeLessThan(25);
  expect(onDisk()).toHaveLength(1);
  state.answer = stored;
  clock.advance(5 * minute);
  await settle();
  expect(onDisk()).toEqual([]);
});

test("credentials that do not permit it are not tried, and new ones are used at once", async () => {
  const { log, end, requested, start, state, connect } = reporting({ permitted: false });
  end(run(1));
  start();
  connect();
  connect();
  await settle();
  expect(requested).toEqual([]);
  expect(log.records.map(({ level }) => level)).toEqual(["info"]);
  state.permitted = true;
  connect();
  await settle();
  expect(requested).toHaveLength(1);
});

test("differences go first, and keep no report back when the storage refuses them", async () => {
  const { end, requested, start, onDisk, state } = reporting();
  end(drifted());
  state.answer = () => (requested.at(-1)?.subject === diffsSubject ? refused() : stored());
  start();
  await settle();
  expect(requested.map(({ subject }) => subject)).toEqual([diffsSubject, reportSubject]);
  expect(onDisk()).toEqual([]);
});

test("a damaged file is dropped, and a directory that cannot be written fails no run", async () => {
  const { dir, log, reports, end, onDisk } = reporting();
  mkdirSync(dir);
  writeFileSync(join(dir, "000000000007.msgpack"), "no report");
  writeFileSync(join(dir, "000000000008.msgpack"), Buffer.alloc(1024 * 1024));
  writeFileSync(join(dir, ".000000000009.msgpack.tmp"), "half");
  expect(reports.newest()).toBeUndefined();
  end(run(1));
  expect(onDisk().filter((name) => !name.startsWith("."))).toEqual(["000000000001.msgpack"]);
  const other = reporting();
  writeFileSync(other.dir, "a file where the directory was to be");
  other.end(run(1));
  expect([...log.records, ...other.log.records].every(({ level }) => level === "error")).toBe(true);
  expect(other.log.records.length).toBeGreaterThan(0);
});
