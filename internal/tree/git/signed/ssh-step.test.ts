import { expect, test } from "bun:test";
import { runSshStep, stepArguments } from "./ssh-step.ts";

const at = new Date(2026, 10, 8, 7, 6, 5).getTime() / 1000;

test("the time of the committer gives way to the given one, in the time zone of the host", () => {
  const git = [
    "-Y",
    "verify",
    "-n",
    "git",
    "-f",
    "f",
    "-I",
    "a@b",
    "-s",
    "s",
    "-Overify-time=19990101000000",
  ];
  expect(stepArguments(git, at)).toEqual([...git.slice(0, -1), "-Overify-time=20261108070605"]);
});

test("a step to which git gives no time has the time as well", () => {
  expect(stepArguments(["-Y", "find-principals"], at)).toEqual([
    ...["-Y", "find-principals", "-Overify-time=20261108070605"],
  ]);
});

test("without a time nothing is verified", () => {
  for (const env of [{}, { SVC_VERIFY_TIME: "" }, { SVC_VERIFY_TIME: "now" }, { SVC_VERIFY_TIME: "1.5" }]) {
    expect(runSshStep(["-Y", "find-principals"], env)).toBe(1);
  }
});
