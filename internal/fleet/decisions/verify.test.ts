import { expect, test } from "bun:test";
import { sampleStored } from "../../../test/harness/decisions.ts";
import type { StoredMap } from "../enrollment/record/mod.ts";
import { verificationOf } from "./verify.ts";

const entry = (stored: ReturnType<typeof sampleStored>) => ({ ...stored, revision: 1, storedAt: 0 });

const judge = {
  now: 0,
  pendingTtlMs: Number.POSITIVE_INFINITY,
  vouched: () => true,
  isGoodOperator: () => true,
  isGoodRelease: () => true,
};

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
  const found = verificationOf(logged, { enrollments: stored.map(entry), revocations: [] }, judge);
  expect(Object.fromEntries(found.differences.map(({ peelId, problem }) => [peelId, problem]))).toEqual({
    "peel-lost": "lost",
    "peel-older": "outdated",
    "peel-other": "different",
    "peel-new": "unlogged",
  });
  expect([found.logged, found.stored]).toEqual([4, 4]);
});

test("what nothing can read is named, and the index of enrollments is not", () => {
  const odd = (key: string) => ({ key, value: Buffer.from([1]), revision: 1, storedAt: 0 });
  const good = sampleStored("a");
  const revocations = [odd("UNONSENSE")];
  const enrollments = [entry(good), odd(sampleStored("b").key), odd("peel.web-1")];
  const found = verificationOf([good], { enrollments, revocations }, judge);
  expect(found.differences).toEqual([
    { bucket: "enrollments", key: sampleStored("b").key, peelId: "", problem: "malformed" },
    { bucket: "revocations", key: "UNONSENSE", peelId: "", problem: "malformed" },
  ]);
  expect(found.stored).toBe(1);
});

test("a record that no master made is named, and is not what the log lacks", () => {
  const judge = {
    now: 0,
    pendingTtlMs: 1,
    vouched: (stored: StoredMap) => stored.hostname !== "forged",
    isGoodOperator: () => true,
    isGoodRelease: () => true,
  };
  const logged = [sampleStored("a", { state: "active" })];
  const stored = [sampleStored("a", { state: "revoked", hostname: "forged", updatedAt: 9_000 })];
  const found = verificationOf(logged, { enrollments: stored.map(entry), revocations: [] }, judge);
  expect(found.differences.map(({ problem }) => problem)).toEqual(["tampered"]);
});
