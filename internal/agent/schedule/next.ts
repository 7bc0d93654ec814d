import type { CronExpression } from "../../base/cron.ts";

// Computes when entries run, as pure functions of two clocks. The wall clock may jump in both directions;
// uptime only moves forward, also while the host sleeps. An entry with an interval uses uptime, so jumps of
// the wall clock do not affect it. An entry with a cron expression uses the wall clock, and is rescheduled
// when that clock was set back.

/** A point in time on both clocks, in milliseconds. */
export interface Moment {
  /** Since the Unix epoch. */
  wall: number;
  /** Only differences are meaningful. */
  uptime: number;
}

/** The timing of an entry: an interval in milliseconds, or a cron expression. */
export interface Timing {
  repeat: { every: number } | { cron: CronExpression };
  /** Maximum random delay of each run, in milliseconds. */
  splay: number;
  /** Whether the first run is at the start of the scheduler. */
  onStart: boolean;
}

/** The next run of an entry. */
export interface Plan {
  /** The clock of `due` and `startAt`. */
  clock: keyof Moment;
  due: number;
  /** `due` plus the random delay of this run. */
  startAt: number;
  /** The wall clock time that the last run was due at. */
  last?: number;
  /** The wall clock time when the plan was last checked. */
  seenWall: number;
}

/** Returns a number in [0, 1). */
export type Spread = () => number;

/** Plans the first run of an entry. */
export function firstPlan(timing: Timing, now: Moment, spread: Spread): Plan {
  if (timing.onStart) return spreadOver(timing, spread, { clock: "uptime", due: now.uptime }, now);
  if ("every" in timing.repeat) {
    return spreadOver(timing, spread, { clock: "uptime", due: now.uptime + timing.repeat.every }, now);
  }
  return spreadOver(timing, spread, { clock: "wall", due: timing.repeat.cron.next(now.wall) }, now);
}

/**
 * Checks a plan.
 *
 * A due entry runs once, regardless of how long it was not checked or how the wall clock changed. The time
 * between two runs is at most the period plus the splay: for an interval in elapsed time, for a cron
 * expression between two of its times on the wall clock.
 *
 * @returns whether the entry runs now, and the new plan
 */
export function evaluate(
  timing: Timing,
  plan: Plan,
  now: Moment,
  spread: Spread,
): { run: boolean; plan: Plan } {
  if (now[plan.clock] >= plan.startAt) return { run: true, plan: planAfter(timing, plan, now, spread) };
  const setBack = now.wall < plan.seenWall;
  const seen = { ...plan, seenWall: now.wall };
  if (!setBack || plan.clock !== "wall" || !("cron" in timing.repeat)) return { run: false, plan: seen };
  const due = nextInstant(timing.repeat.cron, now.wall, plan.last);
  if (due === plan.due) return { run: false, plan: seen };
  return { run: false, plan: spreadOver(timing, spread, { ...plan, due }, now) };
}

/** Time until a plan may be due, in milliseconds. */
export function waitFor(plan: Plan, now: Moment): number {
  return Math.max(0, plan.startAt - now[plan.clock]);
}

/** The plan after a run that starts now. */
function planAfter(timing: Timing, plan: Plan, now: Moment, spread: Spread): Plan {
  if ("every" in timing.repeat) {
    const { every } = timing.repeat;
    // A run on time keeps its rhythm. After missed runs, which are not repeated, a new rhythm starts.
    const inRhythm = plan.due + every;
    const due = inRhythm > now.uptime ? inRhythm : now.uptime + every;
    return spreadOver(timing, spread, { clock: "uptime", due }, now);
  }
  const last = plan.clock === "wall" ? { last: plan.due } : {};
  const due = nextInstant(timing.repeat.cron, now.wall, plan.clock === "wall" ? plan.due : undefined);
  return spreadOver(timing, spread, { clock: "wall", due, ...last }, now);
}

/**
 * The next time of an expression, except the one of the last run, which a clock that was set back slightly
 * reaches again. A clock that was set back over several times is trusted; otherwise nothing would run until
 * it catches up.
 */
function nextInstant(cron: CronExpression, wall: number, last: number | undefined): number {
  const next = cron.next(wall);
  return next === last ? cron.next(next) : next;
}

function spreadOver(
  { splay }: Timing,
  spread: Spread,
  plan: Pick<Plan, "clock" | "due" | "last">,
  now: Moment,
): Plan {
  return { ...plan, startAt: plan.due + Math.floor(spread() * splay), seenWall: now.wall };
}
