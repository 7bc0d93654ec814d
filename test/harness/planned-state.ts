import { expect } from "bun:test";
import type { Plain } from "../../internal/base/msgpack.ts";
import type { CallArgs } from "../../internal/host/modules/function.ts";
import type { StateContext, StateFunction } from "../../internal/tree/function/function.ts";
import { stateRegistry } from "../../internal/tree/functions/registry.ts";
import { problemsOfCall } from "../../internal/tree/language/arguments.ts";
import { manualClock } from "./clock.ts";
import { fixedFacts } from "./facts.ts";
import { fixedSettings } from "./settings.ts";
import { memoryFiles } from "./states.ts";
import { fixtureSystem, type SystemFixture } from "./system.ts";

/** What a state is planned with, besides a host. */
export interface Around {
  facts?: Readonly<Record<string, Plain>>;
  settings?: { [name: string]: Plain };
  files?: Readonly<Record<string, string>>;
  described?: StateContext["described"];
  call?: StateContext["call"];
}

async function functionOf(name: string): Promise<StateFunction> {
  const functions = await stateRegistry.functionsOf(name.slice(0, name.indexOf(".")));
  return functions.find((each) => each.name === name) ?? expect.unreachable(name);
}

/** Checks and plans a state on a fake host, as a run does. */
export async function planOn(
  fixture: SystemFixture | ReturnType<typeof fixtureSystem>,
  called: string,
  name: string,
  args: CallArgs = {},
  around: Around = {},
) {
  const system = "ran" in fixture ? fixture : fixtureSystem(fixture);
  const context: StateContext = {
    clock: manualClock(),
    described: around.described ?? [],
    facts: fixedFacts(around.facts ?? {}),
    settings: fixedSettings(around.settings ?? {}),
    signal: new AbortController().signal,
    files: memoryFiles(around.files ?? {}),
    render: async ({ text }) => text,
    call: around.call ?? (() => Promise.reject(new Error("no function is called"))),
    compat: "strict",
    environment: new Map(),
    cache: new Map<string, unknown>([["system", system]]),
  };
  const found = await functionOf(called);
  expect(problemsOfCall(found, args)).toEqual([]);
  return { system, plan: await found.plan(name, args, context), context, found };
}

/** What is wrong with the arguments of a state, as one text. */
export async function problemsOf(called: string, args: CallArgs): Promise<string> {
  return problemsOfCall(await functionOf(called), args).join("; ");
}

/** The refusal of a state. */
export async function refusal(
  fixture: SystemFixture | ReturnType<typeof fixtureSystem>,
  called: string,
  name: string,
  args: CallArgs = {},
  around: Around = {},
): Promise<string> {
  return planOn(fixture, called, name, args, around).then(
    ({ plan }) => expect.unreachable(plan.comment),
    (thrown: Error) => thrown.message,
  );
}
