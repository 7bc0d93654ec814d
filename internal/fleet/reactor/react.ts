import { createBoundedMap } from "../../base/bounded-map.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Slots } from "../../base/slots.ts";
import { decide } from "./decide.ts";
import { type DropCause, type Event, isReport } from "./events/mod.ts";
import type { Limits } from "./limits.ts";
import type { Matcher } from "./match.ts";
import type { Performance } from "./perform.ts";
import { render } from "./render.ts";
import type { Rule } from "./rules/mod.ts";

/** More events than can be delivered and unacknowledged at any time. */
const rememberedEvents = 8_192;
/** An event that was delivered this often cannot be handled, and is dropped. */
export const maxDeliveries = 30;

export interface ReactMetrics {
  reactorDropped(cause: DropCause, count?: number): void;
  reactorFired(rule: string): void;
  reactorAction(kind: string, result: "ok" | "failed" | "again"): void;
  reactorRepeated(): void;
  /** Time from the storage of an event on the bus to the end of its action, seconds. */
  reactorReacted(seconds: number): void;
}

export interface ReactOptions {
  limits: Limits;
  /** Called for each event, because rules change. */
  matcher(): Matcher;
  perform(performance: Performance): Promise<void>;
  pool: Pick<Slots, "run">;
  /** @throws when another master may be doing the same by now */
  assertTenure(): void;
  signal: AbortSignal;
  metrics: ReactMetrics;
  /** A rule fires: called once for each event. */
  onFired(rule: string): void;
  now(): number;
  log: Log;
}

/** The progress of an event. */
interface Progress {
  handling: Promise<void> | undefined;
  over: boolean;
  /** Rules whose firing or drop was counted. */
  counted: Set<string>;
  /** Finished actions: rule and index. */
  done: Set<string>;
}

export interface Reactor {
  /**
   * Handles an event: decides, and performs the actions of the rules that fire. Resolves when the event is
   * finished. Rejects when it must be redelivered; then only unfinished actions are performed. If the event is
   * already in progress, waits for it. A finished event has no effect.
   *
   * @param deliveries 1 for the first time
   */
  handle(event: Event, deliveries: number): Promise<void>;
}

export function createReactor(options: ReactOptions): Reactor {
  /** By id of the event. */
  const known = createBoundedMap<Progress>(2 * rememberedEvents);
  const progressOf = (id: string): Progress => {
    const fresh: Progress = { handling: undefined, over: false, counted: new Set(), done: new Set() };
    return known.get(id) ?? known.set(id, fresh);
  };
  return {
    async handle(event, deliveries) {
      const progress = progressOf(event.id);
      if (progress.over || progress.handling !== undefined) options.metrics.reactorRepeated();
      if (progress.over) return;
      if (progress.handling !== undefined) return progress.handling;
      progress.handling = react(options, event, deliveries, progress);
      try {
        await progress.handling;
        progress.over = true;
      } finally {
        progress.handling = undefined;
      }
    },
  };
}

async function react(
  options: ReactOptions,
  event: Event,
  deliveries: number,
  progress: Progress,
): Promise<void> {
  const { limits, matcher, metrics, log } = options;
  options.assertTenure();
  // A report that no rule is for is not dropped: nobody asked for it.
  if (isReport(event) && matcher().match(event).length === 0) return;
  if (deliveries > maxDeliveries) return drop(options, event, "given_up");
  const { dropped, fires, held } = decide(event, matcher(), limits, deliveries > 1);
  if (dropped !== undefined) return drop(options, event, dropped);
  const isNew = ({ name }: Rule) => !progress.counted.has(name) && progress.counted.add(name);
  for (const { rule, cause } of held) if (isNew(rule)) drop(options, event, cause, rule);
  for (const rule of fires) {
    if (!isNew(rule)) continue;
    metrics.reactorFired(rule.name);
    options.onFired(rule.name);
    log.info("rule fires", { rule: rule.name, event: event.id, tag: event.tag, source: event.source });
  }
  const done = await Promise.all(fires.map((rule) => fire(options, event, rule, progress)));
  if (done.includes(false))
    throw new SvcError("unavailable", "some reactions to the event are not finished yet");
}

function drop({ metrics, log }: ReactOptions, event: Event, cause: DropCause, rule?: Rule): void {
  metrics.reactorDropped(cause);
  log.debug("event dropped", { event: event.id, tag: event.tag, cause, rule: rule?.name });
}

/** @returns whether all actions are finished */
async function fire(options: ReactOptions, event: Event, rule: Rule, progress: Progress): Promise<boolean> {
  let all = true;
  for (const [index, action] of rule.actions.entries()) {
    const name = `${rule.name}/${index}`;
    const isDone =
      progress.done.has(name) || (await options.pool.run(() => act(options, event, rule, { index, action })));
    if (isDone) progress.done.add(name);
    all = isDone && all;
  }
  return all;
}

/** @returns whether the action is finished, whatever came of it */
async function act(
  options: ReactOptions,
  event: Event,
  rule: Rule,
  { index, action }: { index: number; action: Rule["actions"][number] },
): Promise<boolean> {
  const { limits, metrics, signal } = options;
  const { kind } = action;
  const log = options.log.with({ rule: rule.name, event: event.id, tag: event.tag, source: event.source });
  const refusal = limits.permits(action);
  const rendered = refusal === undefined ? render(action, event) : undefined;
  if (rendered === undefined || rendered.kind === "refused") {
    metrics.reactorDropped(refusal ?? "not_rendered");
    log.warn("reaction not begun", { action: kind, reason: rendered?.reason ?? refusal });
    return true;
  }
  options.assertTenure();
  try {
    await options.perform({ event, rule: rule.name, index, action: rendered, signal, log });
    metrics.reactorAction(kind, "ok");
    metrics.reactorReacted(Math.max(0, options.now() - event.at) / 1000);
    return true;
  } catch (thrown) {
    signal.throwIfAborted();
    const again = comesAgain(thrown) && kind !== "webhook";
    metrics.reactorAction(kind, again ? "again" : "failed");
    const reason = describeError(thrown);
    log[again ? "warn" : "error"]("reaction failed", { action: kind, reason, again });
    return !again;
  }
}

/** Retry when a service is unavailable, but not after a permanent error. */
function comesAgain(thrown: unknown): boolean {
  if (!(thrown instanceof SvcError)) return true;
  return ["storage", "unavailable", "conflict", "internal"].includes(thrown.kind);
}
