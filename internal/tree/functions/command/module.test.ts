import { expect, test } from "bun:test";
import { planOn, refusal } from "../../../../test/harness/planned-state.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type CallArgs, FunctionFailure } from "../../../host/modules/function.ts";
import { StateFailure } from "../../function/function.ts";
import { moduleStates } from "./module.ts";

/** Plans and applies a state, with a peel that answers in this way. */
async function run(name: string, args: CallArgs, answer: (called: string) => Plain = () => true) {
  const calls: [string, CallArgs][] = [];
  const call = async (called: string, given: CallArgs) => {
    calls.push([called, given]);
    return answer(called);
  };
  const { plan } = await planOn({}, "module.run", name, args, { call });
  expect(calls).toEqual([]);
  const done = await plan.apply?.();
  return { calls, plan, done };
}

test.each<[string, CallArgs, [string, CallArgs][]]>([
  ["service.restart", { m_name: "nginx" }, [["service.restart", { name: "nginx" }]]],
  ["service.restart", { args: ["nginx"] }, [["service.restart", { name: "nginx" }]]],
  ["service.restart", { kwargs: { name: "nginx" } }, [["service.restart", { name: "nginx" }]]],
  ["test.ping", {}, [["test.ping", {}]]],
  ["x", { "service.restart": ["nginx"] }, [["service.restart", { name: "nginx" }]]],
  ["x", { "service.restart": [{ name: "nginx" }] }, [["service.restart", { name: "nginx" }]]],
  [
    "x",
    { "test.ping": null, "service.stop": "nginx" },
    [
      ["test.ping", {}],
      ["service.stop", { name: "nginx" }],
    ],
  ],
])("%s %j", async (name, args, expected) => {
  const { calls, done } = await run(name, args);
  expect(calls).toEqual(expected);
  expect(done?.changes).toEqual(Object.fromEntries(expected.map(([called]) => [called, true])));
});

test("values of arguments are not shown before they are used", async () => {
  const { plan } = await run("cmd.run", { command: "echo topsecret" });
  expect(JSON.stringify(plan)).not.toContain("topsecret");
});

test("what does not fit is refused in the plan", async () => {
  expect(await refusal({}, "module.run", "dockercompose.up", {})).toContain(
    'the peel has no function "dockercompose.up"',
  );
  expect(await refusal({}, "module.run", "service.restart", {})).toContain("name: missing");
  expect(await refusal({}, "module.run", "test.ping", { m_no: 1 })).toContain("unknown argument");
  expect(await refusal({}, "module.run", "test.ping", { args: [1, 2, 3, 4, 5, 6] })).toContain(
    "takes at most",
  );
});

test("a function that fails, or answers false, fails the state", async () => {
  await expect(run("test.ping", {}, () => false)).rejects.toThrow("test.ping returned false");
  const thrown = await run("test.ping", {}, () => {
    throw new FunctionFailure("exited with 3", { retcode: 3 }, 3);
  }).catch((each: unknown) => each);
  expect(thrown).toBeInstanceOf(StateFailure);
  expect(thrown).toMatchObject({
    message: "test.ping exited with 3",
    changes: { "test.ping": { retcode: 3 } },
  });
});

test("module.wait calls only when a watched state has changed", async () => {
  const call = async () => true;
  const { plan, found, context } = await planOn({}, "module.wait", "test.ping", {}, { call });
  expect(plan.apply).toBeUndefined();
  expect((await found.onWatch?.("test.ping", {}, context))?.apply).toBeFunction();
});

test("a function that does not exist is named before the state runs", () => {
  const [moduleRun] = moduleStates;
  const warned = (name: string, args: CallArgs = {}) => moduleRun?.warn?.(args, name);
  expect(warned("x", { "service.restart": ["nginx"], "pkg.refreshdb": null })).toBe(
    'the peel has no function "pkg.refreshdb" (did you mean pkg.refresh_db?)',
  );
  expect(warned("tset.ping")).toContain("did you mean test.ping?");
  expect([warned("x", { "test.ping": null }), warned("test.ping", { m_name: "a" })]).toEqual([
    undefined,
    undefined,
  ]);
});
