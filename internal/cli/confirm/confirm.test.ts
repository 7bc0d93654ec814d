import { expect, test } from "bun:test";
import { Exit } from "../../program/command-line/mod.ts";
import { confirm } from "./confirm.ts";

test.each([
  ["yes", " Yes ", false, { done: true, said: ["Revoke web-1? [y/N] "] }],
  ["no answer", "", false, { done: false, said: ["Revoke web-1? [y/N] ", "nothing was done"] }],
  ["another word", "sure", false, { done: false, said: ["Revoke web-1? [y/N] ", "nothing was done"] }],
  ["--yes", "n", true, { done: true, said: [] }],
  ["nobody can answer", undefined, false, { done: true, said: [] }],
])("%s", async (_, answer, isConfirmed, expected) => {
  const said: string[] = [];
  const prompt = async (question: string) => {
    said.push(question);
    return answer ?? "";
  };
  const cli = { say: (line: string) => void said.push(line), ...(answer === undefined ? {} : { prompt }) };
  const done = await confirm(cli, "Revoke web-1", isConfirmed).then(
    () => true,
    (thrown) => {
      expect(thrown).toEqual(new Exit(1));
      return false;
    },
  );
  expect({ done, said }).toEqual(expected as never);
});
