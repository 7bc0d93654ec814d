import { expect, test } from "bun:test";
import { createFirings } from "./firings.ts";

test("a rule that fires is counted, and forgotten when it is not in force any more", () => {
  const firings = createFirings();
  for (const [rule, at] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
  ] as const)
    firings.note(rule, at);
  expect([firings.of("a"), firings.of("b"), firings.of("c")]).toEqual([
    { count: 2, lastAt: 3 },
    { count: 1, lastAt: 2 },
    undefined,
  ]);
  firings.retain(new Set(["b"]));
  expect([firings.of("a"), firings.of("b")?.count]).toEqual([undefined, 1]);
});
