import { abortable } from "../../base/abortable.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { paint, type TableStyle, visible } from "../command-line/mod.ts";

/**
 * The result of one check. `warn`: works now, but needs attention. `fail`: does not work. `skip`: cannot be
 * checked yet.
 */
export interface Finding {
  level: "ok" | "warn" | "fail" | "skip";
  /** One line. */
  message: string;
  /** The next step, one line. */
  next?: string;
}

/** One check. */
export interface Step<Context> {
  readonly name: string;
  /** Steps that this one depends on: it is skipped when one of them failed or was skipped. */
  readonly needs?: readonly string[];
  /** A thrown error becomes a `fail` with the error as its message. */
  check(context: Context): Promise<Finding> | Finding;
  /** The next step when `check` throws. */
  readonly next?: string | ((context: Context) => string);
}

/** The next step where the clock of this host is wrong. */
export const setClock = "timedatectl set-ntp true, on this host: its clock is wrong";

/** The result of a step. */
export interface StepResult extends Finding {
  step: string;
}

/**
 * Runs the steps one after the other, in order.
 *
 * @param late when it aborts the current step fails with its reason, and the steps after that are skipped
 */
export async function takeSteps<Context>(
  steps: readonly Step<Context>[],
  context: Context,
  late?: AbortSignal,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  const unusable = new Set<string>();
  for (const step of steps) {
    const missing = step.needs?.find((name) => unusable.has(name));
    let found: Finding;
    if (missing !== undefined) found = { level: "skip", message: `not checked: it needs ${missing}` };
    else if (late?.aborted === true) found = { level: "skip", message: "not checked: the time is up" };
    else found = await takeStep(step, context, late);
    if (found.level === "fail" || found.level === "skip") unusable.add(step.name);
    results.push({ step: step.name, ...found });
  }
  return results;
}

/** Whether a step failed. */
export function hasFailed(results: readonly StepResult[]): boolean {
  return results.some(({ level }) => level === "fail");
}

/**
 * Formats the results for people: one line for each step, followed by its next step. A message may contain what a
 * peel chose: it adds no line.
 */
export function formatSteps(results: readonly StepResult[], { color }: TableStyle): string {
  const wordOf = ({ level }: StepResult) => (level === "fail" ? "FAIL" : level).padEnd(4);
  const width = Math.max(...results.map(({ step }) => step.length));
  return results
    .flatMap((result) => {
      const { step, message, next } = result;
      const word = color ? paint(wordOf(result)) : wordOf(result);
      return [
        `${word}  ${step.padEnd(width)}  ${visible(message)}`,
        ...(next === undefined ? [] : [`${"".padEnd(width + 8)}next: ${visible(next)}`]),
      ];
    })
    .join("\n");
}

async function takeStep<Context>(
  step: Step<Context>,
  context: Context,
  late: AbortSignal | undefined,
): Promise<Finding> {
  try {
    const checking = Promise.resolve(step.check(context));
    return await (late === undefined ? checking : abortable(checking, late));
  } catch (thrown) {
    const message = thrown instanceof SvcError ? thrown.message : describeError(thrown);
    const next = ofClock(message) ?? (typeof step.next === "function" ? step.next(context) : step.next);
    return { level: "fail", message, ...defined({ next }) };
  }
}

/** What to do where a wrong clock of this host is why masters refuse, whatever the step is about. */
function ofClock(message: string): string | undefined {
  return message.includes("set the clock of your host") ? setClock : undefined;
}

/** Creates a value on first use, and returns the same value afterwards. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
