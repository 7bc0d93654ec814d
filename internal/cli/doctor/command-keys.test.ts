import { expect, test } from "bun:test";
import { judgeCommandKeys } from "./command-keys.ts";

const one = { command_keys: ["A"], signs_with: "A" };
const both = { command_keys: ["A", "B"], signs_with: "A" };
const changed = { command_keys: ["A", "B"], signs_with: "B" };
const after = { command_keys: ["B"], signs_with: "B" };
const silent: { command_keys: string[]; signs_with: string } = { command_keys: [], signs_with: "" };
const knows = (...keys: string[]) => ({ knows_command_keys: keys });

test.each([
  ["one key, nothing reported", {}, [one], "ok", "no missing key"],
  ["both keys known", knows("A", "B"), [both], "ok", "no missing key"],
  ["the next key is missing", knows("A"), [both], "warn", "will sign with B"],
  ["masters sign with the missing key", knows("A"), [changed], "fail", "sign with B"],
  ["one of two masters signs with it", knows("A"), [both, changed], "fail", "sign with B"],
  ["the change is finished", knows("A"), [after], "fail", "sign with B"],
  ["a peel that reported nothing, during a change", {}, [both], "warn", "has not reported"],
  [
    "refused commands",
    { commands_refused: { unknown_key: 2, expired: 9 } },
    [one],
    "warn",
    "refused 2 commands",
  ],
  ["other refused commands", { commands_refused: { expired: 9 } }, [one], "ok", "no missing key"],
  ["a peel that is off", undefined, [both], "skip", "connected"],
  ["no master", knows("A"), [], "skip", "no running master"],
  ["masters that report nothing", knows("A"), [silent], "skip", "reports"],
] as const)("%s", (_, beat, masters, level, message) => {
  const found = judgeCommandKeys(beat, masters);
  expect([found.level, found.message]).toEqual([level, expect.stringContaining(message)]);
  if (level !== "ok") expect(found.next).toBeString();
});
