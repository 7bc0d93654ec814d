import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { CallArgs, CallContext } from "../../host/modules/mod.ts";
import {
  type LowState,
  type Requisite,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../function/mod.ts";
import type { CompiledStates } from "../language/mod.ts";
import { TemplateError } from "../template/mod.ts";
import { decide, type Met } from "./decide.ts";
import {
  isChanged,
  type Outcome,
  resultOf,
  type StateReport,
  type StateResult,
  summarize,
} from "./result.ts";
import { type Execution, runState, runWatch, wouldChange } from "./run-state.ts";

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

/**
 * Runs states one after the other. The caller ensures that a peel has only one run at a time.
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
  private readonly results: StateResult[] = [];

  constructor(compiled: CompiledStates, options: RunOptions) {
    this.compiled = compiled;
    this.options = options;
    this.execution = {
      test: options.test,
      context: contextOf(compiled, options),
      jitter: options.jitter,
    };
  }

  async whole(): Promise<StateReport> {
    const { clock, signal, test } = this.options;
    const { states } = this.compiled;
    const started = clock.monotonic();
    let stopped: StateReport["stopped"];
    for (const state of states) {
      if (signal.aborted) break;
      const result = await this.timed(state, () => this.told(state));
      if (result.result === false && (state.failhard || this.options.failhard === true)) {
        stopped = "failhard";
        break;
      }
    }
    if (stopped === undefined && !signal.aborted) await this.listeners();
    if (signal.aborted) stopped = "cancelled";
    const summary = summarize(this.results, states.length, Math.round(clock.monotonic() - started));
    return { test, states: this.results, summary, ...defined({ stopped }) };
  }

  private async timed(state: LowState, run: () => Promise<Outcome>): Promise<StateResult> {
    const { clock, onStart, onProgress } = this.options;
    onStart?.(state);
    const started = clock.monotonic();
    const started_at = rfc3339(clock.now());
    const outcome = await run();
    const duration_ms = Math.round((clock.monotonic() - started) * 1000) / 1000;
    const result = resultOf(state, outcome, { duration_ms, started_at });
    this.results.push(result);
    onProgress?.(result, this.compiled.states.length);
    return result;
  }

  /** The outcome, after the event that the state asks for was sent. */
  private async told(state: LowState): Promise<Outcome> {
    const outcome = await this.outcomeOf(state);
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

  private async outcomeOf(state: LowState): Promise<Outcome> {
    const met: Met[] = [];
    for (const requisite of state.requisites) met.push(await this.look(requisite));
    const decision = decide(met);
    if (decision.act === "run") {
      return runState(state, this.functionOf(state), decision.watched, this.execution);
    }
    const result = decision.act === "skip";
    return { result, changes: {}, comment: decision.reason, skipped: "requisite" };
  }

  private async look({ kind, targets, label: written, isMissing }: Requisite): Promise<Met> {
    if (isMissing) {
      const missing = { label: `${written}, which does not exist,`, result: false, changed: false };
      return { kind: "require", targets: [missing] };
    }
    const ended: Met["targets"][number][] = [];
    for (const target of targets) {
      const state = this.compiled.states[target];
      if (state === undefined || kind === "listen") continue;
      const label = labelOf(state);
      if (kind === "prereq") {
        const changed = await wouldChange(state, this.functionOf(state), this.execution);
        ended.push({ label, result: true, changed });
        continue;
      }
      const result = this.results[target];
      if (result !== undefined) ended.push({ label, result: result.result, changed: isChanged(result) });
    }
    return { kind, targets: ended };
  }

  /** The states to run at the end: each state that listens to a changed state, once. */
  private async listeners(): Promise<void> {
    const { states } = this.compiled;
    let order = states.length;
    for (const state of states) {
      const heard = state.requisites.some(
        ({ kind, targets }) => kind === "listen" && targets.some(this.hasChanged),
      );
      if (!heard || this.options.signal.aborted) continue;
      const listener = { ...state, id: `listener_${state.id}`, order: order++ };
      await this.timed(listener, () => runWatch(state, this.functionOf(state), this.execution));
    }
  }

  private readonly hasChanged = (order: number): boolean => {
    const result = this.results[order];
    return result !== undefined && isChanged(result);
  };

  private functionOf(state: LowState): StateFunction {
    const found = this.compiled.functions.get(state.function);
    if (found === undefined) throw new Error(`the state function ${state.function} was not compiled`);
    return found;
  }
}

function labelOf({ id, function: name }: LowState): string {
  return `${name.slice(0, name.indexOf("."))}: ${id}`;
}

function contextOf({ states, files, renderer, scope }: CompiledStates, options: RunOptions): StateContext {
  const { clock, facts, settings, signal, call } = options;
  return {
    clock,
    facts,
    settings,
    signal,
    described: states,
    files,
    call,
    environment: new Map(),
    cache: new Map(),
    async render(template, variables) {
      try {
        return await renderer.render(template, scope, variables);
      } catch (thrown) {
        if (thrown instanceof TemplateError) throw new StateFailure(thrown.message, {}, { cause: thrown });
        throw thrown;
      }
    },
  };
}
