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

test("a hint about one refusal is not for others of its kind", () => {
  const seePeels = { not_found: { about: "no peel matches", say: "see svc peels list" } };
  const nobody = new SvcError("not_found", "no peel matches the target");
  expect(withHint(seePeels, nobody).message).toBe("no peel matches the target: see svc peels list");
  const unknown = new SvcError("not_found", 'environment "x" does not exist');
  expect(withHint(seePeels, unknown)).toBe(unknown);
});

test("every other refusal stays as it is", async () => {
  expect(withHint({}, mismatch)).toBe(mismatch);
  expect(withHint(undefined, mismatch)).toBe(mismatch);
  const missing = new SvcError("not_found", "the enrollment does not exist");
  expect(withHint(hints, missing)).toBe(missing);
  const bug = new Error("a bug");
  await expect(hinted(hints, () => Promise.reject(bug))).rejects.toBe(bug);
});
