import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { JobReturn } from "../../wire/return.ts";
import { endings } from "../../wire/return.ts";
import type { JobEvent } from "./events.ts";
import { type Outcome, outcomeOf, statusOf } from "./records/outcome.ts";
import type { Job, Settled } from "./records/record.ts";
import { countOutcomes, createTally, isLate, settledOf, standingOf, type Tally } from "./tally.ts";

const createdAt = 1_000_000;
const deadline = createdAt + 60_000;

function job(targets: string[], more: Partial<Job> = {}): Job {
  return {
    jid: "job-1",
    function: "test.ping",
    args: {},
    targets,
    metadata: {},
    timeoutMs: 60_000,
    createdAt,
    createdBy: "ops",
    deadline,
    ...more,
  };
}

function returned(success: boolean, outcome?: JobReturn["outcome"]): JobReturn {
  const rest = outcome === undefined ? {} : { outcome };
  return { success, retcode: success ? 0 : 1, started_at: "", duration_ms: 1, ...rest };
}

const event = (peel: string, value?: JobReturn, at = createdAt + 10): JobEvent => ({
  jid: "job-1",
  peel,
  at,
  ...(value === undefined ? {} : { return: value }),
});

const before = deadline - 1;
const after = deadline + 1;

test.each<[string, Parameters<typeof outcomeOf>[0], { cancelledAt?: number }, number, Outcome]>([
  [
    "a return that succeeded",
    { return: { success: true }, acknowledged: true, alive: true },
    {},
    before,
    "ok",
  ],
  ["one that did not", { return: { success: false }, acknowledged: true, alive: true }, {}, before, "failed"],
  ["a late one", { return: { success: true }, acknowledged: true, alive: true }, {}, after, "ok"],
  [
    "a full queue",
    { return: { success: false, outcome: "busy" }, acknowledged: false, alive: true },
    {},
    before,
    "busy",
  ],
  ["nothing yet", { acknowledged: false, alive: false }, {}, before, "pending"],
  ["taken, nothing yet", { acknowledged: true, alive: true }, {}, before, "pending"],
  ["taken, then silence", { acknowledged: true, alive: false }, {}, after, "timeout"],
  ["never accepted, and not alive", { acknowledged: false, alive: false }, {}, after, "offline"],
  ["never accepted, though alive", { acknowledged: false, alive: true }, {}, after, "timeout"],
  ["exactly at the deadline", { acknowledged: true, alive: true }, {}, deadline, "timeout"],
  [
    "cancelled before it was taken",
    { acknowledged: false, alive: true },
    { cancelledAt: before },
    before,
    "cancelled",
  ],
  ["cancelled while it ran", { acknowledged: true, alive: true }, { cancelledAt: before }, before, "pending"],
  [
    "cancelled, and done anyway",
    { return: { success: true }, acknowledged: true, alive: true },
    { cancelledAt: before },
    before,
    "ok",
  ],
])("outcome: %s", (_, facts, cancelled, now, expected) => {
  expect(outcomeOf(facts, { deadline, ...cancelled }, now)).toBe(expected);
});

test.each<[Outcome[], { cancelledAt?: number }, string]>([
  [["ok", "ok"], {}, "completed"],
  [["ok", "pending", "failed"], {}, "running"],
  [["ok", "offline"], {}, "failed"],
  [["ok", "cancelled"], { cancelledAt: 1 }, "cancelled"],
  [["ok", "ok"], { cancelledAt: 1 }, "completed"],
])("status of %j, %j is %s", (outcomes, cancelled, expected) => {
  expect(statusOf(outcomes, cancelled)).toBe(expected as ReturnType<typeof statusOf>);
});

test("a late return replaces an assumption, and never the reverse", () => {
  const tally = createTally(job(["a"]));
  const standing = () => standingOf(job(["a"]), tally, () => false, after).outcomes.get("a");
  tally.note(event("a", returned(false, "lost")));
  expect(standing()).toBe("lost");
  expect(tally.note(event("a", returned(true)))).toBe(true);
  expect(standing()).toBe("ok");
  expect(tally.note(event("a", returned(false, "lost")))).toBe(false);
  expect(tally.note(event("a", returned(false, "timeout")))).toBe(false);
  expect(standing()).toBe("ok");
});

test("a peel that is not a target does not count", () => {
  const tally = createTally(job(["a"]));
  expect(tally.note(event("b", returned(true)))).toBe(false);
  expect(tally.open).toBe(1);
});

test("a job ends with its last return, or at its deadline when a target sent none", () => {
  const tally = createTally(job(["a", "b"]));
  tally.note(event("a", returned(true), createdAt + 10));
  expect(settledOf(standingOf(job(["a", "b"]), tally, () => false, before))).toBeUndefined();
  expect(settledOf(standingOf(job(["a", "b"]), tally, () => false, after))).toEqual({
    status: "failed",
    counts: { ok: 1, offline: 1 },
    finishedAt: deadline,
    offline: ["b"],
  });
  tally.note(event("b", returned(true), createdAt + 20));
  expect(settledOf(standingOf(job(["a", "b"]), tally, () => false, before))).toMatchObject({
    status: "completed",
    finishedAt: createdAt + 20,
  });
});

/** Whether a return is the one by which its target ended. */
function isLast(tally: Tally, peel: string, { success, outcome }: JobReturn): boolean {
  const { ending } = tally.known(peel);
  return ending?.success === success && ending.outcome === outcome;
}

const peels = ["a", "b", "c", "d"];
const anyReturn = fc
  .tuple(fc.boolean(), fc.option(fc.constantFrom(...endings), { nil: undefined }))
  .map(([success, outcome]) => returned(outcome === undefined && success, outcome));
const anyEvent = fc
  .tuple(fc.constantFrom(...peels, "stranger"), fc.option(anyReturn, { nil: undefined }), fc.nat(90_000))
  .map(([peel, value, ms]) => event(peel, value, createdAt + ms));

test("counts always add up to the number of targets, and a job runs exactly while a target is pending", () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 30 }),
      fc.nat(120_000),
      fc.option(fc.nat(120_000), { nil: undefined }),
      (events, ms, cancelMs) => {
        const subject = job(peels, cancelMs === undefined ? {} : { cancelledAt: createdAt + cancelMs });
        const tally = createTally(subject);
        for (const one of events) tally.note(one);
        const standing = standingOf(subject, tally, (peel) => peel < "c", createdAt + ms);
        const total = Object.values(standing.counts).reduce((sum, count) => sum + count, 0);
        expect(total).toBe(peels.length);
        expect(standing.outcomes.size).toBe(peels.length);
        expect(standing.status === "running").toBe((standing.counts.pending ?? 0) > 0);
        expect(standing.finishedAt === undefined).toBe(standing.status === "running");
        if (createdAt + ms >= deadline) expect(standing.status).not.toBe("running");
      },
    ),
  );
});

test("counting event by event equals counting all of them, across the deadline and a cancellation", () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 30 }),
      fc.nat(20_000),
      fc.option(fc.nat(30), { nil: undefined }),
      (events, pauseMs, cancelAt) => {
        const known = { job: job(peels), tally: createTally(job(peels)) };
        const count = countOutcomes(known);
        let now = createdAt;
        for (const [at, one] of events.entries()) {
          now += pauseMs;
          const wasCancelled = at === cancelAt;
          if (wasCancelled) known.job = { ...known.job, cancelledAt: now };
          if (!known.tally.note(one) && !wasCancelled) continue;
          const { counts, status } = standingOf(known.job, known.tally, () => true, now);
          expect(count.update(now, wasCancelled ? undefined : one.peel)).toEqual({ counts, status });
        }
      },
    ),
  );
});

test("a job that has ended stays as it ended, whatever part of its messages was discarded since", () => {
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 30 }),
      fc.option(fc.nat(120_000), { nil: undefined }),
      fc.func(fc.boolean()),
      (events, cancelMs, isKept) => {
        const ran = job(peels, cancelMs === undefined ? {} : { cancelledAt: createdAt + cancelMs });
        const [all, left] = [createTally(ran), createTally(ran)];
        for (const one of events) all.note(one);
        const ended = standingOf(ran, all, (peel) => peel < "c", after);
        const settled = settledOf(ended);
        if (settled === undefined) throw new Error("a job has ended after its deadline");
        // What a peel reports replaces what was assumed about it, also in what is left.
        const kept = events.filter((one) => all.known(one.peel).ending !== undefined && isKept(one));
        const last = kept.filter(
          ({ peel, return: value }) => value !== undefined && isLast(all, peel, value),
        );
        for (const one of last) left.note(one);
        const recorded = { ...ran, settled };
        const { finishedAt, ...shown } = standingOf(recorded, left, () => false, after + 1);
        const { finishedAt: endedAt, ...expected } = ended;
        expect(shown).toEqual(expected);
        if (left.open === peels.length) expect(finishedAt).toBe(endedAt);
        const { counts, status } = ended;
        expect(countOutcomes({ job: recorded, tally: left }).update(after + 1)).toEqual({ counts, status });
      },
    ),
  );
});

test.each<Outcome>(["offline", "timeout"])("a target of a job that has ended as %s stays so", (recorded) => {
  const settled: Settled = { status: "failed", counts: { [recorded]: 1 }, finishedAt: deadline, offline: [] };
  const ended = job(["a"], { settled: { ...settled, offline: recorded === "offline" ? ["a"] : [] } });
  const tally = createTally(ended);
  const outcome = () => standingOf(ended, tally, () => false, after).outcomes.get("a");
  tally.note(event("a"));
  expect(outcome()).toBe(recorded);
  // It is shown, once.
  expect(tally.note(event("a", returned(true), after))).toBe(true);
  expect(tally.note(event("a", returned(true), after + 1))).toBe(false);
  expect([outcome(), tally.open, tally.lastReturnAt]).toEqual([recorded, 1, 0]);
  // One that came in time, and was read later, is not late.
  tally.note(event("a", returned(true), deadline));
  expect(outcome()).toBe("ok");
});

test("a return changes no outcome from the deadline on, however short after it, and is late", () => {
  const tally = createTally(job(["a", "b", "c"]));
  const outcomes = () => standingOf(job(["a", "b", "c"]), tally, () => false, after).outcomes;
  tally.note(event("a"));
  const before = new Map(outcomes());
  expect([...before.values()]).toEqual(["timeout", "offline", "offline"]);
  const late = [event("a", returned(true), deadline + 1), event("b", returned(false, "lost"), deadline + 1)];
  for (const one of late) {
    expect([isLate(one, job(["a"])), tally.note(one)]).toEqual([true, true]);
  }
  expect(outcomes()).toEqual(before);
  // A peel that stopped the function at the deadline reports it a moment later.
  const stopped = event("c", returned(false, "timeout"), deadline + 5);
  expect([isLate(stopped, job(["c"])), tally.note(stopped), outcomes().get("c")]).toEqual([
    ...[false, true],
    "timeout",
  ]);
  // A run of a schedule is reported whenever its peel comes back.
  expect(isLate(event("a", returned(true), after), job(["a"], { schedule: "nightly" }))).toBe(false);
});

test("repeated events change nothing, and acknowledgements may arrive in any order", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 20 }), (events) => {
      const once = createTally(job(peels));
      const again = createTally(job(peels));
      for (const one of events) once.note(one);
      for (const one of [...events, ...events.filter(({ return: value }) => value === undefined)].sort(
        (a, b) => Number(a.return !== undefined) - Number(b.return !== undefined),
      )) {
        again.note(one);
        again.note(one);
      }
      for (const peel of peels) expect(again.known(peel)).toEqual(once.known(peel));
    }),
  );
});

test("a target is open again when its return is not stored, unless it acknowledged the job", () => {
  const tally = createTally(job(["a", "b"]));
  const ended = { success: true, retcode: 0, started_at: "", duration_ms: 1 };
  for (const peel of ["a", "b"]) tally.note({ jid: "j", peel, at: 1, return: ended });
  tally.note({ jid: "j", peel: "b", at: 2 });
  expect([tally.reopen("b"), tally.reopen("stranger"), tally.open]).toEqual([false, false, 0]);
  expect([tally.reopen("a"), tally.reopen("a"), tally.open]).toEqual([true, false, 1]);
  expect(tally.note({ jid: "j", peel: "a", at: 3, return: ended })).toBe(true);
  expect(tally.open).toBe(0);
});
