import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { StagedUpgrade, UpgradeState } from "./files.ts";
import { afterEvent, type UpgradeEvent } from "./transition.ts";

const digest = (seed: string) => seed.repeat(64).slice(0, 64);
const now = Date.UTC(2026, 0, 1);
const staged: StagedUpgrade = {
  jid: "job-2",
  sha256: digest("2"),
  version: "2",
  from: "1",
  readyWithinMs: 1_000,
  deadline: now + 1,
};
const late: StagedUpgrade = { ...staged, deadline: now };
const current = { sha256: digest("1"), version: "1", packaged: digest("0") };
const ended = { jid: "job-1", success: true, version: "1", from: "0", rolledBack: false, reason: "", at: 1 };
const outcome = {
  jid: "job-2",
  success: false,
  version: "2",
  from: "1",
  rolledBack: true,
  reason: "x",
  at: now,
};

/** What can be on disk. */
const states = {
  nothing: {},
  "a previous upgrade": { current, outcome: ended },
  "a trial of the first upgrade": { trial: staged },
  "a trial after one before": { current, outcome: ended, trial: staged },
  "the outcome of this job": { current, outcome },
} satisfies Record<string, UpgradeState>;

const gone = "the watchdog or the host stopped during the trial";
const events = {
  started: { kind: "started" },
  requested: { kind: "requested", staged },
  "requested too late": { kind: "requested", staged: late },
  refused: { kind: "refused", staged, reason: "x" },
  settled: { kind: "settled", packaged: digest("0") },
  failed: { kind: "failed", reason: "x" },
  "same package": { kind: "packaged", sha256: digest("0") },
  "another package": { kind: "packaged", sha256: digest("9") },
  unusable: { kind: "unusable" },
} satisfies Record<string, UpgradeEvent>;

const committed = { ...outcome, success: true, rolledBack: false, reason: "" };
const fresh = { sha256: digest("2"), version: "2", packaged: digest("0") };
const tooLate = {
  ...outcome,
  rolledBack: false,
  reason: "the deadline of the job passed before the upgrade began",
};

/** Each cell: what is on disk afterwards; `undefined` for what it was before. */
const table: Record<keyof typeof states, Record<keyof typeof events, UpgradeState | undefined>> = {
  nothing: {
    started: undefined,
    requested: { trial: staged },
    "requested too late": { outcome: tooLate },
    refused: { outcome: { ...outcome, rolledBack: false } },
    settled: undefined,
    failed: undefined,
    "same package": undefined,
    "another package": undefined,
    unusable: undefined,
  },
  "a previous upgrade": {
    started: undefined,
    requested: { current, outcome: ended, trial: staged },
    "requested too late": { current, outcome: tooLate },
    refused: { current, outcome: { ...outcome, rolledBack: false } },
    settled: undefined,
    failed: undefined,
    "same package": undefined,
    "another package": { outcome: ended },
    unusable: { outcome: ended },
  },
  "a trial of the first upgrade": {
    started: { outcome: { ...outcome, reason: gone } },
    requested: undefined,
    "requested too late": undefined,
    refused: undefined,
    settled: { current: fresh, outcome: committed },
    failed: { outcome },
    "same package": undefined,
    "another package": undefined,
    unusable: undefined,
  },
  "a trial after one before": {
    started: { current, outcome: { ...outcome, reason: gone } },
    requested: undefined,
    "requested too late": undefined,
    refused: undefined,
    settled: { previous: current.sha256, current: fresh, outcome: committed },
    failed: { current, outcome },
    "same package": undefined,
    "another package": { outcome: ended, trial: staged },
    unusable: { outcome: ended, trial: staged },
  },
  "the outcome of this job": {
    started: undefined,
    requested: undefined,
    "requested too late": undefined,
    refused: undefined,
    settled: undefined,
    failed: undefined,
    "same package": undefined,
    "another package": { outcome },
    unusable: { outcome },
  },
};

describe.each(Object.entries(states))("with %s on disk", (state, before) => {
  test.each(Object.entries(events))("and the event %s", (event, happened) => {
    const expected = table[state as keyof typeof states][event as keyof typeof events];
    const after = afterEvent(before, happened, now);
    if (expected === undefined) expect(after).toBe(before);
    else expect(after).toEqual(expected);
  });
});

test("whatever happens, a job has one outcome and a trial ends", () => {
  const anyEvent = fc.constantFrom<UpgradeEvent>(
    ...Object.values(events),
    { kind: "requested", staged: { ...staged, jid: "job-3" } },
    { kind: "refused", staged: { ...staged, jid: "job-4" }, reason: "y" },
  );
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), (list) => {
      let state: UpgradeState = {};
      for (const event of list) {
        const before = state;
        state = afterEvent(state, event, now);
        // A trial is never replaced: it ends first, with an outcome that names it.
        if (before.trial !== undefined && state.trial !== before.trial) {
          expect(state.trial).toBeUndefined();
          expect(state.outcome?.jid).toBe(before.trial.jid);
        }
        // The binary that runs changes by a trial alone; without one only the packaged one takes its place.
        if (state.current !== undefined && state.current !== before.current) {
          expect(state.current.sha256).toBe(before.trial?.sha256 ?? "");
        }
      }
      expect(afterEvent(state, { kind: "started" }, now).trial).toBeUndefined();
    }),
  );
});
