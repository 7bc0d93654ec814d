import { expect, test } from "bun:test";
import { SvcError } from "../base/errors.ts";
import { hinted, withHint } from "./hints.ts";

const mismatch = new SvcError("trust_mismatch", "another root");

test("a refusal with a known solution names it, and keeps its kind", () => {
  const told = withHint("enrollments.approve", mismatch);
  expect([told.kind, told.message]).toEqual([
    "trust_mismatch",
    "another root: approve it anyway with --force",
  ]);
  expect(withHint("enrollments.approve", told)).toBe(told);
});

test("every other refusal stays as it is", async () => {
  expect(withHint("enrollments.reject", mismatch)).toBe(mismatch);
  const missing = new SvcError("not_found", "the enrollment does not exist");
  expect(withHint("enrollments.vouch", missing)).toBe(missing);
  const bug = new Error("a bug");
  await expect(hinted("rollouts.show", () => Promise.reject(bug))).rejects.toBe(bug);
});
