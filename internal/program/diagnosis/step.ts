import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";

/**
 * What a look at one thing found. A `warn` works now and is worth a look; a `fail` does not work; a `skip`
 * cannot be told yet.
 */
export interface Finding {
  level: "ok" | "warn" | "fail" | "skip";
  /** One line. */
  message: string;
  /** What to do next, one line. */
  next?: string;
}

/** One thing that is looked at. */
export interface Step<Context> {
  readonly name: string;
  /** Steps without which this one can tell nothing: it is left out when one of them failed or was left out. */
  readonly needs?: readonly string[];
  /** @throws what becomes a `fail` with the error as its message */
  look(context: Context): Promise<Finding> | Finding;
  /** What to do when `look` throws. */
  readonly next?: string;
}

/** What became of a step. */
export interface StepResult extends Finding {
  step: string;
}

/** Takes the steps one after the other, in their order. */
export async function takeSteps<Context>(
  steps: readonly Step<Context>[],
  context: Context,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  const unusable = new Set<string>();
  for (const step of steps) {
    const missing = step.needs?.find((name) => unusable.has(name));
    const found: Finding =
      missing === undefined
        ? await lookAt(step, context)
        : { level: "skip", message: `not looked at: it needs ${missing}` };
    if (found.level === "fail" || found.level === "skip") unusable.add(step.name);
    results.push({ step: step.name, ...found });
  }
  return results;
}

/** Whether a step failed. */
export function hasFailed(results: readonly StepResult[]): boolean {
  return results.some(({ level }) => level === "fail");
}

/** The results for people: one line for each step, and below it what to do next. */
export function formatSteps(results: readonly StepResult[]): string {
  const width = Math.max(...results.map(({ step }) => step.length));
  return results
    .flatMap(({ step, level, message, next }) => [
      `${(level === "fail" ? "FAIL" : level).padEnd(4)}  ${step.padEnd(width)}  ${message}`,
      ...(next === undefined ? [] : [`${"".padEnd(width + 8)}next: ${next}`]),
    ])
    .join("\n");
}

async function lookAt<Context>(step: Step<Context>, context: Context): Promise<Finding> {
  try {
    return await step.look(context);
  } catch (thrown) {
    const message = thrown instanceof SvcError ? thrown.message : describeError(thrown);
    return { level: "fail", message, ...defined({ next: step.next }) };
  }
}

/** Makes something when it is first wanted, and that one ever after. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
