import { expect, test } from "bun:test";
import fc from "fast-check";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { assets } from "../../bus/assets/assets.ts";
import type { Change } from "../../bus/storage/mod.ts";
import { decodeDiffs, maxDiffBytes } from "../../wire/state-diffs.ts";
import { decodeReport, maxReportBytes } from "../../wire/state-report.ts";
import { followCompliance } from "./view.ts";

// A peel may send anything.

const good = {
  ...{
    run_at: "2026-01-01T00:00:00.000Z",
    trigger: "schedule",
    environment: "base",
    commit: "",
    test: false,
  },
  ...{ ok: 1, changed: 0, failed: 0, skipped: 0, would_change: 0, duration_ms: 5, failures: [], drift: [] },
};
const named = { id: "a", function: "f" };
const failure = { ...named, file: "", line: 0, comment: "" };

test("a good report is read, and fields of a later version are left out", () => {
  expect(decodeReport(encode({ ...good, later: 1 }))).toEqual(good as ReturnType<typeof decodeReport>);
});

test.each<[string, object | unknown[]]>([
  ["a list", [good]],
  ["no time", { ...good, run_at: "yesterday" }],
  ["a time that is a number", { ...good, run_at: 5 }],
  ["a trigger that there is not", { ...good, trigger: "operator" }],
  ["an id that is not one of a job", { ...good, jid: "<b>1</b>" }],
  ["a commit that is not one", { ...good, commit: "HEAD; rm" }],
  ["an environment that is too long", { ...good, environment: "x".repeat(129) }],
  ["a negative count", { ...good, failed: -1 }],
  ["a count with a fraction", { ...good, ok: 1.5 }],
  ["a count without an end", { ...good, ok: Number.POSITIVE_INFINITY }],
  ["a count that is a text", { ...good, ok: "1" }],
  ["an impossible duration", { ...good, duration_ms: 1e15 }],
  ["21 failures", { ...good, failures: Array.from({ length: 21 }, () => failure) }],
  ["10,000 failures", { ...good, failures: Array.from({ length: 10_000 }, () => failure) }],
  ["51 states that drifted", { ...good, drift: Array.from({ length: 51 }, () => named) }],
  ["a comment that is too long", { ...good, failures: [{ ...failure, comment: "x".repeat(501) }] }],
  ["a line before the first", { ...good, failures: [{ ...failure, line: -1 }] }],
  ["no drift", { ...good, drift: undefined }],
  ["too many bytes", { ...good, more: "x".repeat(maxReportBytes) }],
])("%s is not a report", (_, value) => {
  expect(() => decodeReport(encode(value))).toThrow();
});

test("whatever bytes are stored, a view survives them and keeps what others reported", () => {
  const reported: ((change: Change) => void)[] = [];
  const log = recordingLog();
  const view = followCompliance({
    reports: {
      watch(run) {
        reported.push(run);
        return { ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} };
      },
    },
    lines: { say: (level, event, peel, fields) => log[level](event, { peel, ...fields }) },
  });
  let revision = 0;
  const put = (key: string, value: Uint8Array, at = ++revision) => {
    for (const report of reported) report({ key, value, revision: at, storedAt: 1 });
  };
  put("web-1", encode(good));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      put("evil", bytes);
      expect(view.runOf("evil")).toBeUndefined();
      expect(view.runOf("web-1")?.report.ok).toBe(1);
    }),
    { numRuns: 200 },
  );
  expect(log.records.every(({ level }) => level === "warn")).toBe(true);
  put("web-1", encode({ ...good, ok: 2 }));
  // A watch that begins again repeats what it told.
  put("web-1", encode(good), 1);
  expect(view.runOf("web-1")?.report.ok).toBe(2);
  put("web-1", encode("garbage"));
  expect(view.runOf("web-1")).toBeUndefined();
});

test("differences are read with the same care, and the buckets take no more than is read", () => {
  const diff = { id: "a", function: "f", name: "n", result: true, changes: { a: 1 }, comment: "" };
  const of = (states: unknown) => encode({ run_at: good.run_at, states });
  expect(decodeDiffs(of([diff])).states).toHaveLength(1);
  for (const states of [
    [{ ...diff, changes: [] }],
    [{ ...diff, changes: "x" }],
    [{ ...diff, result: 1 }],
    Array.from({ length: 201 }, () => diff),
    [{ ...diff, changes: { a: "x".repeat(maxDiffBytes) } }],
    "x",
  ]) {
    expect(() => decodeDiffs(of(states))).toThrow();
  }
  expect(assets.compliance.peelsWrite.maxMessageBytes).toBe(maxReportBytes);
  expect(assets["compliance-diffs"].peelsWrite.maxMessageBytes).toBe(maxDiffBytes);
});
