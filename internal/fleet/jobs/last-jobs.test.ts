import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { createLastJobs } from "./last-jobs.ts";
import type { Job, Settled } from "./records/record.ts";

const keptMs = 7 * 24 * 3_600_000;
const settled = (more: Partial<Settled> = {}): Settled => ({
  ...{ status: "completed", counts: { ok: 1 }, finishedAt: 0, offline: [], ...more },
});
const job = (jid: string, createdAt: number, targets: string[], more: Partial<Job> = {}): Job => ({
  ...{ jid, function: "test.ping", args: {}, targets, metadata: {}, timeoutMs: 1_000 },
  ...{ createdAt, createdBy: "ops", deadline: createdAt + 1_000, ...more },
});

test("the newest job of each peel is known, with its outcome once it has ended", () => {
  const last = createLastJobs(keptMs);
  last.note(job("job-1", 1_000, ["web-1", "web-2"]));
  const first = { jid: "job-1", function: "test.ping", at: 1_000 };
  expect(last.of("web-1", 2_000)).toEqual(first);
  const ended = settled({ status: "failed", counts: { ok: 1, failed: 1 }, places: { failed: [1] } });
  last.note(job("job-1", 1_000, ["web-1", "web-2"], { settled: ended }));
  last.note(job("job-2", 3_000, ["web-1"], { function: "state.apply" }));
  expect(last.of("web-1", 4_000)).toEqual({ jid: "job-2", function: "state.apply", at: 3_000 });
  expect(last.of("web-2", 4_000)).toEqual({ ...first, outcome: "failed" });
  expect(last.of("web-3", 4_000)).toBeUndefined();
});

test("what a peel ran by itself, and what was never sent, does not count", () => {
  const last = createLastJobs(keptMs);
  last.note(job("job-1", 1_000, ["web-1"]));
  last.note(job("job-2", 2_000, ["web-1"], { schedule: "disk", settled: settled() }));
  last.note(job("job-3", 3_000, ["web-1"], { forbidden: true, settled: settled() }));
  expect(last.of("web-1", 4_000)?.jid).toBe("job-1");
});

test("a job that the bucket has removed is forgotten, and the memory does not grow with peels that left", () => {
  const last = createLastJobs(1_000);
  last.note(job("job-1", 1_000, ["web-1"]));
  expect(last.of("web-1", 2_000)?.jid).toBe("job-1");
  expect(last.of("web-1", 2_001)).toBeUndefined();
  for (let at = 0; at < 20; at++) {
    last.note(
      job(
        `job-${at}`,
        10_000 * (at + 1),
        Array.from({ length: 1_000 }, (_, one) => `web-${at}-${one}`),
      ),
    );
  }
  expect(last.size).toBeLessThanOrEqual(5_000);
});

test("two masters that read the records in different orders agree", () => {
  const records = fc.uniqueArray(
    fc.record({ jid: fc.nat(50), at: fc.nat(5), peels: fc.uniqueArray(fc.constantFrom("a", "b", "c")) }),
    { selector: ({ jid }) => jid },
  );
  fc.assert(
    fc.property(
      records.chain((found) =>
        fc.tuple(fc.constant(found), fc.shuffledSubarray(found, { minLength: found.length })),
      ),
      ([one, other]) => {
        const seenBy = (order: typeof one) => {
          const last = createLastJobs(keptMs);
          for (const { jid, at, peels } of order) last.note(job(`job-${jid}`, at, peels));
          return ["a", "b", "c"].map((peel) => last.of(peel, 10));
        };
        expect(seenBy(one)).toEqual(seenBy(other));
      },
    ),
  );
});
