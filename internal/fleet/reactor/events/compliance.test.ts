import { expect, test } from "bun:test";
import { encode } from "../../../base/msgpack.ts";
import { encodeReport, type Report } from "../../../wire/state-report.ts";
import { neededSources } from "../rules/needed-sources.ts";
import { readCompliance } from "./compliance.ts";
import type { JobOf, KnownJob } from "./job-lookup.ts";

const jid = "job-0ujsszwN8NRY24YaXiTIE2VWDTS";
const report = (more: Partial<Report> = {}): Report => ({
  ...{
    run_at: "2026-01-01T00:00:00.000Z",
    trigger: "job",
    environment: "base",
    commit: "0123abc",
    test: false,
  },
  ...{ ok: 1, changed: 2, failed: 0, skipped: 0, would_change: 0, duration_ms: 1, failures: [] },
  drift: [{ id: "motd", function: "file.managed" }],
  ...more,
});
const message = (data: Uint8Array, subject = "$KV.compliance.web-1") => ({
  ...{ subject, data, sequence: 7, storedAt: 1_000_000, deliveries: 1 },
});
const ofReaction: KnownJob = {
  ...{ function: "state.apply", metadata: {}, createdBy: "reactor:fix" },
  ...{ targets: new Set(["web-1"]), depth: 3 },
};
const jobs: JobOf = async (requested) => (requested === jid ? ofReaction : undefined);

test("a report is an event of the peel in the subject, with its status", async () => {
  const { drift, failures, ...run } = report();
  expect(await readCompliance(message(encodeReport(report())), jobs)).toEqual({
    event: {
      ...{ id: "compliance:web-1::2026-01-01T00:00:00.000Z", tag: "svc/compliance/web-1" },
      ...{ source: "web-1", origin: "service", at: 1_000_000, depth: 0 },
      data: { peel: "web-1", peel_id: "web-1", status: "drifted", ...run, failures, drift },
    },
  });
});

test("the report of a job that a reaction started is one step deeper, on the peels of that job alone", async () => {
  const depthOf = async (peel: string, more: Partial<Report>) => {
    const found = await readCompliance(message(encodeReport(report(more)), `$KV.compliance.${peel}`), jobs);
    return found !== undefined && "event" in found ? found.event.depth : undefined;
  };
  expect(await depthOf("web-1", { jid })).toBe(3);
  expect(await depthOf("web-2", { jid })).toBe(0);
});

test.each([
  ["bytes that are not a report", message(encode({ ok: "1" }))],
  ["bytes that are not MessagePack", message(new Uint8Array([0xc1]))],
  ["a key that is not a peel", message(encodeReport(report()), "$KV.compliance._x")],
])("%s are malformed", async (_, stored) => {
  expect(await readCompliance(stored, jobs)).toMatchObject({ dropped: "malformed" });
});

test("a removed report is not an event, and an event names few states", async () => {
  expect(await readCompliance(message(new Uint8Array()), jobs)).toBeUndefined();
  const failure = { id: "a", function: "f", file: "", line: 0, comment: "" };
  const many = report({ failed: 20, failures: Array.from({ length: 20 }, () => failure) });
  const found = await readCompliance(message(encodeReport(many)), jobs);
  const failures = found !== undefined && "event" in found ? found.event.data.failures : [];
  expect(failures).toHaveLength(5);
});

test("the source is read while a rule can match its tag", () => {
  const needed = (...match: string[]) => [...neededSources([{ match }], new Map(), 5).keys()];
  expect(needed("disk/full")).not.toContain("compliance");
  expect(needed("svc/compliance/*")).toContain("compliance");
  expect(needed("svc/compliance/web-*", "disk/full")).toContain("compliance");
});
