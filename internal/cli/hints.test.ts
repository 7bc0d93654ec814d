import { expect, test } from "bun:test";
import { SvcError } from "../base/errors.ts";
import { hinted, withHint } from "./hints.ts";

const mismatch = new SvcError("trust_mismatch", "another root");
const hints = { trust_mismatch: "approve it anyway with --force" };

test("a refusal with a known solution names it, and keeps its kind", () => {
  const reported = withHint(hints, mismatch);
  expect([reported.kind, reported.message]).toEqual([
    "trust_mismatch",
    "another root: approve it anyway with --force",
  ]);
  expect(withHint(hints, reported)).toBe(reported);
});

test("every other refusal stays as it is", async () => {
  expect(withHint({}, mismatch)).toBe(mismatch);
  expect(withHint(undefined, mismatch)).toBe(mismatch);
  const missing = new SvcError("not_found", "the enrollment does not exist");
  expect(withHint(hints, missing)).toBe(missing);
  const bug = new Error("a bug");
  await expect(hinted(hints, () => Promise.reject(bug))).rejects.toBe(bug);
});
