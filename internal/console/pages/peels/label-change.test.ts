import { expect, test } from "bun:test";
import { changed, readChange } from "./label-change.ts";

test("labels are set and removed, and the others stay", () => {
  const change = readChange("  env=prod  old- note=a=b empty= ");
  if (typeof change === "string") throw new Error(change);
  expect(changed({ env: "test", old: "1", tier: "web" }, change)).toEqual({
    env: "prod",
    tier: "web",
    note: "a=b",
    empty: "",
  });
});

test.each([
  ["", "Say what changes: env=prod sets a label, env- removes it."],
  ["env", "env is not a change of a label: write name=value or name-."],
  ["env=prod Rack=7", "Rack=7 is not a change of a label: write name=value or name-."],
  ["=prod", "=prod is not a change of a label: write name=value or name-."],
])("%j is refused", (text, problem) => {
  expect(readChange(text)).toBe(problem);
});
