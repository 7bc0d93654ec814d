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
import { holds, refusedBy } from "./conditions.ts";
import type { Outcome } from "./result.ts";

export interface Execution {
  test: boolean;
  context: StateContext;
  /** Returns a number in [0, 1), used to spread retries. */
  jitter: () => number;
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
    return (await called.plan(state.name, state.args, context)).apply !== undefined;
  } catch {
    // The state reports the failure when it runs.
    return false;
  }
}

/** Runs the additional action of a state after a watched state changed. */
export async function runWatch(
  state: LowState,
  called: StateFunction,
  { test, context }: Execution,
): Promise<Outcome> {
  try {
    const plan = await called.onWatch?.(state.name, state.args, context);
    return plan === undefined
      ? { result: true, changes: {}, comment: "" }
      : await carryOut(plan, test, context);
  } catch (thrown) {
    return failureOf(thrown, context);
  }
}

async function attemptState(
  state: LowState,
  called: StateFunction,
  watched: boolean,
  execution: Execution,
): Promise<Outcome> {
  const { test, context } = execution;
  try {
    if (state.onlyif.length > 0 || state.unless.length > 0) {
      const skipped = await refusedBy(state, context);
      if (skipped === "onlyif")
        return { result: true, changes: {}, comment: "not run: onlyif does not hold", skipped };
      if (skipped === "unless")
        return { result: true, changes: {}, comment: "not run: unless holds", skipped };
    }
    if (state.creates.length > 0 && state.creates.every((path) => existsSync(path))) {
      return {
        result: true,
        changes: {},
        comment: `not run: ${state.creates.join(", ")} exists`,
        skipped: "creates",
      };
    }
    const planned = called.plan(state.name, state.args, context);
    const outcome = await checked(
      state,
      await carryOut(planned instanceof Promise ? await planned : planned, test, context),
      execution,
    );
    // A state that just changed is already up to date: a service that was just started needs no restart.
    const settled = outcome.result === true && Object.keys(outcome.changes).length === 0;
    if (!watched || called.onWatch === undefined || !settled) return outcome;
    return await runWatch(state, called, execution);
  } catch (thrown) {
    return failureOf(thrown, context);
  }
}

/** Runs the commands of `check_cmd` after a state that succeeded. */
async function checked(
  { checks }: LowState,
  outcome: Outcome,
  { test, context }: Execution,
): Promise<Outcome> {
  if (test || outcome.result !== true) return outcome;
  for (const command of checks) {
    if (await holds(command, context)) continue;
    return { ...outcome, result: false, comment: `${outcome.comment}; check_cmd failed: ${command}` };
  }
  return outcome;
}

async function carryOut(
  { changes, comment, apply }: Plan,
  test: boolean,
  { cache }: StateContext,
): Promise<Outcome> {
  if (apply === undefined) return { result: true, changes: {}, comment };
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
