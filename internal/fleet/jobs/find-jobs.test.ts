import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../../base/id.ts";
import { findJobs, type JobQuery } from "./find-jobs.ts";
import { createLister, type ListedJob } from "./listed-job.ts";
import type { Job } from "./records/record.ts";
import { createTargetSets } from "./target-sets.ts";

const second = 1_000;
const start = Date.UTC(2026, 0, 1);
let made = 0;
const random = (size: number) => Buffer.alloc(size, ++made);
const sets = createTargetSets();
const lister = createLister(sets);

/** A job that was created a number of seconds after the start. */
function job(at: number, fields: Partial<Job> = {}): ListedJob {
  const createdAt = start + at * second;
  const { settled = { status: "completed", counts: { ok: 1 }, finishedAt: createdAt, offline: [] } } = fields;
  return lister({
    ...{ jid: newId("job", createdAt, random), function: "test.ping", args: {}, targets: ["web-1"] },
    ...{ metadata: {}, timeoutMs: second, createdAt, createdBy: "ann", deadline: createdAt },
    ...fields,
    settled,
  });
}

const failed: Partial<Job> = {
  settled: { status: "failed", counts: { failed: 1 }, finishedAt: start, offline: [] },
};
const find = (jobs: readonly ListedJob[], query: Partial<JobQuery> = {}) =>
  findJobs(
    jobs.map((item) => ({ id: item.jid, item })),
    { limit: 100, ...query },
    ({ status }) => status,
  );
const names = (jobs: readonly ListedJob[], query: Partial<JobQuery>) =>
  find(jobs, query).found.map(({ job: { createdAt } }) => (createdAt - start) / second);

describe("a filter", () => {
  const jobs = [
    job(0, {
      source: "operator",
      createdBy: "ben",
      function: "pkg.install",
      target: "web-*",
      targets: ["web-1", "web-2"],
    }),
    job(1, { ...failed, source: "operator", targets: ["db-1_example"] }),
    job(2, { source: "schedule", schedule: "backup", createdBy: "schedule" }),
    job(3, { source: "reactor", createdBy: "reactor:heal", function: "pkg.remove" }),
    job(4, { source: "rollout", targets: ["web-2", "web-3"] }),
    job(5, { source: "rollout" }),
  ];
  const cases: [Partial<JobQuery>, number[]][] = [
    [{}, [5, 4, 3, 2, 1, 0]],
    [{ by: "ben" }, [0]],
    [{ by: "be" }, []],
    [{ function: "pkg.*" }, [3, 0]],
    [{ function: "pkg" }, []],
    [{ status: "failed" }, [1]],
    [{ since: start + 4 * second }, [5, 4]],
    [{ source: "operator" }, [1, 0]],
    [{ source: "schedule" }, [2]],
    [{ source: "reactor" }, [3]],
    [{ source: "rollout" }, [5, 4]],
    [{ target: "web-*" }, [0]],
    [{ target: "web-2" }, [4, 0]],
    [{ target: "db-1.example" }, [1]],
    [{ target: "db-1_example" }, [1]],
    [{ target: "web" }, []],
    [{ schedule: "b*" }, [2]],
    [{ schedule: "c*" }, []],
    [{ limit: 2 }, [5, 4]],
    [{ limit: 2, after: jobs[4]?.jid ?? "" }, [3, 2]],
    [{ function: "pkg.*", after: jobs[3]?.jid ?? "" }, [0]],
  ];
  test.each(cases)("%j", (query, found) => {
    expect(names(jobs, query)).toEqual(found);
  });
});

describe("folded", () => {
  const run = (at: number, fields: Partial<Job> = {}) =>
    job(at, { source: "schedule", schedule: "a", createdBy: "schedule", ...fields });
  const jobs = [run(0), job(1), run(2, failed), run(3, { schedule: "b" }), run(4), job(5)];

  test("the runs of a schedule are one row, with the newest of them", () => {
    const { found } = find(jobs, { fold: "schedules" });
    expect(found.map(({ job: { createdAt }, ...more }) => [(createdAt - start) / second, more])).toEqual([
      [5, {}],
      [4, { runs: 3, failed: 1 }],
      [3, { runs: 1, failed: 0 }],
      [1, {}],
    ]);
  });

  test("a schedule is on one page only, and a filter counts for its runs", () => {
    expect(names(jobs, { fold: "schedules", limit: 1, after: jobs[5]?.jid ?? "" })).toEqual([4]);
    expect(names(jobs, { fold: "schedules", after: jobs[4]?.jid ?? "" })).toEqual([3, 1]);
    expect(find(jobs, { fold: "schedules", source: "schedule", status: "failed" }).found).toMatchObject([
      { runs: 1, failed: 1 },
    ]);
    expect(find(jobs, { fold: "schedules", schedule: "a", since: start + 2 * second }).found).toMatchObject([
      { runs: 2, failed: 1 },
    ]);
  });

  test("pages have every row once, whatever their size", () => {
    const some = fc.array(fc.constantFrom("a", "b", "c", undefined), { maxLength: 30 });
    fc.assert(
      fc.property(some, fc.integer({ min: 1, max: 5 }), (schedules, limit) => {
        const all = schedules.map((schedule, at) =>
          schedule === undefined ? job(at) : run(at, { schedule }),
        );
        const whole = find(all, { fold: "schedules" }).found;
        const pages: typeof whole = [];
        for (let after: string | undefined; ; ) {
          const { found } = find(all, {
            fold: "schedules",
            limit,
            ...(after === undefined ? {} : { after }),
          });
          if (found.length === 0) break;
          pages.push(...found);
          after = found.at(-1)?.job.jid;
        }
        expect(pages).toEqual(whole);
        const runs = whole.reduce((sum, { runs = 1 }) => sum + runs, 0);
        expect(runs).toBe(schedules.length);
      }),
    );
  });
});

describe("targets", () => {
  const fleet = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `p-${from + i}`);

  test("that are the same are kept once, and not longer than a job that has them", () => {
    const own = createTargetSets();
    const list = createLister(own);
    const [one, same, other] = [fleet(100), fleet(100), fleet(100, 50)].map((targets) =>
      list({ ...base, targets }),
    );
    expect(own.weight).toBe(200);
    one?.sentTo.release();
    expect([own.weight, same?.sentTo.has(0)]).toEqual([200, false]);
    same?.sentTo.release();
    expect(own.weight).toBe(100);
    other?.sentTo.release();
    expect(own.weight).toBe(0);
  });

  test("of older jobs are forgotten when there are too many, which an answer says", () => {
    const own = createTargetSets(150);
    const list = createLister(own);
    const older = list({ ...base, targets: fleet(100) });
    const newer = list({ ...base, jid: "job-2", targets: fleet(100, 50) });
    expect(own.weight).toBe(100);
    const { found, unsearched } = find([older, newer], { target: "p-120" });
    expect([found.map(({ job: { jid } }) => jid), unsearched]).toEqual([["job-2"], 1]);
    expect(find([older, newer], {}).unsearched).toBe(0);
    older.sentTo.release();
    expect(own.weight).toBe(100);
  });

  test("are found as in the list itself", () => {
    const id = fc.stringMatching(/^[ab]{1,3}$/);
    fc.assert(
      fc.property(fc.uniqueArray(id, { minLength: 1 }), id, (targets, peel) => {
        const listed = lister({ ...base, targets });
        expect(find([listed], { target: peel }).found).toHaveLength(targets.includes(peel) ? 1 : 0);
      }),
    );
  });

  const base: Job = {
    ...{ jid: "job-1", function: "f", args: {}, targets: [], metadata: {}, timeoutMs: 1 },
    ...{ createdAt: start, createdBy: "ann", deadline: start },
  };
});
