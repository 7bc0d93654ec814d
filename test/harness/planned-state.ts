import { expect } from "bun:test";
import type { CallArgs } from "../../internal/host/modules/function.ts";
import type { Changes, Plan, StateContext, StateFunction } from "../../internal/tree/function/function.ts";
import { stateRegistry } from "../../internal/tree/functions/registry.ts";
import { problemsOfCall } from "../../internal/tree/language/arguments.ts";
import { manualClock } from "./clock.ts";
import { fixedFacts } from "./facts.ts";
import { fixedSettings } from "./settings.ts";
import { memoryFiles } from "./states.ts";
import { fixtureSystem, type SystemFixture } from "./system.ts";

type FakeSystem = ReturnType<typeof fixtureSystem>;

export async function stateNamed(name: string): Promise<StateFunction> {
  const functions = await stateRegistry.functionsOf(name.slice(0, name.indexOf(".")));
  return functions.find((each) => each.name === name) ?? expect.unreachable(name);
}

/** What the arguments of a state are refused with; empty when they are not. */
export async function argumentProblems(called: string, args: CallArgs): Promise<string> {
  return problemsOfCall(await stateNamed(called), args).join("; ");
}

/** Plans a state on a fake host, as a test run does. */
export async function planState(
  system: FakeSystem,
  called: string,
  name: string,
  args: CallArgs = {},
): Promise<Plan> {
  const context: StateContext = {
    clock: manualClock(),
    described: [],
    facts: fixedFacts({}),
    settings: fixedSettings(),
    signal: new AbortController().signal,
    files: memoryFiles({}),
    render: async ({ text }) => text,
    call: () => Promise.reject(new Error("no function is called")),
    cache: new Map<string, unknown>([["system", system]]),
  };
  expect(await argumentProblems(called, args)).toBe("");
  const found = await stateNamed(called);
  return found.plan(name, args, context);
}

/** Why a state cannot be planned or applied. */
export async function stateRefusal(
  fixture: SystemFixture,
  called: string,
  name: string,
  args: CallArgs = {},
): Promise<string> {
  try {
    const plan = await planState(fixtureSystem(fixture), called, name, args);
    await plan.apply?.();
    return expect.unreachable(plan.comment);
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

/**
 * Tests a state, applies it, and tests it again: a test changes nothing, and what is done is not done again.
 *
 * @returns what the test said, and the programs that ran while it was applied
 */
export async function settleState(
  fixture: SystemFixture,
  called: string,
  name: string,
  args: CallArgs = {},
): Promise<{ changes: Changes; comment: string; ran: string[]; system: FakeSystem }> {
  const system = fixtureSystem(fixture);
  const files = new Map(system.files);
  const plan = await planState(system, called, name, args);
  expect(system.files).toEqual(files);
  const before = system.ran.length;
  const done = await plan.apply?.();
  const ran = system.ran.slice(before);
  system.forget();
  const again = await planState(system, called, name, args);
  expect([again.changes, again.apply]).toEqual([{}, undefined]);
  return { changes: plan.changes, comment: done?.comment ?? plan.comment, ran, system };
}
