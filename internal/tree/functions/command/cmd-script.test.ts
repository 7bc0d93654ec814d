import { expect, test } from "bun:test";
import { applyState, stateContext } from "../../../../test/harness/honesty.ts";
import { memoryFiles } from "../../../../test/harness/states.ts";
import type { CallArgs } from "../../../host/modules/mod.ts";
import type { StateContext } from "../../function/mod.ts";
import { cmdStates } from "./cmd.ts";

const files = memoryFiles({ "x.sh": "#!/bin/sh\n", "my script.sh": "#!/bin/sh\n" });

/** The arguments that a script gets. */
async function argumentsOf(name: string, args: CallArgs, compat: StateContext["compat"]): Promise<string> {
  const lines: string[] = [];
  const call = async (_: string, { argv }: CallArgs) => {
    lines.push(String(Array.isArray(argv) ? argv.at(-1) : ""));
    return { retcode: 0, stdout: "", stderr: "" };
  };
  await applyState(cmdStates, "cmd.script", name, args, { ...stateContext({ files }), call, compat });
  return lines.join().replace(/^\S*\/script ?/, "");
}

const source = ["salt://x.sh"];
test.each<[string, CallArgs, salt: string, strict: string]>([
  ["salt://x.sh", {}, "", ""],
  ["salt://x.sh a 'b c'", {}, "a 'b c'", "a 'b c'"],
  ["salt://x.sh a", { args: "z" }, "z", "z"],
  ["salt://my script.sh", {}, "", ""],
  ["x.sh a b", { source }, "a b", ""],
  ["x.sh a b", { source, args: "z" }, "z", "z"],
  ["x.sh a b", { source, args: "" }, "a b", ""],
  ["install", { source }, "", ""],
])("%s with %j gets %j in a tree of Salt, and %j otherwise", async (name, args, salt, strict) => {
  expect(await argumentsOf(name, args, "salt")).toBe(salt);
  expect(await argumentsOf(name, args, "strict")).toBe(strict);
});

test("a script that does not exist is named", async () => {
  await expect(argumentsOf("salt://y.sh a", {}, "salt")).rejects.toThrow("salt://y.sh");
});
