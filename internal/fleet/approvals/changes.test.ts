import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { changesOf } from "./changes.ts";

const snapshot = (digit: string) => digit.repeat(64);
const bytes = (digit: string) => Buffer.from(snapshot(digit), "hex");
const content = { environment: "dev", commit: "c".repeat(40), snapshot: snapshot("a") };
const report = (more: object) => ({ report: { test: false, environment: "base", commit: "", ...more } });
const runs: Record<string, object> = {
  one: report({ snapshot: snapshot("b") }),
  two: report({ snapshot: snapshot("b") }),
  old: report({}),
  // A dry run needs no agreement, so it must not hide what an agreement would change.
  test: report({ snapshot: snapshot("a"), test: true }),
  lost: report({ snapshot: snapshot("d") }),
};
const requested: unknown[] = [];
const deps = {
  runs: { runOf: (peel: string) => runs[peel] as never, caughtUp: async () => {} },
  async compareFiles(of: { before: string | undefined }) {
    requested.push(of);
    if (of.before === snapshot("d")) throw new SvcError("not_found", "the blob is gone");
    return { added: 1, changed: 0, removed: 0, files: [{ change: "+" as const, path: "x" }], left_out: 0 };
  },
  insists: (peel: string) => peel === "two",
  clock: manualClock(),
};

test("peels are grouped by the files that they ran last, and a dry run counts as none", async () => {
  const targets = ["one", "new", "two", "old", "test", "lost"];
  const found = await changesOf(deps, { content, targets }, true);
  const compared = { added: 1, changed: 0, removed: 0, files: [{ change: "+", path: "x" }], left_out: 0 };
  const none = { added: 0, changed: 0, removed: 0, files: [], left_out: 0 };
  const ran = { last: "ran", environment: "base", commit: "" };
  expect(found as unknown).toEqual({
    changes: [
      { ...ran, peels: 2, such_as: ["one", "two"], snapshot: bytes("b"), ...compared },
      { last: "never_ran", peels: 1, such_as: ["new"], ...compared },
      { last: "unknown", peels: 1, such_as: ["old"], ...compared },
      { last: "test_only", peels: 1, such_as: ["test"], ...compared },
      { ...ran, peels: 1, such_as: ["lost"], snapshot: bytes("d"), problem: "no longer stored", ...none },
    ],
  });
  expect(requested).toContainEqual({ before: snapshot("b"), after: content.snapshot, withText: true });
  expect(requested).toContainEqual({ before: undefined, after: content.snapshot, withText: true });
});

test("peels that run released files alone are compared with those", async () => {
  const released = { ...content, snapshot: snapshot("c") };
  const found = await changesOf(deps, { content, released, targets: ["one", "two"] }, false);
  expect(found?.changes).toMatchObject([
    { peels: 1, such_as: ["one"], snapshot: bytes("b") },
    { peels: 1, such_as: ["two"], snapshot: bytes("b") },
  ]);
  expect(requested.slice(-2)).toEqual([
    { before: snapshot("b"), after: content.snapshot, withText: false },
    { before: snapshot("b"), after: released.snapshot, withText: false },
  ]);
});

test("peels may claim any files: at most ten groups are compared", async () => {
  const claiming = Array.from({ length: 16 }, (_, at) => `peel-${at}`);
  for (const [at, peel] of claiming.entries()) runs[peel] = report({ snapshot: snapshot(at.toString(16)) });
  expect(await changesOf(deps, { content, targets: claiming }, false)).toMatchObject({ changes_left_out: 6 });
});

test("a request that runs no files has no differences", async () => {
  expect(await changesOf(deps, { targets: ["one"] }, true)).toBeUndefined();
});
