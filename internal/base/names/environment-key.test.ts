import { expect, test } from "bun:test";
import { environmentKey } from "./names.ts";

test("names of environments are different keys, and plain ones stay as they are", () => {
  expect(environmentKey("base")).toBe("base");
  expect(environmentKey("release-1")).toBe("release-1");
  expect(environmentKey("release/1")).toBe("=cmVsZWFzZS8x");
  const names = ["a", "A", "a/b", "a.b", "a_b", "a+b", "=YQ", ""];
  expect(new Set(names.map(environmentKey)).size).toBe(names.length);
  // Tokens of a subject, and keys of a bucket.
  for (const name of names.slice(0, -1)) expect(environmentKey(name)).toMatch(/^[-=_A-Za-z0-9]+$/);
});
