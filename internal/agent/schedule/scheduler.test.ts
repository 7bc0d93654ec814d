import { describe, expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { isId, systemRandom, timeOfId } from "../../base/id.ts";
import type { ScheduleEntry } from "../../program/config/schedule.ts";
import type { Call } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { ScheduledRun } from "../../wire/scheduled-run.ts";
import { startScheduler } from "./scheduler.ts";
import { createUptime } from "./uptime.ts";

const minute = 60_000;
const hour = 60 * minute;
const ok: JobReturn = { success: true, retcode: 0, return: true, started_at: "", duration_ms: 1 };

const entry = (more: Partial<ScheduleEntry>): ScheduleEntry => ({
  name: "e",
  module: "test.ping",
  args: {},
  splay: 0,
  maxrunning: 1,
  run_on_start: false,
  return_job: false,
  enabled: true,
  ...more,
});

/** A scheduler whose runs are ended by the test. */
function scheduler(...entries: ScheduleEntry[]) {
  const clock = manualClock(Date.UTC(2026, 0, 1, 12, 30));
  const log = recordingLog();
  let wallAhead = 0;
  let slept = 0;
  const counts = { scheduleSkipped: 0 };
  const runs: {
    id: string;
    call: Call;
    at: number;
    end(result?: JobReturn): Promise<void>;
    fail(): Promise<void>;
  }[] = [];
  const published: { jid: string; run: ScheduledRun }[] = [];
  const started = startScheduler({
    entries,
    run(task) {
      const { promise, resolve, reject } = Promise.withResolvers<JobReturn>();
      runs.push({
        ...task,
        at: clock.monotonic() + slept,
        end: (result = ok) => {
          resolve(result);
          return settle();
        },
        fail: () => {
          reject(new Error("broken"));
          return settle();
        },
      });
      return promise;
    },
    publish: (jid, run) => published.push({ jid, run }),
    counts,
    clock: { ...clock, now: () => clock.now() + slept + wallAhead },
    uptime: () => clock.monotonic() + slept,
    spread: () => 0.5,
    random: systemRandom,
    log,
  });
  return {
    clock,
    log,
    runs,
    counts,
    published,
    stop: started.stop,
    setWall: (ms: number) => {
      wallAhead += ms;
    },
    sleepHost: (ms: number) => {
      slept += ms;
    },
    events: (event: string) => log.records.filter((record) => record.event === event),
  };
}

describe("a scheduler", () => {
  test("runs each enabled entry at its times, under its own id", async () => {
    const { clock, runs, stop } = scheduler(
      entry({ name: "often", interval: minute, args: { a: 1 } }),
      entry({ name: "hourly", cron: "0 * * * *", module: "test.hourly" }),
      entry({ name: "parked", interval: 1_000, enabled: false, run_on_start: true }),
    );
    clock.advance(30 * minute);
    // The first run of the minute occupies the only slot.
    expect(runs.map(({ call }) => call)).toEqual([
      { function: "test.ping", args: { a: 1 } },
      { function: "test.hourly", args: {} },
    ]);
    const [often, hourly] = runs;
    expect(isId("job", often?.id ?? "")).toBe(true);
    expect(timeOfId(often?.id ?? "")).toBe(Date.UTC(2026, 0, 1, 12, 31));
    expect(hourly?.id).not.toBe(often?.id);
    stop();
  });

  test("at the start runs only entries configured for it, with their splay", () => {
    const { clock, runs } = scheduler(
      entry({ name: "now", interval: hour, run_on_start: true }),
      entry({ name: "soon", cron: "0 0 1 1 *", run_on_start: true, splay: 10_000, module: "test.soon" }),
      entry({ name: "later", interval: hour }),
    );
    expect(runs.map(({ call }) => call.function)).toEqual(["test.ping"]);
    clock.advance(4_999);
    expect(runs).toHaveLength(1);
    clock.advance(1);
    expect(runs.map(({ call }) => call.function)).toEqual(["test.ping", "test.soon"]);
  });

  test("skips, counts and logs runs beyond maxrunning, and continues when one has ended", async () => {
    const { clock, runs, counts, events } = scheduler(entry({ interval: minute, maxrunning: 2 }));
    clock.advance(4 * minute);
    expect(runs).toHaveLength(2);
    expect(
      events("scheduled job skipped: the previous run is still active").map(({ fields }) => fields),
    ).toEqual([
      { schedule: "e", running: 2, skipped: 1 },
      { schedule: "e", running: 2, skipped: 2 },
    ]);
    expect(counts.scheduleSkipped).toBe(2);
    await runs[0]?.end();
    clock.advance(minute);
    expect(runs).toHaveLength(3);
  });

  test("frees the slot of a failed run, and logs the failure", async () => {
    const { clock, runs, events } = scheduler(entry({ interval: minute }));
    clock.advance(minute);
    await runs[0]?.fail();
    expect(events("scheduled job lost")).toHaveLength(1);
    clock.advance(minute);
    expect(runs).toHaveLength(2);
  });

  test("publishes only the results of entries with return_job, including failures", async () => {
    const { clock, runs, published, events } = scheduler(
      entry({ name: "told", interval: minute, args: { a: 1 }, return_job: true }),
      entry({ name: "kept", interval: minute }),
    );
    clock.advance(minute);
    const failed: JobReturn = { ...ok, success: false, retcode: 1, error: "no" };
    await runs[0]?.end(failed);
    await runs[1]?.end();
    expect(published).toEqual([
      {
        jid: runs[0]?.id ?? "",
        run: { schedule: "told", call: { function: "test.ping", args: { a: 1 } }, result: failed },
      },
    ]);
    expect(events("scheduled job failed")[0]?.fields).toMatchObject({ schedule: "told", error: "no" });
    expect(events("scheduled job done")[0]?.fields).toMatchObject({ schedule: "kept" });
  });

  test("starts nothing after it is stopped", () => {
    const { clock, runs, stop } = scheduler(entry({ interval: minute }));
    stop();
    clock.advance(hour);
    expect(runs).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("without entries has no timer", () => {
    expect(scheduler(entry({ enabled: false, interval: 1 })).clock.pending).toBe(0);
  });
});

describe("within a minute a scheduler notices", () => {
  test("a host that slept: an overdue interval runs once", async () => {
    const { clock, runs, sleepHost } = scheduler(entry({ interval: hour }));
    clock.advance(10 * minute);
    sleepHost(9 * hour);
    clock.advance(minute);
    expect(runs).toHaveLength(1);
    await runs[0]?.end();
    clock.advance(58 * minute);
    expect(runs).toHaveLength(1);
    clock.advance(2 * minute);
    expect(runs).toHaveLength(2);
  });

  test("a clock set forward: a cron entry runs once", () => {
    const { clock, runs, setWall } = scheduler(entry({ cron: "0 * * * *", maxrunning: 10 }));
    setWall(100 * hour);
    clock.advance(minute);
    expect(runs).toHaveLength(1);
    clock.advance(28 * minute);
    expect(runs).toHaveLength(1);
  });

  test("a clock set back: a cron entry follows it", () => {
    const { clock, runs, setWall } = scheduler(entry({ cron: "0 * * * *", maxrunning: 10 }));
    clock.advance(31 * minute);
    expect(runs).toHaveLength(1);
    setWall(-100 * hour);
    clock.advance(hour);
    expect(runs).toHaveLength(2);
  });
});

describe("uptime", () => {
  test("includes the time the host sleeps, without accumulating rounding errors", () => {
    const clock = manualClock(0);
    let asleep = 0;
    const uptime = createUptime(clock, () => `${((clock.monotonic() + asleep) / 1000).toFixed(2)} 1.00\n`);
    for (let i = 0; i < 1_000; i++) {
      clock.advance(7);
      uptime();
    }
    expect(uptime()).toBeGreaterThanOrEqual(7_000);
    expect(uptime()).toBeLessThanOrEqual(7_010);
    asleep = hour;
    expect(Math.abs(uptime() - hour - 7_000)).toBeLessThanOrEqual(10);
    asleep = 0;
    expect(uptime()).toBeGreaterThan(hour);
  });

  test("is the monotonic clock where the host provides no uptime", () => {
    const clock = manualClock(5);
    for (const read of [
      () => "",
      () => {
        throw new Error("no such file");
      },
    ]) {
      const uptime = createUptime(clock, read);
      clock.advance(100);
      expect(uptime()).toBe(100);
    }
  });

  test("of this host moves forward", () => {
    const clock = manualClock(0);
    expect(createUptime(clock)()).toBeGreaterThanOrEqual(0);
  });
});
