import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { encodeDiffs } from "../../wire/state-diffs.ts";
import type { Report } from "../../wire/state-report.ts";
import type { Member } from "../enrollment/store/mod.ts";
import { type Call, invoke, type RawRequest } from "../operation/mod.ts";
import { maxGroups } from "./count.ts";
import { type ComplianceDeps, countStates, listDrift, showStates } from "./operations.ts";
import type { KnownRun } from "./status.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const hour = 3_600_000;
const states = [{ id: "motd", function: "file.managed" }];
const report = (more: Partial<Report> = {}): Report => ({
  ...{ run_at: rfc3339(start), trigger: "schedule", environment: "base", commit: "0123abc", test: false },
  ...{ ok: 1, changed: 0, failed: 0, skipped: 0, would_change: 0, duration_ms: 1, failures: [], drift: [] },
  ...more,
});

function fleetOf(members: readonly string[]) {
  const clock = manualClock(start);
  const diffs = memoryBucket();
  const runs = new Map<string, KnownRun>();
  const member: Member = { id: "enr-1", state: "active" };
  const deps: ComplianceDeps = {
    directory: {
      members: () => members,
      caughtUp: async () => {},
      memberOf: (peelId) => (members.includes(peelId) ? member : undefined),
      stateOf: () => undefined,
    },
    resolver: { resolve: async () => [...members] },
    compliance: { running: true, caughtUp: async () => {}, runOf: (peelId) => runs.get(peelId) },
    ...{ diffs, clock },
  };
  const call: Call = { caller: { kind: "operator", name: "ann", door: "bus" }, log: recordingLog(), clock };
  const ran = (peelId: string, more: Partial<Report> = {}) =>
    void runs.set(peelId, { report: report(more), storedAt: start });
  return {
    ...{ clock, deps, diffs, ran },
    count: (fields: RawRequest["fields"] = {}, own: Partial<ComplianceDeps> = {}) =>
      invoke(countStates, { ...deps, ...own }, { fields }, call),
    drift: (
      fields: RawRequest["fields"] = {},
      { answerBytes = 1024 * 1024, ...own }: Partial<ComplianceDeps & Call> = {},
    ) => invoke(listDrift, { ...deps, ...own }, { fields }, { ...call, answerBytes }),
    show: (id: string) => invoke(showStates, deps, { fields: { id } }, call),
  };
}

const messageOf = (requested: Promise<unknown>) =>
  requested.then(
    () => "no failure",
    (thrown) => (thrown instanceof SvcError ? `${thrown.kind}: ${thrown.message}` : String(thrown)),
  );

test("peels are counted by environment and commit, the largest group first", async () => {
  const { clock, count, ran } = fleetOf(["a1", "b1", "c1", "d1", "e1"]);
  ran("a1");
  ran("b1", { changed: 1, drift: states });
  ran("c1", { failed: 1, commit: "9999999" });
  ran("d1", { environment: "dev", commit: "" });
  const none = { described: 0, drifted: 0, failed: 0, stale: 0, never: 0 };
  expect(await count()).toEqual({
    counts: { described: 2, drifted: 1, failed: 1, stale: 0, never: 1 },
    groups: [
      { ...none, environment: "base", commit: "0123abc", described: 1, drifted: 1 },
      { ...none, environment: "base", commit: "9999999", failed: 1 },
      { ...none, environment: "dev", commit: "", described: 1 },
      { ...none, never: 1 },
    ],
  });
  clock.advance(2 * hour);
  expect((await count({ stale: "1h" })).counts).toEqual({ ...none, stale: 4, never: 1 });
  expect((await count({ stale: "2h" })).counts.stale).toBe(0);
});

test("peels of one commit that ran other files are groups of their own", async () => {
  const { ran, count } = fleetOf(["a1", "b1", "c1", "d1"]);
  const [one, two] = ["1a".repeat(32), "2b".repeat(32)];
  for (const peel of ["a1", "b1"]) ran(peel, { commit: "", snapshot: one });
  ran("c1", { commit: "", snapshot: two });
  ran("d1", { commit: "" });
  const { groups } = await count();
  expect(groups.map(({ commit, snapshot, described }) => [commit, snapshot, described])).toEqual([
    ["local", Buffer.from(one, "hex"), 2],
    ["local", Buffer.from(two, "hex"), 1],
    ["", undefined, 1],
  ]);
});

test("a fleet in which each peel claims another commit is counted in a bounded answer", async () => {
  const members = Array.from({ length: 1_000 }, (_, at) => `peel-${at}`);
  const { count, ran } = fleetOf(members);
  for (const [at, peel] of members.entries()) ran(peel, { commit: `${at}`.padStart(40, "a") });
  const { counts, groups, groups_left_out } = await count();
  expect([counts.described, groups.length, groups_left_out]).toEqual([1_000, maxGroups, 800]);
});

test("drift is what changed or failed, and any status can be asked for", async () => {
  const { drift, ran } = fleetOf(["a1_example", "b1", "c1", "d1"]);
  ran("a1_example", { changed: 1, drift: states });
  ran("b1");
  ran("c1", { failed: 1 });
  const { peels } = await drift();
  expect(peels.map(({ peel_id, status }) => [peel_id, status])).toEqual([
    ["a1_example", "drifted"],
    ["c1", "failed"],
  ]);
  expect(peels[0]).toMatchObject({ last_run: { changed: 1, status: "drifted" }, drift: states });
  const ids = async (status: string) => (await drift({ status })).peels.map(({ peel_id }) => peel_id);
  expect([await ids("described"), await ids("never")]).toEqual([["b1"], ["d1"]]);
});

test("one peel is shown with the differences of its last run, and with no others", async () => {
  const { show, ran, diffs } = fleetOf(["web-1_example", "web-2"]);
  expect(await show("web-2")).toEqual({ peel: { peel_id: "web-2", status: "never" } });
  ran("web-1_example", { changed: 1, drift: states });
  const state = { ...{ id: "motd", function: "file.managed", name: "/etc/motd", file: "a.sls", line: 4 } };
  const changed = { ...state, result: true, changes: { diff: "-a\n+b" }, comment: "", duration_ms: 1 };
  const stored = encodeDiffs(report(), [changed]) ?? new Uint8Array();
  await diffs.put("web-1_example", stored);
  expect((await show("web-1.example")).peel).toMatchObject({
    ...{ peel_id: "web-1_example", status: "drifted", drift: states },
    diffs: [{ id: "motd", at: "a.sls:4", changes: { diff: "-a\n+b" } }],
  });
  ran("web-1_example", { changed: 1, run_at: rfc3339(start - hour) });
  expect((await show("web-1_example")).peel.diffs).toBeUndefined();
  await diffs.put("web-1_example", new Uint8Array([0xc1]));
  expect((await show("web-1_example")).peel.diffs).toBeUndefined();
});

test.each<[string, (fleet: ReturnType<typeof fleetOf>) => Promise<unknown>, RegExp]>([
  [
    "an unknown peel",
    ({ show }) => show("web-2"),
    /^not_found: the peel "web-2" does not exist \(did you mean web-1\?\)/,
  ],
  [
    "a time that is not one",
    ({ count }) => count({ stale: "1 day" }),
    /^bad_request: stale: .*not a duration/,
  ],
  ["no time at all", ({ drift }) => drift({ stale: "0" }), /^bad_request: stale: must be 1s or longer/],
  ["an unknown status", ({ drift }) => drift({ status: "fine" }), /^bad_request: status/],
  ["a limit", ({ drift }) => drift({ limit: 1_001 }), /limit.*must be 1 to 1000/],
  [
    "a master that has not read the reports",
    ({ count, deps }) => count({}, { compliance: { ...deps.compliance, running: false } }),
    /^unavailable: the state runs are not read completely yet/,
  ],
])("%s is refused with what to do", async (_, submit, message) => {
  expect(await messageOf(submit(fleetOf(["web-1"])))).toMatch(message);
});

test("10,000 peels that drifted come page by page, each once, within the size of an answer", async () => {
  const members = Array.from({ length: 10_000 }, (_, at) => `web-${`${at}`.padStart(5, "0")}`);
  const { count, drift, ran } = fleetOf(members);
  for (const peel of members) ran(peel, { changed: 1, drift: states });
  expect((await count()).counts.drifted).toBe(10_000);
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { peels, next } = await drift({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...peels.map(({ peel_id }) => peel_id));
    if (next === undefined) break;
    cursor = next;
  }
  expect(found).toEqual(members);
  const small = await drift({ limit: 1_000 }, { answerBytes: 2_000 });
  expect(small.peels.length).toBeGreaterThan(1);
  expect(Buffer.byteLength(JSON.stringify(small.peels))).toBeLessThan(2_100);
  expect((await drift({}, { answerBytes: 1 })).peels).toHaveLength(1);
});
