import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runProgram } from "../../../test/harness/process.ts";
import { parseCron } from "../../base/cron.ts";
import { evaluate, firstPlan, type Moment, type Plan, type Timing, waitFor } from "./next.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 1, 12, 30);
const none = () => 0;

/** An event of the clocks: time passes, or the wall clock is set. */
type Happening = { pass: number } | { set: number };

interface Run {
  /** Uptime at which it started. */
  at: number;
  wall: number;
}

/** Checks an entry as the scheduler does: when it may be due, and at least every minute. */
function simulate(timing: Timing, happenings: readonly Happening[], spread: () => number = none) {
  const now: Moment = { wall: start, uptime: 0 };
  let plan: Plan = firstPlan(timing, now, spread);
  const runs: Run[] = [];
  const instants: number[] = [];
  let checkAt = 0;
  const checkNow = () => {
    const before = plan;
    const evaluated = evaluate(timing, plan, now, spread);
    plan = evaluated.plan;
    checkAt = now.uptime + Math.min(minute, Math.max(1, waitFor(plan, now)));
    if (!evaluated.run) return;
    runs.push({ at: now.uptime, wall: now.wall });
    if (before.clock === "wall") instants.push(before.due);
  };
  checkNow();
  for (const happening of happenings) {
    if ("set" in happening) {
      // A timer set before is not affected.
      now.wall += happening.set;
      continue;
    }
    for (let left = happening.pass; left > 0; ) {
      const wait = Math.min(left, checkAt - now.uptime);
      now.wall += wait;
      now.uptime += wait;
      left -= wait;
      if (now.uptime >= checkAt) checkNow();
    }
  }
  return { runs, instants, plan };
}

/** The host sleeps: both clocks jump forward, without checks in between. */
function wake(timing: Timing, plan: Plan, from: Moment, ms: number) {
  return evaluate(timing, plan, { wall: from.wall + ms, uptime: from.uptime + ms }, none);
}

const every = (ms: number, more: Partial<Timing> = {}): Timing => ({
  repeat: { every: ms },
  splay: 0,
  onStart: false,
  ...more,
});
const cron = (text: string, more: Partial<Timing> = {}): Timing => ({
  repeat: { cron: parseCron(text, "UTC") },
  splay: 0,
  onStart: false,
  ...more,
});
const clockTimes = (runs: readonly Run[]) =>
  runs.map(({ wall }) => new Date(wall).toISOString().slice(11, 19));
const runTimes = (runs: readonly Run[]) => runs.map(({ at }) => at / minute);

describe("an interval", () => {
  test("keeps its rhythm", () => {
    expect(runTimes(simulate(every(10 * minute), [{ pass: 35 * minute }]).runs)).toEqual([10, 20, 30]);
  });

  test.each([
    ["forward by a year", 365 * day],
    ["back by a year", -365 * day],
    ["back to the epoch", -start],
  ])("does not notice a clock set %s", (_, set) => {
    const { runs } = simulate(every(10 * minute), [{ pass: 5 * minute }, { set }, { pass: 30 * minute }]);
    expect(runTimes(runs)).toEqual([10, 20, 30]);
  });

  test("runs once after a sleep of the host, then in a new rhythm", () => {
    const timing = every(10 * minute);
    const from = { wall: start, uptime: 0 };
    const woken = wake(timing, firstPlan(timing, from, none), from, 8 * hour + 5_000);
    expect(woken.run).toBe(true);
    expect(woken.plan.startAt).toBe(8 * hour + 5_000 + 10 * minute);
  });

  test("runs at the start if configured, and then every period", () => {
    const { runs } = simulate(every(10 * minute, { onStart: true }), [{ pass: 25 * minute }]);
    expect(runTimes(runs)).toEqual([0, 10, 20]);
  });

  test("with a splay each run has its own delay, and the rhythm is kept", () => {
    const delays = [0.5, 0.9, 0, 0.25];
    const timing = every(10 * minute, { splay: 4 * minute });
    const { runs } = simulate(timing, [{ pass: 42 * minute }], () => delays.shift() ?? 0);
    expect(runTimes(runs)).toEqual([12, 23.6, 30, 41]);
  });

  test("shorter than its splay still runs", () => {
    const { runs } = simulate(every(minute, { splay: 5 * minute }), [{ pass: hour }], () => 0.5);
    expect(runs.length).toBe(Math.floor(60 / 3.5));
  });
});

describe("a cron expression", () => {
  test("runs at its times", () => {
    const { runs } = simulate(cron("*/20 * * * *"), [{ pass: 75 * minute }]);
    expect(clockTimes(runs)).toEqual(["12:40:00", "13:00:00", "13:20:00", "13:40:00"]);
  });

  test("runs once when the clock is set forward over many times", () => {
    const { runs } = simulate(cron("0 * * * *"), [{ set: 30 * day }, { pass: 61 * minute }]);
    // 12:30 and 30 days: the check after a minute, and then the next full hour.
    expect(clockTimes(runs)).toEqual(["12:31:00", "13:00:00"]);
  });

  test("runs once after a sleep of the host", () => {
    const timing = cron("0 * * * *");
    const from = { wall: start, uptime: 0 };
    const woken = wake(timing, firstPlan(timing, from, none), from, 8 * hour);
    expect(woken.run).toBe(true);
    expect(woken.plan.due).toBe(start + 8 * hour + 30 * minute);
  });

  test("is not repeated for the same time when the clock is set back slightly", () => {
    const { runs } = simulate(cron("0 * * * *"), [
      { pass: 30 * minute + 10_000 },
      { set: -5 * minute },
      { pass: 70 * minute },
    ]);
    expect(clockTimes(runs)).toEqual(["13:00:00", "14:00:00"]);
  });

  test("follows the clock when it is set back far", () => {
    const { runs } = simulate(cron("0 * * * *"), [
      { pass: 45 * minute },
      { set: -365 * day },
      { pass: 2 * hour },
    ]);
    expect(clockTimes(runs)).toEqual(["13:00:00", "14:00:00", "15:00:00"]);
    expect(runs[1]?.wall).toBe(start + 90 * minute - 365 * day);
  });

  test("keeps the delay of a waiting run when the clock is set back", () => {
    let drawn = 0;
    const timing = cron("0 * * * *", { splay: 10 * minute });
    const spread = () => {
      drawn++;
      return 0.5;
    };
    const { runs } = simulate(
      timing,
      [{ pass: 20 * minute }, { set: -5 * minute }, { pass: 25 * minute }],
      spread,
    );
    expect(clockTimes(runs)).toEqual(["13:05:00"]);
    expect(drawn).toBe(2);
  });

  test("with a run at the start keeps that run when the clock is set back", () => {
    const timing = cron("0 * * * *", { onStart: true, splay: 10 * minute });
    const { runs } = simulate(timing, [{ set: -day }, { pass: 6 * minute }], () => 0.5);
    expect(runTimes(runs)).toEqual([5]);
  });

  test("skips the times within its splay", () => {
    const { runs } = simulate(cron("* * * * *", { splay: 10 * minute }), [{ pass: hour }], () => 0.5);
    expect(runTimes(runs)).toEqual([6, 12, 18, 24, 30, 36, 42, 48, 54, 60]);
  });
});

describe("daylight saving time", () => {
  const spring = Date.UTC(2026, 2, 28, 23);
  const autumn = Date.UTC(2026, 9, 24, 22);
  test.each([
    ["a fixed time in the skipped hour runs once, at its end", "30 2 * * *", spring, ["01:00", "00:30"]],
    ["a list of times in that hour as well", "0,30 2 * * *", spring, ["01:00", "00:00"]],
    ["a step skips that hour", "*/30 2 * * *", spring, ["00:00", "00:30"]],
    ["every hour is every hour", "0 * * * *", spring, ["00:00", "01:00", "02:00"]],
    ["a fixed time in the repeated hour runs once", "30 2 * * *", autumn, ["00:30", "01:30"]],
    ["a list of times in that hour as well", "0,30 2 * * *", autumn, ["00:00", "00:30", "01:00"]],
    ["a step runs through both", "*/30 2 * * *", autumn, ["00:00", "00:30", "01:00", "01:30", "01:00"]],
    ["every hour is every hour", "0 * * * *", autumn, ["23:00", "00:00", "01:00", "02:00"]],
  ])("%s: %s", (_, expression, from, expected) => {
    const parsed = parseCron(expression, "Europe/Berlin");
    const instants: string[] = [];
    for (let at = from; instants.length < expected.length; ) {
      at = parsed.next(at);
      instants.push(new Date(at).toISOString().slice(11, 16));
    }
    expect(instants).toEqual(expected);
  });
});

test("an expression means the time of the host", async () => {
  const script = `import { parseCron } from "${import.meta.dir}/../../base/cron.ts";
    process.stdout.write(String(parseCron("0 3 * * *").next(Date.UTC(2026, 6, 1))));`;
  const at = async (zone: string) => {
    const { stdout } = await runProgram([process.execPath, "-e", script], { env: { TZ: zone } });
    return new Date(Number(stdout)).toISOString();
  };
  expect(await at("Asia/Tokyo")).toBe("2026-07-01T18:00:00.000Z");
  expect(await at("America/New_York")).toBe("2026-07-01T07:00:00.000Z");
});

describe("for all changes of the clocks", () => {
  const happening: fc.Arbitrary<Happening> = fc.oneof(
    fc.record({ pass: fc.integer({ min: 1, max: 3 * hour }) }),
    fc.record({ set: fc.integer({ min: -90, max: 90 }).map((minutes) => minutes * minute) }),
    fc.record({ set: fc.integer({ min: -400 * day, max: 400 * day }) }),
  );
  const happenings = fc.array(happening, { maxLength: 25, size: "max" });
  const splay = fc.constantFrom(0, 1_000, 20 * minute);
  const draws = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

  test("an interval runs at most once per elapsed period, and at least once per period", () => {
    fc.assert(
      fc.property(
        happenings,
        fc.constantFrom(minute, 7 * minute, hour),
        splay,
        draws,
        fc.boolean(),
        (all, period, splayMs, drawn, onStart) => {
          const timing = every(period, { splay: splayMs, onStart });
          const { runs } = simulate(timing, all, () => drawn.next().value);
          const passed = all.reduce((sum, one) => sum + ("pass" in one ? one.pass : 0), 0);
          expect(runs.length).toBeLessThanOrEqual(Math.floor(passed / period) + (onStart ? 1 : 0));
          const moments = [0, ...runs.map(({ at }) => at), passed];
          for (const [i, at] of moments.slice(1).entries()) {
            expect(at - (moments[i] ?? 0)).toBeLessThanOrEqual(period + splayMs);
          }
        },
      ),
    );
  });

  test("a cron expression runs at most once per time or clock jump, and never twice for the same time", () => {
    fc.assert(
      fc.property(
        happenings,
        fc.constantFrom({ text: "*/5 * * * *", period: 5 * minute }, { text: "0 * * * *", period: hour }),
        splay,
        draws,
        (all, { text, period }, splayMs, drawn) => {
          const { runs, instants } = simulate(cron(text, { splay: splayMs }), all, () => drawn.next().value);
          // Each period between two jumps has this many times, regardless of its start.
          const stretches = [0];
          for (const one of all) {
            if ("set" in one) stretches.push(0);
            else stretches.push((stretches.pop() ?? 0) + one.pass);
          }
          const came = stretches.reduce((sum, ms) => sum + Math.floor(ms / period) + 1, 0);
          const jumps = stretches.length - 1;
          for (const [i, instant] of instants.slice(1).entries()) expect(instant).not.toBe(instants[i]);
          for (const [i, instant] of instants.entries())
            expect(instant).toBeLessThanOrEqual(runs[i]?.wall ?? 0);
          expect(runs.length).toBeLessThanOrEqual(came + jumps);
        },
      ),
    );
  });

  test("after the last jump the next run comes within two times and the splay", () => {
    fc.assert(
      fc.property(happenings, splay, draws, (all, splayMs, drawn) => {
        const timing = cron("0 * * * *", { splay: splayMs });
        const calm = 2 * hour + splayMs + minute;
        const { runs } = simulate(timing, [...all, { pass: calm }], () => drawn.next().value);
        const passed = all.reduce((sum, one) => sum + ("pass" in one ? one.pass : 0), 0);
        expect(runs.some(({ at }) => at > passed)).toBe(true);
      }),
    );
  });
});
