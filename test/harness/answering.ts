import { spyOn } from "bun:test";
import type * as v from "valibot";
import { schemaOf } from "../../internal/doors/rest/json-schema.ts";
import type { Operation } from "../../internal/fleet/operation/operation.ts";
import { sampleOf } from "./sample-of.ts";

/** Makes an operation return a sample, and records its input. */
export function answeringBy(operation: Operation<never, never, v.GenericSchema>) {
  const isFeed = !("entries" in operation.output);
  const answer = isFeed
    ? { start: () => () => {} }
    : (sampleOf(schemaOf(operation.output)) as Record<string, unknown>);
  const spy = spyOn(operation as { run(...args: unknown[]): Promise<unknown> }, "run");
  spy.mockImplementation(async () => answer);
  return {
    answer: answer as Record<string, unknown>,
    isFeed,
    spy,
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}
