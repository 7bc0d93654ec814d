import { expect, test } from "bun:test";
import { sampleStored } from "../../../test/harness/decisions.ts";
import { verificationOf } from "./verify.ts";

const entry = (stored: ReturnType<typeof sampleStored>) => ({ ...stored, revision: 1, storedAt: 0 });

test("each difference between the bus and a log is named", () => {
  const logged = [
    sampleStored("equal"),
    sampleStored("lost", { state: "revoked" }),
    sampleStored("older", { state: "revoked" }),
    sampleStored("other", { hostname: "a" }),
  ];
  const stored = [
    sampleStored("equal"),
    sampleStored("older", { state: "active" }),
    sampleStored("other", { hostname: "b" }),
    sampleStored("new", { state: "active", updatedAt: 9_000 }),
  ];
  const found = verificationOf(logged, { enrollments: stored.map(entry), revocations: [] }, 0);
  expect(Object.fromEntries(found.differences.map(({ peelId, problem }) => [peelId, problem]))).toEqual({
    "peel-lost": "lost",
    "peel-older": "outdated",
    "peel-other": "different",
    "peel-new": "unlogged",
  });
  expect([found.logged, found.stored]).toEqual([4, 4]);
});
