import { expect } from "bun:test";
import type { CallArgs } from "../../internal/host/modules/function.ts";
import type { Changes } from "../../internal/tree/function/function.ts";
import { planOn } from "./planned-state.ts";
import { fixtureSystem, type SystemFixture } from "./system.ts";

/** Why a state cannot be planned or applied. */
export async function failureOf(
  fixture: SystemFixture,
  called: string,
  name: string,
  args: CallArgs = {},
): Promise<string> {
  try {
    const { plan } = await planOn(fixture, called, name, args);
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
): Promise<{ changes: Changes; ran: string[]; system: ReturnType<typeof fixtureSystem> }> {
  const system = fixtureSystem(fixture);
  const files = new Map(system.files);
  const { plan } = await planOn(system, called, name, args);
  expect(system.files).toEqual(files);
  const before = system.ran.length;
  await plan.apply?.();
  const ran = system.ran.slice(before);
  system.forget();
  const { plan: again } = await planOn(system, called, name, args);
  expect([again.changes, again.apply]).toEqual([{}, undefined]);
  return { changes: plan.changes, ran, system };
}
