import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { CallArgs, CallContext } from "../../host/modules/mod.ts";
import type { Changes, LowState, StateFunction } from "../function/mod.ts";
import type { CompiledStates } from "../language/mod.ts";
import { type Companions, companionsOf, shareChanges } from "./companions.ts";
import { contextOf } from "./context.ts";
import { decide, type Met } from "./decide.ts";
import { labelOf, metOf } from "./met.ts";
import {
  isChanged,
  type Outcome,
  resultOf,
  type StateReport,
  type StateResult,
  summarize,
} from "./result.ts";
import { type Execution, runState, runWatch, settleConditions } from "./run-state.ts";
import { createTurns } from "./turns.ts";
import { createUnderway } from "./underway.ts";
import { waitsOf } from "./waits.ts";

export interface RunOptions {
  /** Changes nothing; results say what would change. */
  test: boolean;
  clock: Clock;
  facts: CallContext["facts"];
  settings: CallContext["settings"];
  /** Ends the run between two states, and aborts the running state. */
  signal: AbortSignal;
  /** Runs an execution function of the peel. */
  call(name: string, args: CallArgs): Promise<Plain>;
  /** Returns a number in [0, 1), used to spread retries. */
  jitter: () => number;
  /** Ends the run after the first failed state, regardless of its `failhard`. */
  failhard?: boolean;
  /** Called before each state. */
  onStart?(state: LowState): void;
  /** Called after each state; `planned` is the number of states, without those that `listen` adds. */
  onProgress?(result: StateResult, planned: number): void;
}

/** How many states with `parallel` run at the same time. */
const maxParallel = 8;

/**
 * Runs states one after the other, except those with `parallel`. The caller ensures that a peel has only one run at
 * a time.
 *
 * A failed state is a result, never an exception. States that depend on it fail too; the others still run.
 */
export async function runStates(compiled: CompiledStates, options: RunOptions): Promise<StateReport> {
  const run = new Run(compiled, options);
  return run.whole();
}

class Run {
  private readonly compiled: CompiledStates;
  private readonly options: RunOptions;
  private readonly execution: Execution;
  /** By `order`; states added by `listen` come after. */
  private readonly results = new Map<number, StateResult>();
  /** States that run in parallel, by `order`. */
  private readonly underway = createUnderway<number>(maxParallel);
  /** What a state with `aggregate` changed for later ones, by their `order`. */
  private readonly done = new Map<number, { by: LowState; changes: Changes }>();
  private stopped: StateReport["stopped"];

  constructor(compiled: CompiledStates, options: RunOptions) {
    this.compiled = compiled;
    this.options = options;
    const isParallel = compiled.states.some(({ parallel }) => parallel);
    this.execution = {
      test: options.test,
      context: contextOf(compiled, options),
      jitter: options.jitter,
      alone: isParallel ? createTurns() : (_, work) => work(),
    };
  }

  async whole(): Promise<StateReport> {
    const { clock, signal, test } = this.options;
    const { states } = this.compiled;
    const started = clock.monotonic();
    const waits = waitsOf(states);
    for (const state of states) {
      await this.underway.ended(waits.get(state.order) ?? []);
      if (state.parallel) await this.underway.room();
      if (signal.aborted || this.stopped !== undefined) break;
      await this.begin(state);
    }
    await this.underway.all();
    if (this.stopped === undefined && !signal.aborted) await this.listeners();
    if (signal.aborted) this.stopped = "cancelled";
    const results = [...this.results.values()].sort((one, other) => one.order - other.order);
    const summary = summarize(results, states.length, Math.round(clock.monotonic() - started));
    return { test, states: results, summary, ...defined({ stopped: this.stopped }) };
  }

  /** Runs a state to its end, or begins one with `parallel`. */
  private async begin(state: LowState): Promise<void> {
    const end = this.timer(state);
    const execution = this.executionFor(state);
    const decision = await this.decideOn(state, execution);
    const finish = async () => {
      const outcome = "outcome" in decision ? decision.outcome : await this.carryOut(decision, execution);
      const result = end(await this.reported(state, outcome));
      const isFatal = state.failhard || this.options.failhard === true;
      if (result.result === false && isFatal) this.stopped = "failhard";
    };
    if (!state.parallel || "outcome" in decision) return finish();
    this.underway.begin(state.order, async () => {
      await finish();
      this.execution.context.cache.clear();
    });
  }

  /**
   * While another state may change the host, each has observations of its own. A state with `parallel` does not set
   * variables for others, as in Salt.
   */
  private executionFor({ parallel }: LowState): Execution {
    const { context } = this.execution;
    if (!parallel && this.underway.size === 0) return this.execution;
    const environment = parallel ? new Map(context.environment) : context.environment;
    return { ...this.execution, context: { ...context, environment, cache: new Map() } };
  }

  /** Starts the clock of a state. @returns what ends it, and keeps the result */
  private timer(state: LowState): (outcome: Outcome) => StateResult {
    const { clock, onStart, onProgress } = this.options;
    onStart?.(state);
    const started = clock.monotonic();
    const started_at = rfc3339(clock.now());
    return (outcome) => {
      const duration_ms = Math.round((clock.monotonic() - started) * 1000) / 1000;
      const result = resultOf(state, outcome, { duration_ms, started_at });
      this.results.set(state.order, result);
      onProgress?.(result, this.compiled.states.length);
      return result;
    };
  }

  /** The outcome, after the event that the state asks for was sent. */
  private async reported(state: LowState, outcome: Outcome): Promise<Outcome> {
    if (state.event === undefined || this.options.test) return outcome;
    const { id, name, function: called } = state;
    const data = { id, name, function: called, result: outcome.result, changed: isChanged(outcome) };
    try {
      await this.options.call("event.send", { tag: state.event, data });
      return outcome;
    } catch (thrown) {
      return { ...outcome, comment: `${outcome.comment}; the event was not sent: ${describeError(thrown)}` };
    }
  }

  /** Decides before anything else begins: what a parallel state waits for is settled in order. */
  private async decideOn(state: LowState, execution: Execution): Promise<Decided> {
    const met: Met[] = [];
    const { states } = this.compiled;
    const soFar = { states, results: this.results, execution: this.execution, functionOf: this.functionOf };
    for (const requisite of state.requisites) met.push(await metOf(requisite, soFar));
    const decision = decide(met);
    if (decision.act !== "run") {
      const result = decision.act === "skip";
      return { outcome: { result, changes: {}, comment: decision.reason, skipped: "requisite" } };
    }
    const { watched } = decision;
    if (!state.parallel) return { state, watched };
    const conditions = await settleConditions(state, execution);
    return "outcome" in conditions ? conditions : { state: conditions.settled, watched };
  }

  private async carryOut({ state, watched }: Due, execution: Execution): Promise<Outcome> {
    const called = this.functionOf(state);
    const { states } = this.compiled;
    const companions =
      this.options.test || state.parallel
        ? undefined
        : companionsOf(state, called, states, this.results, this.done);
    const alone = async () => runState(state, called, watched, execution);
    if (companions !== undefined) return this.together(state, companions, alone);
    const outcome = await alone();
    const done = this.done.get(state.order);
    if (done === undefined || outcome.result !== true || Object.keys(done.changes).length === 0)
      return outcome;
    return {
      ...outcome,
      changes: { ...done.changes, ...outcome.changes },
      comment: `${outcome.comment}, changed together with ${labelOf(done.by)}`,
    };
  }

  /** Does the work of a state and of later ones in one. Where that fails, each does its own. */
  private async together(
    state: LowState,
    { states, args }: Companions,
    alone: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const called = this.functionOf(state);
    const { retry: _, ...once } = state;
    const joined = { ...once, args: { ...args } };
    const outcome = await runState(joined, called, false, this.execution);
    const { own, others } = shareChanges(outcome.changes, states, called);
    for (const [order, changes] of others) this.done.set(order, { by: state, changes });
    if (outcome.result === true) return { ...outcome, changes: own };
    const rest = await alone();
    return { ...rest, changes: { ...own, ...rest.changes } };
  }

  /** The states to run at the end: each state that listens to a changed state, once. */
  private async listeners(): Promise<void> {
    const { states } = this.compiled;
    let order = states.length;
    for (const state of states) {
      const isNotified = state.requisites.some(
        ({ kind, targets }) => kind === "listen" && targets.some(this.hasChanged),
      );
      if (!isNotified || this.options.signal.aborted) continue;
      const listener = { ...state, id: `listener_${state.id}`, order: order++ };
      const end = this.timer(listener);
      end(await runWatch(state, this.functionOf(state), this.execution));
    }
  }

  private readonly hasChanged = (order: number): boolean => {
    const result = this.results.get(order);
    return result !== undefined && isChanged(result);
  };

  private readonly functionOf = (state: LowState): StateFunction => {
    const found = this.compiled.functions.get(state.function);
    if (found === undefined) throw new Error(`the state function ${state.function} was not compiled`);
    return found;
  };
}

/** A state that is to run. */
interface Due {
  state: LowState;
  /** Whether a watched state changed. */
  watched: boolean;
}

type Decided = Due | { outcome: Outcome };
