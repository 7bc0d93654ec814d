import { expect, test } from "bun:test";
import { countsOf, createRows, failedFirst, reportedBy, toTryAgain } from "./job-rows.ts";

const answered = { success: true, retcode: 0, started_at: "2026-01-31T12:00:00Z", duration_ms: 12 };

test("reported returns count until masters store them, and a return is shown by its first line", () => {
  const job = {
    targets: ["a_example", "b_example", "c_example", "d_example"],
    outcomes: { a_example: "ok", b_example: "pending", c_example: "pending", d_example: "offline" },
    returns: { a_example: { ...answered, return: "<b>one</b>\ntwo\n" } },
  } as const;
  const reported = new Map([
    ["a_example", { outcome: "failed" } as const],
    ["b_example", { outcome: "failed", error: "exit status 1" } as const],
  ]);
  const rows = createRows()({ ...job, targets: [...job.targets] }, reported);
  expect(rows).toEqual([
    { peelId: "a_example", peel: "a.example", outcome: "ok", durationMs: 12, text: "<b>one</b> …" },
    { peelId: "b_example", peel: "b.example", outcome: "failed", text: "exit status 1" },
    { peelId: "c_example", peel: "c.example", outcome: "pending", text: "" },
    { peelId: "d_example", peel: "d.example", outcome: "offline", text: "" },
  ]);
  expect([...countsOf(rows)]).toEqual([
    ["ok", 1],
    ["failed", 1],
    ["pending", 1],
    ["offline", 1],
  ]);
  expect(toTryAgain(rows).map(({ peel }) => peel)).toEqual(["b.example", "d.example"]);
});

test("the row of a peel about which nothing is new stays the same object", () => {
  const job = {
    targets: ["a", "b", "c"],
    outcomes: { a: "ok", b: "pending", c: "pending" },
    returns: { a: { ...answered, return: true } },
  } as const;
  const rowsOf = createRows();
  const before = rowsOf({ ...job, targets: [...job.targets] }, new Map());
  const after = rowsOf({ ...job, targets: [...job.targets] }, new Map([["b", { outcome: "ok" } as const]]));
  expect(after.map((row, at) => row === before[at])).toEqual([true, false, true]);
  expect(after.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "pending"]);
});

test("an event that is not a return tells nothing", () => {
  expect(reportedBy({ outcome: "ok", success: true })).toEqual({ outcome: "ok" });
  expect(reportedBy({ outcome: "<script>" })).toBeUndefined();
  expect(reportedBy({})).toBeUndefined();
});

test("those that did not end well stand first, in the order of their ids", () => {
  const outcomes = { a: "ok", b: "offline", c: "failed", d: "pending", e: "failed", f: "timeout" } as const;
  const rows = createRows()({ targets: Object.keys(outcomes), outcomes, returns: {} }, new Map());
  expect(failedFirst(rows).map(({ peel }) => peel)).toEqual(["c", "e", "f", "b", "d", "a"]);
});
