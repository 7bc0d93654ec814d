import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { readDecisions } from "./codec.ts";
import { nameOf } from "./decision.ts";
import { openDecisionLog, readDecisionFile } from "./log.ts";
import { planRestore } from "./plan.ts";

const files = temporaryDirectory("decisions");
afterAll(() => files[Symbol.dispose]());
let count = 0;
const fresh = () => join(files.path, `${++count}`, "decisions.log");
const clock = manualClock();
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const put = (key: string, text: string) => ({ bucket: "enrollments" as const, key, value: bytes(text) });

function open(path: string) {
  const log = recordingLog();
  return { log: openDecisionLog(path, { clock, log }), records: log.records };
}

const contents = (log: { known(): Iterable<{ key: string; value: Uint8Array }> }) =>
  Object.fromEntries([...log.known()].map(({ key, value }) => [key, Buffer.from(value).toString()]));

test("a new log is empty and for its owner alone, and keeps what is logged", async () => {
  const path = fresh();
  const { log } = open(path);
  expect(log.size).toBe(0);
  await Promise.all([log.store(put("a", "1")), log.store(put("b", "2")), log.store(put("a", "3"))]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  log.close();
  const again = open(path);
  expect(contents(again.log)).toEqual({ a: "3", b: "2" });
  expect(again.records).toEqual([]);
  again.log.close();
});

test("what is logged is in the file before the call returns, as after a kill", async () => {
  const path = fresh();
  const { log } = open(path);
  await log.store(put("a", "1"));
  // Not closed: nothing may wait in memory.
  expect(readDecisions(readFileSync(path)).decisions).toEqual([{ at: clock.now(), ...put("a", "1") }]);
  log.close();
});

test("an incomplete end is removed and reported, and the next record follows the whole ones", async () => {
  const path = fresh();
  const first = open(path).log;
  await first.store(put("a", "1"));
  await first.store(put("b", "2"));
  first.close();
  writeFileSync(path, readFileSync(path).subarray(0, -3));
  const { log, records } = open(path);
  expect(contents(log)).toEqual({ a: "1" });
  expect(records.map(({ level, event }) => [level, event])).toEqual([
    ["warn", "the end of the log of decisions was incomplete and was removed"],
  ]);
  await log.store(put("c", "3"));
  log.close();
  expect(contents(open(path).log)).toEqual({ a: "1", c: "3" });
});

test("a damaged part in the middle is set aside and reported, and what follows remains", async () => {
  const path = fresh();
  const first = open(path).log;
  for (const key of ["a", "b", "c"]) await first.store(put(key, key));
  first.close();
  const damaged = readFileSync(path);
  const middle = Math.floor(damaged.length / 2);
  damaged[middle] = (damaged[middle] ?? 0) ^ 1;
  writeFileSync(path, damaged);
  const { log, records } = open(path);
  expect(contents(log)).toEqual({ a: "a", c: "c" });
  expect(records.map(({ level }) => level)).toEqual(["error"]);
  const aside = readdirSync(dirname(path)).find((name) => name.includes("damaged"));
  expect(statSync(join(dirname(path), aside ?? "")).mode & 0o777).toBe(0o600);
  await log.store(put("d", "d"));
  log.close();
  const again = open(path);
  expect(contents(again.log)).toEqual({ a: "a", c: "c", d: "d" });
  expect(again.records).toEqual([]);
});

test("a flipped bit in the last record is damage, and not the end of a crash", async () => {
  const path = fresh();
  const first = open(path).log;
  for (const key of ["a", "b"]) await first.store(put(key, key));
  first.close();
  const damaged = readFileSync(path);
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  writeFileSync(path, damaged);
  const { log, records } = open(path);
  expect(contents(log)).toEqual({ a: "a" });
  expect(records.map(({ level, fields }) => [level, fields.parts])).toEqual([["error", 1]]);
  log.close();
});

test("decisions of a kind that this version does not know stay in the log, also when it is compacted", async () => {
  const path = fresh();
  const first = open(path).log;
  await first.store({ bucket: "operators", key: "ops", value: bytes("signed") });
  for (let n = 0; n < 1_100; n++) void first.store(put("a", `${n}`));
  await first.flush();
  expect(first.written).toBeLessThan(1_100);
  first.close();
  const { log } = open(path);
  expect(contents(log)).toEqual({ ops: "signed", a: "1099" });
  const judge = {
    now: 0,
    pendingTtlMs: 0,
    vouched: () => true,
    isGoodOperator: () => true,
    isGoodRelease: () => true,
  };
  const plan = planRestore(log.known(), { enrollments: [], revocations: [] }, judge);
  expect([plan.lost, plan.over.map(({ key }) => key)]).toEqual([[], ["a"]]);
  log.close();
});

test("however often records change, the file is bounded by the number of records, and nothing is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(20), fc.option(fc.string(), { nil: undefined })), {
        maxLength: 3_000,
        minLength: 2_000,
      }),
      async (changes) => {
        const path = fresh();
        const { log } = open(path);
        const expected: Record<string, string> = {};
        for (const [number, text] of changes) {
          const key = `k${number}`;
          if (text === undefined) delete expected[key];
          else expected[key] = Buffer.from(text).toString();
          void log.store(text === undefined ? { bucket: "enrollments", key } : put(key, text));
          if (number === 0) await log.flush();
          expect(log.written).toBeLessThanOrEqual(2 * 21 + 1_000);
        }
        await log.flush();
        log.close();
        const { decisions } = readDecisions(readFileSync(path));
        expect(decisions.length).toBeLessThanOrEqual(2 * 21 + 1_000);
        const again = open(path);
        expect(contents(again.log)).toEqual(expected);
        again.log.close();
      },
    ),
    { numRuns: 5 },
  );
});

test("a disk that refuses is reported; the decision is kept, and written when the disk recovers", async () => {
  const path = fresh();
  let isFull = false;
  const real = await import("node:fs/promises");
  const disk = {
    async write(_: number, data: Uint8Array, position: number) {
      const file = await real.open(path, "r+");
      // A full disk takes a part.
      const part = isFull ? data.subarray(0, 5) : data;
      await file.write(part, 0, part.length, position);
      await file.close();
      if (isFull) throw Object.assign(new Error("full"), { code: "ENOSPC" });
    },
    async sync() {},
  };
  const log = openDecisionLog(path, { clock, log: recordingLog(), disk });
  await log.store(put("a", "1"));
  isFull = true;
  await expect(log.store(put("b", "2"))).rejects.toThrow(
    `${path} cannot be written: no space left on the device`,
  );
  expect(log.failure).toBe("no space left on the device");
  await expect(log.flush()).rejects.toThrow("no space");
  isFull = false;
  await log.flush();
  expect(log.failure).toBeUndefined();
  log.close();
  const again = open(path);
  expect(again.records).toEqual([]);
  expect(contents(again.log)).toEqual({ a: "1", b: "2" });
  again.log.close();
});

test("a copy of a log is read without a change, and another file is refused", async () => {
  const path = fresh();
  const { log } = open(path);
  await log.store(put("a", "1"));
  await log.store(put("a", "2"));
  const before = readFileSync(path);
  expect(readDecisionFile(path).decisions.map(nameOf)).toEqual(["enrollments/a"]);
  expect(readFileSync(path)).toEqual(before);
  log.close();
  writeFileSync(path, "something");
  expect(() => readDecisionFile(path)).toThrow("is not a log of decisions");
  expect(() => readDecisionFile(`${path}.no`)).toThrow("no such file");
});

test("a path that cannot be used is refused with its name", () => {
  const path = fresh();
  mkdirSync(path, { recursive: true });
  expect(() => open(path)).toThrow(`cannot use ${path}: is a directory`);
});
