import { describe, expect, test } from "bun:test";
import { planState, stateContext } from "../../../../test/harness/honesty.ts";
import type { CallArgs } from "../../../host/modules/mod.ts";
import { FunctionFailure } from "../../../host/modules/mod.ts";
import type { Changes } from "../../function/mod.ts";
import { cmdStates } from "./cmd.ts";
import { readStateful } from "./stateful.ts";

test.each<[string, ReturnType<typeof readStateful>]>([
  ["changed=yes", { changed: true, data: { changed: "yes" }, rest: "" }],
  ["changed=0 a=b", { changed: false, data: { changed: "0", a: "b" }, rest: "" }],
  ["a=b", { changed: false, data: { a: "b" }, rest: "" }],
  [
    "working\nchanged=True comment='two users added'\n\n",
    { changed: true, comment: "two users added", data: { changed: "True" }, rest: "working" },
  ],
  [
    '{"changed": true, "comment": ["x"], "n": {"m": 1}}',
    { changed: true, comment: '["x"]', data: { changed: true, n: { m: 1 } }, rest: "" },
  ],
  ["{}", { changed: false, data: {}, rest: "" }],
])("%j says what changed", (stdout, said) => {
  expect(readStateful(stdout)).toEqual(said);
});

test.each([
  ["done", "not name=value pairs"],
  ["changed=yes a=b=c", "not name=value pairs"],
  ["changed='yes", "not name=value pairs"],
  ["[1]", "is not an object"],
  ["changed=perhaps", 'changed is "perhaps"; expected yes or no'],
  ['{"changed": null}', "changed is null"],
])("%j is refused", (stdout, message) => {
  expect(() => readStateful(stdout)).toThrow(message);
});

describe("a stateful command", () => {
  /** Plans cmd.run on a host where a command writes its own line. */
  function plan(line: string, args: CallArgs, retcode = 0, ran: string[] = []) {
    const call = async (_: string, { argv }: CallArgs) => {
      const stdout = String((argv as string[])[2]);
      ran.push(stdout);
      const value = { pid: 7, retcode, stdout, stderr: "" };
      if (retcode !== 0) throw new FunctionFailure(`exited with ${retcode}`, value, retcode);
      return value;
    };
    return planState(cmdStates, "cmd.run", line, args, { ...stateContext(), call });
  }
  const stateful = true;
  const output = { pid: 7, retcode: 0, stderr: "" };

  test.each<[string, CallArgs, { changes: Changes; comment: string }]>([
    ["changed=no", { stateful }, { changes: {}, comment: "ran: changed=no" }],
    ["comment=x", { stateful }, { changes: {}, comment: "x" }],
    [
      "a\nchanged=yes n=1",
      { stateful },
      { changes: { ...output, stdout: "a", changed: "yes", n: "1" }, comment: "ran: a\nchanged=yes n=1" },
    ],
    [
      "changed=yes n=1",
      { stateful, hide_output: true },
      { changes: { pid: 7, retcode: 0 }, comment: "ran: changed=yes n=1" },
    ],
    ["done", { stateful: false }, { changes: { ...output, stdout: "done" }, comment: "ran: done" }],
  ])("%j %j", async (line, args, expected) => {
    const { apply, rehearse } = await plan(line, args);
    expect(rehearse).toBeUndefined();
    expect(await apply?.()).toEqual(expected);
  });

  test("fails when it does not say what changed, and says it when it fails", async () => {
    await expect((await plan("done", { stateful })).apply?.()).rejects.toMatchObject({
      message: expect.stringContaining("not name=value pairs"),
      changes: { ...output, stdout: "done" },
    });
    await expect((await plan("changed=yes comment=half", { stateful }, 3)).apply?.()).rejects.toMatchObject({
      message: "the command exited with 3: half",
      changes: { changed: "yes", retcode: 3 },
    });
  });

  test("has another command for a test run, which a run does not run", async () => {
    const ran: string[] = [];
    const args = { stateful: [{ test_name: "changed=yes comment=would" }] };
    const { apply, rehearse } = await plan("changed=no", args, 0, ran);
    expect(ran).toEqual([]);
    expect(await rehearse?.()).toMatchObject({ changes: { changed: "yes" }, comment: "would" });
    expect(ran).toEqual(["changed=yes comment=would"]);
    expect(await apply?.()).toMatchObject({ changes: {} });
    expect(ran).toHaveLength(2);
  });

  test.each<[string, CallArgs, string]>([
    ["cmd.run", { stateful: "yes" }, "stateful: expected true, false, or a list with test_name"],
    ["cmd.run", { stateful: [] }, "stateful: expected true"],
    ["cmd.run", { stateful: [{ test_name: 1 }] }, "stateful: expected true"],
    ["cmd.script", { source: ["svc://x"], stateful: [{ test_name: "x" }] }, "must contain arguments"],
  ])("%s refuses %j", async (called, args, message) => {
    await expect(planState(cmdStates, called, "x", args)).rejects.toThrow(message);
  });
});
