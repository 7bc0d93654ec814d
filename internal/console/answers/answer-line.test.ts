import { expect, test } from "bun:test";
import { answerLine } from "./answer-line.ts";

const wrote = (stdout: string, stderr = "") => ({ pid: 7, retcode: 0, stdout, stderr });

test.each([
  ["a text", { return: "<b>one</b>\ntwo\n" }, "<b>one</b> …"],
  ["a value", { return: true }, "true"],
  ["a map", { return: { a: 1, b: [1, 2] } }, "a: 1 …"],
  ["a command", { return: wrote("up 3 days\n") }, "up 3 days"],
  ["a command that wrote much", { return: wrote("one\ntwo\n") }, "one …"],
  ["a command that wrote nothing", { return: wrote("") }, "(no output)"],
  ["a failure", { error: "no such function" }, "no such function"],
  [
    "a command that failed, with why",
    { error: "exited with 100", return: wrote("x\n", "E: no lock\nE: again\n") },
    "exited with 100: E: no lock …",
  ],
  [
    "one that failed and said it on its output",
    { error: "exited with 1", return: wrote("bad\n") },
    "exited with 1: bad",
  ],
  ["one that failed and said nothing", { error: "exited with 1", return: wrote("") }, "exited with 1"],
  ["nothing yet", {}, ""],
])("the line of %s", (_, answered, line) => {
  expect(answerLine(answered)).toBe(line);
});

test("the line of states is their counts, and a long one is cut", () => {
  const state = { id: "a", function: "file.managed", result: false, changes: {}, comment: "no" };
  const summary = { ok: 3, changed: 0, failed: 1, skipped: 0, duration_ms: 1_200, test: false };
  const value = { states: [state], summary };
  expect(answerLine({ return: value })).toBe("1 failed, 3 ok (1.2 s)");
  expect(answerLine({ return: value, error: "1 state failed" })).toBe("1 state failed: 1 failed, 3 ok");
  expect(answerLine({ return: "x".repeat(300) })).toHaveLength(202);
});
