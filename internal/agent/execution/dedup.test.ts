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
import { rfc3339 } from "../../base/clock.ts";
import { newId, systemRandom } from "../../base/id.ts";
import { decodeSequence } from "../../base/msgpack.ts";
import { openDedup } from "./dedup.ts";
import { decodeJournal } from "./dedup-record.ts";

const files = temporaryDirectory("dedup");
afterAll(() => files[Symbol.dispose]());
const capacity = 100;
const epoch = rfc3339(0);
let count = 0;

function place() {
  const dir = join(files.path, `${++count}`);
  mkdirSync(dir);
  const path = join(dir, "peel-dedup.msgpack");
  const clock = manualClock();
  const log = recordingLog();
  const open = () => openDedup({ path, capacity, clock, log });
  const mark = join(dir, "peel-dedup-mark.msgpack");
  const inAMinute = () => clock.now() + 60_000;
  const job = () => newId("job", clock.now(), systemRandom);
  return { dir, path, mark, clock, log, open, inAMinute, job };
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
  const number = expect.any(Number);
  const framed = { length: number, complement: number, jid: "", deadline: epoch, at: epoch, sum: number };
  expect(decodeSequence(readFileSync(path)).map(({ value }) => value)).toEqual([
    { ...framed, state: "limits", jid: "1" },
    { ...framed, jid: "a", state: "accepted", deadline, at },
    { ...framed, jid: "a", state: "done", deadline, at },
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

  test("no changed byte and no cut lets a job run again", () => {
    const { path, dir, mark, open, inAMinute, log, jobs } = withJobs();
    const whole = readFileSync(path);
    const marked = readFileSync(mark);
    const again = (bytes: Uint8Array, mark_?: Uint8Array) => {
      for (const name of readdirSync(dir)) rmSync(join(dir, name));
      writeFileSync(path, bytes);
      if (mark_ !== undefined) writeFileSync(mark, mark_);
      log.records.length = 0;
      const dedup = open();
      const said = jobs.map((jid) => dedup.accept(jid, inAMinute()));
      dedup.stop();
      return { said, levels: log.records.map(({ level }) => level) };
    };
    for (const change of [0x20, 0xff]) {
      for (let at = 0; at < whole.length; at += at < whole.length - 500 ? 23 : 1) {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const { rest, entries } = decodeJournal(bytes);
        // What the checksum shows to be whole counts, however it is encoded.
        if (rest === "damage" || (rest === "none" && jobs.every((jid) => entries.has(jid)))) continue;
        throw new Error(`byte ${at} of ${whole.length} changed by ${change}: ${rest}`);
      }
    }
    for (let size = 0; size < whole.length; size += 113) {
      const { said, levels } = again(whole.subarray(0, size), marked);
      expect([said.includes("new"), levels]).toEqual([false, ["error"]]);
    }
    expect(again(whole, marked).levels).toEqual([]);
    // A mark that cannot be read says nothing about a whole record.
    expect(again(whole, Buffer.alloc(8)).levels).toEqual([]);
    expect(again(Buffer.alloc(0), Buffer.alloc(8)).said).not.toContain("new");
    expect(again(Buffer.alloc(0)).said).not.toContain("new");
  });

  test("a record that is gone while its mark exists is reported", () => {
    const { path, open, job, clock, log, inAMinute } = withJobs();
    const jid = job();
    rmSync(path);
    clock.advance(1_000);
    expect(open().accept(jid, inAMinute())).toBe("damaged");
    expect(log.records).toMatchObject([
      { level: "error", fields: { reason: "it is gone, and once had records" } },
    ]);
  });

  test("one damaged record costs that one alone", () => {
    const { path, open, jobs, inAMinute } = withJobs();
    damageByte(path, 0.5);
    const dedup = open();
    expect(jobs.filter((jid) => !dedup.has(jid))).toHaveLength(0);
    expect(dedup.unfinished().length).toBeLessThanOrEqual(1);
    expect(jobs.map((jid) => dedup.accept(jid, inAMinute()))).not.toContain("new");
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
    expect(readdirSync(dir).sort()).toEqual(["peel-dedup-mark.msgpack", "peel-dedup.msgpack"]);
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
      const { open, path, mark, clock, log, dir } = place();
      const deadlines = Array.from({ length: 31 }, (_, i) => clock.now() + (i + 1) * 10_000);
      const runs = new Map<number, number>();
      const finished = new Set<number>();
      let dedup = open();
      for (const { do: act, job, crash } of sequence) {
        const jid = `job-${job}`;
        const deadline = deadlines[job] ?? 0;
        const before = existsSync(path) ? statSync(path).size : 0;
        const marked = existsSync(mark) ? readFileSync(mark) : undefined;
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
        if (before > 0 && now > before && crash < now - before) {
          truncateSync(path, before + crash);
          // The mark is written after the record.
          if (marked !== undefined) writeFileSync(mark, marked);
        }
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

test("a signed request is used once, also after a restart, after a damage, and when it was forgotten", () => {
  const at = place();
  const first = at.open();
  const request = (sentAt = at.clock.now()) => ({ nonce: systemRandom(16), sentAt });
  const [one, two] = [request(), request()];
  expect([first.spend(one, at.inAMinute()), first.spend(one, at.inAMinute())]).toEqual(["new", "seen"]);
  first.stop();
  const second = at.open();
  expect([second.spend(one, at.inAMinute()), second.spend(two, at.inAMinute())]).toEqual(["seen", "new"]);
  // What is recorded of a request is not a job that was lost.
  expect(second.unfinished()).toEqual([]);
  const until = at.inAMinute();
  at.clock.advance(60_001);
  for (let i = 0; i < capacity; i++) expect(second.spend(request(), at.inAMinute())).toBe("new");
  expect(second.spend(request(), at.inAMinute())).toBe("full");
  expect(second.spend(one, until)).toBe("over");
  second.stop();
  writeFileSync(at.path, "damaged");
  const third = at.open();
  expect(third.spend(request(), at.inAMinute())).toBe("damaged");
  at.clock.advance(60_001);
  expect(third.spend(request(), at.inAMinute())).toBe("new");
  third.stop();
});
