import { existsSync } from "node:fs";
import { sleep } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import {
  type LowState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../function/mod.ts";
import { type Refusal, refusedBy, succeeds } from "./conditions.ts";
import type { Outcome } from "./result.ts";

export interface Execution {
  test: boolean;
  context: StateContext;
  /** Returns a number in [0, 1), used to spread retries. */
  jitter: () => number;
  /** Does work on a state while no other state does work on the same things. */
  alone<Value>(state: LowState, work: () => Promise<Value>): Promise<Value>;
}

/**
 * Runs the function of a state whose requisites are met, with retries as its `retry` says. Never throws: a
 * failure is an outcome.
 *
 * @param watched whether a watched state changed
 */
export async function runState(
  state: LowState,
  called: StateFunction,
  watched: boolean,
  execution: Execution,
): Promise<Outcome> {
  const { clock, signal } = execution.context;
  const { retry } = state;
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptState(state, called, watched, execution);
    if (retry === undefined || execution.test || outcome.skipped !== undefined) return outcome;
    if (outcome.result === retry.until || attempt >= retry.attempts || signal.aborted) {
      return attempt === 1 ? outcome : { ...outcome, comment: `${outcome.comment} (attempt ${attempt})` };
    }
    const waiting = retry.intervalMs + retry.splayMs * execution.jitter();
    // A cancelled run keeps the outcome of the last attempt.
    await sleep(clock, waiting, signal).catch(() => undefined);
    if (signal.aborted) return outcome;
    // What it waits for may have come about by itself, or by a state that runs in parallel.
    execution.context.cache.clear();
  }
}

/**
 * Decides by its conditions whether a state runs, before others run at the same time. Never throws.
 *
 * @returns the outcome of a state that does not run, or the state to run whatever they say later
 */
export async function settleConditions(
  state: LowState,
  execution: Execution,
): Promise<{ outcome: Outcome } | { settled: LowState }> {
  try {
    const outcome = await skippedBy(state, execution.context);
    if (outcome !== undefined) return { outcome: await checked(state, outcome, execution) };
    return { settled: { ...state, onlyif: [], unless: [], creates: [] } };
  } catch (thrown) {
    return { outcome: failureOf(thrown, execution.context) };
  }
}

/** Plans a state that is the target of a `prereq`. @returns whether it would change something */
export async function wouldChange(
  state: LowState,
  called: StateFunction,
  { context }: Execution,
): Promise<boolean> {
  try {
    if ((await refusedBy(state, context)) !== undefined) return false;
    const plan = await called.plan(state.name, state.args, context);
    if (plan.rehearse !== undefined) return Object.keys((await plan.rehearse()).changes).length > 0;
    return plan.apply !== undefined;
  } catch {
    // The state reports the failure when it runs.
    return false;
  }
}

/** Runs the additional action of a state after a watched state changed. */
export async function runWatch(
  state: LowState,
  called: StateFunction,
  execution: Execution,
): Promise<Outcome> {
  try {
    return await checked(state, await actOnWatch(state, called, execution), execution);
  } catch (thrown) {
    return failureOf(thrown, execution.context);
  }
}

async function attemptState(
  state: LowState,
  called: StateFunction,
  watched: boolean,
  execution: Execution,
): Promise<Outcome> {
  try {
    return await checked(state, await attempt(state, called, watched, execution), execution);
  } catch (thrown) {
    return failureOf(thrown, execution.context);
  }
}

/** What comes of a state before its `check_cmd` has a say. */
async function attempt(
  state: LowState,
  called: StateFunction,
  watched: boolean,
  execution: Execution,
): Promise<Outcome> {
  const { test, context } = execution;
  const skipped = await skippedBy(state, context);
  if (skipped !== undefined) return skipped;
  const outcome = await execution.alone(state, () =>
    planned(() => called.plan(state.name, state.args, context), test, context),
  );
  // A state that just changed is already up to date: a service that was just started needs no restart.
  const settled = outcome.result === true && Object.keys(outcome.changes).length === 0;
  return watched && settled ? await actOnWatch(state, called, execution, outcome) : outcome;
}

/** @param without the outcome of a state that has no such action */
async function actOnWatch(
  { name, args }: LowState,
  { onWatch }: StateFunction,
  { test, context }: Execution,
  without: Outcome = { result: true, changes: {}, comment: "" },
): Promise<Outcome> {
  return onWatch === undefined ? without : planned(() => onWatch(name, args, context), test, context);
}

/** The outcome of a state that need not run, by its conditions or by what it `creates`. */
async function skippedBy(state: LowState, context: StateContext): Promise<Outcome | undefined> {
  const refused = await refusedBy(state, context);
  if (refused !== undefined) {
    return { result: true, changes: {}, comment: `not run: ${reasonOf(refused)}`, skipped: refused.argument };
  }
  const { creates } = state;
  if (creates.length === 0 || !creates.every((path) => existsSync(path))) return undefined;
  const comment = `not run: ${creates.join(", ")} exists`;
  return { result: true, changes: {}, comment, skipped: "creates" };
}

function reasonOf({ argument, problem }: Refusal): string {
  if (problem !== undefined) return `the command of ${argument} cannot be started: ${problem}`;
  return argument === "onlyif" ? "onlyif does not hold" : "unless holds";
}

/**
 * Runs the commands of `check_cmd`, which decide whether a state has succeeded, as in Salt: one that failed as well,
 * and one that need not run.
 */
async function checked(
  { checks }: LowState,
  outcome: Outcome,
  { test, context }: Execution,
): Promise<Outcome> {
  if (test || checks.length === 0 || context.signal.aborted) return outcome;
  for (const command of checks) {
    if (await succeeds(command, context)) continue;
    const { changes, comment } = outcome;
    return { result: false, changes, comment: `${comment}; check_cmd failed: ${command}` };
  }
  if (outcome.result === true) return outcome;
  return { ...outcome, result: true, comment: `check_cmd succeeded after a failure: ${outcome.comment}` };
}

/** Plans and carries out. A failure that the function reports is an outcome. */
async function planned(
  plan: () => Promise<Plan> | Plan,
  test: boolean,
  context: StateContext,
): Promise<Outcome> {
  try {
    const made = plan();
    return await carryOut(made instanceof Promise ? await made : made, test, context);
  } catch (thrown) {
    if (thrown instanceof SvcError) return failureOf(thrown, context);
    throw thrown;
  }
}

async function carryOut(
  { changes, comment, apply, rehearse }: Plan,
  test: boolean,
  { cache }: StateContext,
): Promise<Outcome> {
  if (apply === undefined) return { result: true, changes: {}, comment };
  if (test && rehearse !== undefined) {
    const rehearsed = await rehearse();
    return { ...rehearsed, result: Object.keys(rehearsed.changes).length > 0 ? null : true };
  }
  if (test) return { result: null, changes, comment };
  try {
    const done = await apply();
    return { result: true, changes: done?.changes ?? changes, comment: done?.comment ?? comment };
  } finally {
    cache.clear();
  }
}

function failureOf(thrown: unknown, { signal }: StateContext): Outcome {
  const changes = thrown instanceof StateFailure ? thrown.changes : {};
  if (signal.aborted) return { result: false, changes, comment: "stopped: the run was cancelled" };
  const comment = thrown instanceof SvcError ? thrown.message : `unexpected error: ${describeError(thrown)}`;
  return { result: false, changes, comment };
}
