import { afterAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decodeSequence } from "../../base/msgpack.ts";
import { openDedup } from "./dedup.ts";

const files = temporaryDirectory("dedup");
afterAll(() => files[Symbol.dispose]());
const capacity = 100;
let count = 0;

function place() {
  const dir = join(files.path, `${++count}`);
  mkdirSync(dir);
  const path = join(dir, "peel-dedup.msgpack");
  const clock = manualClock();
  const log = recordingLog();
  const open = () => openDedup({ path, capacity, clock, log });
  const inAMinute = () => clock.now() + 60_000;
  const job = () => newId("job", clock.now(), systemRandom);
  return { dir, path, clock, log, open, inAMinute, job };
}

test("a job is new once, also after a restart; the file is for the owner alone, and not there before a job is", () => {
  const { open, path, inAMinute } = place();
  const first = open();
  expect(existsSync(path)).toBe(false);
  expect([first.accept("a", inAMinute()), first.accept("a", inAMinute())]).toEqual(["new", "seen"]);
  expect((statSync(path).mode & 0o777).toString(8)).toBe("600");
  first.close("a", inAMinute(), "done");
  first.accept("b", inAMinute());
  first.close("c", inAMinute(), "cancelled");
  first.stop();
  const second = open();
  for (const jid of ["a", "b", "c"]) expect(second.accept(jid, inAMinute())).toBe("seen");
  expect(second.unfinished()).toMatchObject([
    { jid: "b", entry: { state: "accepted", deadline: inAMinute() } },
  ]);
});

test("any decoder of MessagePack reads the file", () => {
  const { open, path, inAMinute, clock } = place();
  const dedup = open();
  dedup.accept("a", inAMinute());
  dedup.close("a", inAMinute(), "done");
  const [deadline, at] = [inAMinute(), clock.now()].map((ms) => new Date(ms).toISOString());
  expect(decodeSequence(readFileSync(path)).map(({ value }) => value)).toEqual([
    { jid: "a", state: "accepted", deadline, at, sum: expect.any(Number) },
    { jid: "a", state: "done", deadline, at, sum: expect.any(Number) },
  ] as never);
});

test("once it is stopped nothing is written, and nothing may run", () => {
  const { open, path, inAMinute } = place();
  const dedup = open();
  dedup.accept("a", inAMinute());
  const before = readFileSync(path);
  dedup.stop();
  dedup.close("a", inAMinute(), "done");
  expect(() => dedup.accept("b", inAMinute())).toThrow("the peel is stopping");
  expect(readFileSync(path)).toEqual(before);
});

describe("no more are remembered than its capacity:", () => {
  const fill = (dedup: ReturnType<typeof openDedup>, deadline: number, state?: "done") => {
    for (let i = 0; i < capacity; i++) {
      dedup.accept(`job-${i}`, deadline);
      if (state !== undefined) dedup.close(`job-${i}`, deadline, state);
    }
  };

  test("before their deadline none is forgotten, and another job is refused", () => {
    const { open, clock, inAMinute } = place();
    const dedup = open();
    const deadline = inAMinute();
    fill(dedup, deadline, "done");
    clock.advance(59_999);
    expect(dedup.accept("more", inAMinute())).toBe("full");
    clock.advance(1);
    expect(dedup.accept("more", inAMinute())).toBe("new");
    expect([dedup.has("job-0"), dedup.has("job-1"), dedup.has("more")]).toEqual([false, true, true]);
  });

  test("one without an end is never forgotten", () => {
    const { open, clock, inAMinute } = place();
    const dedup = open();
    fill(dedup, inAMinute());
    clock.advance(3600_000);
    expect(dedup.accept("more", inAMinute())).toBe("full");
    dedup.close("job-7", clock.now() - 1, "done");
    expect(dedup.accept("more", inAMinute())).toBe("new");
    expect(dedup.has("job-7")).toBe(false);
  });

  test("one that was forgotten stays closed when the clock is set back, and after a restart", () => {
    const { open, clock, inAMinute, path, log } = place();
    const first = open();
    const deadline = inAMinute();
    fill(first, deadline, "done");
    clock.advance(60_000);
    // Enough to remove all of them and compact the file.
    for (let i = 0; i < capacity; i++) {
      first.accept(`later-${i}`, inAMinute());
      first.close(`later-${i}`, inAMinute(), "done");
    }
    expect(first.has("job-0")).toBe(false);
    first.stop();
    expect(decodeSequence(readFileSync(path)).length).toBeLessThan(3 * capacity);
    clock.advance(-59_000);
    for (const dedup of [first, open()]) {
      for (let i = 0; i < capacity; i++) {
        expect(["over", "seen"]).toContain(dedup.accept(`job-${i}`, deadline));
      }
    }
    expect(log.records).toEqual([]);
  });
});

describe("damage:", () => {
  const withJobs = () => {
    const at = place();
    const jobs = Array.from({ length: 20 }, at.job);
    const dedup = at.open();
    for (const jid of jobs) {
      dedup.accept(jid, at.inAMinute());
      dedup.close(jid, at.inAMinute(), "done");
    }
    dedup.stop();
    return { ...at, jobs };
  };

  test.each([
    ["a byte in the middle", (path: string) => damageByte(path, 0.5)],
    ["the first byte", (path: string) => damageByte(path, 0)],
    ["a letter of an id", changeLetter],
    ["zeros", (path: string) => writeFileSync(path, Buffer.alloc(4096))],
    ["something else at the end", (path: string) => appendFileSync(path, "x".repeat(600))],
  ])("%s sets the file aside, and nothing that may have run runs", (_, damage) => {
    const { open, path, dir, jobs, clock, log, inAMinute, job } = withJobs();
    damage(path);
    const unknown = job();
    clock.advance(5_000);
    const dedup = open();
    expect(log.records.map(({ level }) => level)).toEqual(["error"]);
    expect(readdirSync(dir).filter((name) => name.includes(".damaged-"))).toHaveLength(1);
    for (const jid of [...jobs, unknown])
      expect(["seen", "damaged"]).toContain(dedup.accept(jid, inAMinute()));
    expect(dedup.accept("not-an-id", inAMinute())).toBe("damaged");
    dedup.stop();
    // The damage is remembered, and not met again.
    clock.advance(70_000);
    const again = open();
    expect(log.records).toHaveLength(1);
    for (const jid of [...jobs, unknown]) {
      expect(["seen", "damaged"]).toContain(again.accept(jid, inAMinute()));
    }
    expect(again.accept(job(), inAMinute())).toBe("new");
  });

  test("with an unreadable file that cannot be replaced, every job is refused with the reason", () => {
    const { open, path, inAMinute, log, job, clock } = place();
    mkdirSync(path);
    const dedup = open();
    clock.advance(61_000);
    const jid = job();
    expect(() => dedup.accept(jid, inAMinute())).toThrow(`cannot write ${path}`);
    expect(log.records.map(({ level }) => level)).toEqual(["error", "error"]);
    // Where it was refused it does not run later, when it could be written down.
    rmSync(path, { recursive: true });
    expect(dedup.accept(jid, inAMinute())).toBe("seen");
    expect(dedup.accept(job(), inAMinute())).toBe("new");
    dedup.stop();
    expect(open().accept(jid, inAMinute())).toBe("seen");
  });

  test("a full disk refuses the job, and not the ones after it once there is room", () => {
    const { open, inAMinute, dir } = place();
    const dedup = open();
    dedup.accept("a", inAMinute());
    const limit = Bun.spawnSync(["prlimit", `--pid=${process.pid}`, "--fsize=0:"]);
    expect(limit.exitCode).toBe(0);
    try {
      expect(() => dedup.accept("b", inAMinute())).toThrow("cannot write");
      dedup.close("a", inAMinute(), "done");
    } finally {
      Bun.spawnSync(["prlimit", `--pid=${process.pid}`, "--fsize=unlimited:"]);
    }
    expect(dedup.accept("c", inAMinute())).toBe("new");
    dedup.stop();
    const after = open();
    expect(["a", "b", "c"].map((jid) => after.accept(jid, inAMinute()))).toEqual(["seen", "seen", "seen"]);
    expect(after.unfinished().map(({ jid }) => jid)).toEqual(["c"]);
    expect(readdirSync(dir)).toHaveLength(1);
  });
});

test("whatever is accepted, done, repeated, crashed and waited for, no job runs twice, and none is forgotten", () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("accept" as const), job: fc.nat(30), crash: fc.option(fc.nat(200)) }),
      fc.record({ do: fc.constant("done" as const), job: fc.nat(30), crash: fc.option(fc.nat(200)) }),
      fc.record({ do: fc.constant("cancel" as const), job: fc.nat(30), crash: fc.constant(null) }),
      fc.record({ do: fc.constant("wait" as const), job: fc.nat(30), crash: fc.constant(null) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (sequence) => {
      const { open, path, clock, log, dir } = place();
      const deadlines = Array.from({ length: 31 }, (_, i) => clock.now() + (i + 1) * 10_000);
      const runs = new Map<number, number>();
      const finished = new Set<number>();
      let dedup = open();
      for (const { do: act, job, crash } of sequence) {
        const jid = `job-${job}`;
        const deadline = deadlines[job] ?? 0;
        const before = existsSync(path) ? statSync(path).size : 0;
        let accepted = false;
        if (act === "accept" && deadline > clock.now()) accepted = dedup.accept(jid, deadline) === "new";
        if (act === "done" && runs.has(job)) dedup.close(jid, deadline, "done");
        if (act === "cancel" && !dedup.has(jid)) {
          dedup.close(jid, deadline, "cancelled");
          runs.set(job, (runs.get(job) ?? 0) + 1);
          finished.add(job);
        }
        if (act === "wait") clock.advance(10_000);
        if (crash === null) {
          if (accepted) runs.set(job, (runs.get(job) ?? 0) + 1);
          if (act === "done" && runs.has(job)) finished.add(job);
          continue;
        }
        // The peel dies while it writes the record of this step: any part of that may be on the disk, and
        // what follows the record never happens.
        dedup.stop();
        const now = existsSync(path) ? statSync(path).size : 0;
        if (before > 0 && now > before) truncateSync(path, before + Math.min(crash, now - before));
        dedup = open();
      }
      dedup.stop();
      dedup = open();
      expect(Math.max(0, ...runs.values())).toBeLessThanOrEqual(1);
      for (const job of runs.keys()) expect(dedup.has(`job-${job}`)).toBe(true);
      const unfinished = dedup.unfinished().map(({ jid }) => jid);
      for (const job of finished) expect(unfinished).not.toContain(`job-${job}`);
      expect(log.records.filter(({ level }) => level === "error")).toEqual([]);
      dedup.stop();
      rmSync(dir, { recursive: true });
    }),
    { numRuns: 200 },
  );
});

function damageByte(path: string, where: number): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length * where);
  bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
}

/** Another job in a record that reads as well as before. */
function changeLetter(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.indexOf("job-", bytes.length / 4) + 10;
  bytes[at] = bytes[at] === 0x41 ? 0x42 : 0x41;
  writeFileSync(path, bytes);
}
