import type { CronExpression } from "../../base/cron.ts";

// When entries run, as pure functions of two clocks. The wall clock may jump in both directions; uptime only
// moves forward, and goes on while the host sleeps. An entry with an interval lives on uptime, so no jump of
// the wall clock touches it. An entry with a cron expression lives on the wall clock, and is planned anew
// when that clock was set back.

/** One moment on both clocks, milliseconds. */
export interface Moment {
  /** Since the Unix epoch. */
  wall: number;
  /** Only differences mean anything. */
  uptime: number;
}

/** When an entry runs: every so many milliseconds, or when a cron expression says so. */
export interface Timing {
  repeat: { every: number } | { cron: CronExpression };
  /** Each run starts up to this much later, milliseconds. */
  splay: number;
  /** Runs first when the scheduler starts. */
  onStart: boolean;
}

/** The next run of an entry. */
export interface Plan {
  /** Which clock `due` and `startAt` are on. */
  clock: keyof Moment;
  due: number;
  /** `due` and the part of the splay that this run got. */
  startAt: number;
  /** The instant of the wall clock that the last run was for. */
  last?: number;
  /** The wall clock when the plan was last looked at. */
  seenWall: number;
}

/** A number in [0, 1). */
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
 * Looks at a plan again.
 *
 * However long nobody looked, and wherever the wall clock went, an entry that is due runs once. Between two
 * runs lies at most the period and the splay: for an interval in time that passed, for a cron expression two
 * of its instants on the wall clock.
 *
 * @returns whether the entry runs now, and the plan from here on
 */
export function look(timing: Timing, plan: Plan, now: Moment, spread: Spread): { run: boolean; plan: Plan } {
  if (now[plan.clock] >= plan.startAt) return { run: true, plan: planAfter(timing, plan, now, spread) };
  const setBack = now.wall < plan.seenWall;
  const seen = { ...plan, seenWall: now.wall };
  if (!setBack || plan.clock !== "wall" || !("cron" in timing.repeat)) return { run: false, plan: seen };
  const due = nextInstant(timing.repeat.cron, now.wall, plan.last);
  if (due === plan.due) return { run: false, plan: seen };
  return { run: false, plan: spreadOver(timing, spread, { ...plan, due }, now) };
}

/** How long until a plan may be due, milliseconds. */
export function waitFor(plan: Plan, now: Moment): number {
  return Math.max(0, plan.startAt - now[plan.clock]);
}

/** The plan after a run that starts now. */
function planAfter(timing: Timing, plan: Plan, now: Moment, spread: Spread): Plan {
  if ("every" in timing.repeat) {
    const { every } = timing.repeat;
    // On time it keeps its rhythm. Runs that were missed are gone: the rhythm begins anew.
    const inRhythm = plan.due + every;
    const due = inRhythm > now.uptime ? inRhythm : now.uptime + every;
    return spreadOver(timing, spread, { clock: "uptime", due }, now);
  }
  const last = plan.clock === "wall" ? { last: plan.due } : {};
  const due = nextInstant(timing.repeat.cron, now.wall, plan.clock === "wall" ? plan.due : undefined);
  return spreadOver(timing, spread, { clock: "wall", due, ...last }, now);
}

/**
 * The next instant of an expression, without the one the last run was for: a clock that was set back a
 * little comes to it again. Set back over several, the clock is believed, or nothing would run for as long.
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
