import { expect, test } from "bun:test";
import type { CallArgs } from "../../../host/modules/function.ts";
import type { StateContext } from "../../function/function.ts";
import { eventStates } from "./event.ts";

const [send = expect.unreachable()] = eventStates;

function context() {
  const called: [string, CallArgs][] = [];
  const call = async (name: string, args: CallArgs) => {
    called.push([name, args]);
    return null;
  };
  return { called, context: { call } as unknown as StateContext };
}

test("a plan sends nothing; applying sends the event with its data", async () => {
  const { called, context: on } = context();
  const plan = await send.plan("deploy/done", { data: { version: "1.2" } }, on);
  expect(plan.changes).toEqual({ "deploy/done": { old: null, new: { version: "1.2" } } });
  expect(called).toEqual([]);
  await plan.apply?.();
  expect(called).toEqual([["event.send", { tag: "deploy/done", data: { version: "1.2" } }]]);
});

test.each(["deploy done", "svc/peel/web/lost", "", "a//b"])(
  "the tag %j is rejected before anything is sent",
  (tag) => {
    const { called, context: on } = context();
    expect(() => send.plan(tag, {}, on)).toThrow("tag:");
    expect(called).toEqual([]);
  },
);
