import { type Clock, untilAborted } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { probeStorage } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { readMasterBeat } from "../../fleet/masters/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import { judgeClock } from "./judge.ts";

const measureMs = 10_000;
const answerMs = 5_000;
/** A jump of the clock is noticed within this time, and the clock is compared at once. */
const checkMs = 1_000;
const jumpMs = 2_000;

/** The clock of this host, compared with that of the bus and those of the other masters. */
export interface ClockWatch {
  /** By how much the clock is ahead of the bus, milliseconds; `undefined` while that is not known. */
  readonly aheadMs: number | undefined;
  /** `clock` of /readyz. */
  check(): CheckResult;
  /** Resolves when the clock is sound. @throws the reason of the signal */
  untilSound(signal: AbortSignal): Promise<void>;
  /** A signal that aborts when the clock is no longer sound, or the given one aborts. */
  whileSound(signal: AbortSignal): AbortSignal;
  stop(): void;
}

/**
 * Compares the clock with the bus every ten seconds, by the time stamp of a value that it stores, and asks for
 * the other masters only when the two differ. Between comparisons it compares the clock with the monotonic
 * one. While the bus gives no answer, what was known last counts; before the first answer the clock counts as
 * sound, because a bus that stores nothing takes no decision either.
 *
 * @param options.name of this master
 */
export async function watchClock(options: {
  bus: Bus;
  heartbeats: Pick<Bucket, "entries">;
  name: string;
  clock: Clock;
  log: Log;
}): Promise<ClockWatch> {
  const { bus, heartbeats, name, clock, log } = options;
  /** The last comparison: the difference, and what the wall clock was ahead of the monotonic one. */
  let compared: { ahead: number; wall: number } | undefined;
  let others: readonly number[] = [];
  let known: CheckResult["status"] = "up";
  let changed = Promise.withResolvers<void>();
  const wall = () => clock.now() - clock.monotonic();

  const aheadMs = () => (compared === undefined ? undefined : compared.ahead + wall() - compared.wall);
  const judge = (): CheckResult => judgeClock({ own: aheadMs() ?? 0, others });
  const report = () => {
    // A waiting caller gets the current state of the clock, which may have changed before it was reported.
    changed.resolve();
    changed = Promise.withResolvers();
    const { status, message = "" } = judge();
    if (status === known) return;
    if (status === "up") log.info("the clock of this host is right again");
    else log[status === "down" ? "error" : "warn"]("the clock differs from the others", { reason: message });
    known = status;
  };
  const measure = async () => {
    const before = clock.now();
    const { storedAt } = await probeStorage(bus, "master-probe", `${name}-clock`, answerMs);
    const after = clock.now();
    // The value was stored at some moment between the two: only what exceeds that is a difference.
    const ahead = Math.max(0, before - storedAt) - Math.max(0, storedAt - after);
    const differs = judgeClock({ own: ahead, others: [] }).status !== "up";
    others = differs ? await readOthers(heartbeats, name) : [];
    compared = { ahead, wall: wall() };
  };
  const measureAndReport = () =>
    measure()
      .catch((thrown) => log.debug("the clock was not compared", { reason: describeError(thrown) }))
      .then(report);
  /** After a jump the clock may be right for the first time, or after a suspended machine resumed. */
  const check = () => {
    if (compared === undefined || Math.abs(wall() - compared.wall) <= jumpMs) return;
    void measureAndReport();
  };

  await measureAndReport();
  const timers = [clock.every(measureMs, () => void measureAndReport()), clock.every(checkMs, check)];
  return {
    get aheadMs() {
      return aheadMs();
    },
    check: judge,
    async untilSound(signal) {
      while (judge().status === "down") {
        await Promise.race([changed.promise, untilAborted(signal)]);
        signal.throwIfAborted();
      }
    },
    whileSound(signal) {
      const unsound = new AbortController();
      const follow = async () => {
        while (!signal.aborted && judge().status !== "down") {
          await Promise.race([changed.promise, untilAborted(signal)]);
        }
        unsound.abort(new Error("the clock of this host is wrong"));
      };
      void follow();
      return AbortSignal.any([signal, unsound.signal]);
    },
    stop() {
      for (const timer of timers) timer.cancel();
    },
  };
}

/** What the other live masters report of their clocks. */
async function readOthers(heartbeats: Pick<Bucket, "entries">, name: string): Promise<number[]> {
  const entries = await heartbeats.entries();
  return entries.flatMap(({ key, value }) => {
    const ahead = key === name ? undefined : readMasterBeat(value)?.clock_ahead_ms;
    return ahead === undefined ? [] : [ahead];
  });
}
