import { expect, test } from "bun:test";
import { readReportedTrust, readWeakSecrets } from "./reported.ts";
import { judgeStatements } from "./statements.ts";

const at = "2026-01-01T00:00:00.000Z";
const judged = (refused: unknown) => judgeStatements(readReportedTrust({ refused_statements: refused }));
const unknownKey = { kind: "rotation", reason: "this peel does not know the command key that signed it", at };
const malformed = { kind: "rotation", reason: "its signature does not match", at };
const succession = { kind: "succession", reason: "its serial 1 is not greater than 1", at };

test.each([
  ["none", [], "ok", "no refused statement", undefined],
  [
    "a rotation of an unknown key",
    [unknownKey],
    "fail",
    `since ${at}: this peel does not`,
    "step command keys",
  ],
  ["a rotation that is malformed", [malformed], "fail", "its signature", "svc ca rotate status"],
  ["a succession", [succession], "warn", "its serial 1", "docs/succession.md"],
  ["both", [succession, malformed], "fail", "; it refuses the statement of the rotation", "ca/next"],
  ["one of an unknown kind", [{ ...succession, kind: "other" }], "ok", "no refused", undefined],
  ["one without a time", [{ ...succession, at: "soon" }], "warn", "of succession: its serial", "succession"],
] as const)("%s", (_, refused, level, message, next) => {
  const found = judged(refused);
  expect([found.level, found.message]).toEqual([level, expect.stringContaining(message)]);
  expect(found.next).toEqual(next === undefined ? undefined : expect.stringContaining(next));
});

test("a peel without facts, and one that reports nothing", () => {
  expect(judgeStatements(undefined)).toMatchObject({ level: "skip", next: "see the step facts" });
  expect(judgeStatements(readReportedTrust({ os: "Debian" }))).toMatchObject({ level: "ok" });
});

test("what a peel says is one bounded line, and no line of its own", () => {
  const reason = `no\nok    clone  fine\u2028\u001b[2J${"x".repeat(100_000)}`;
  const found = judged(Array.from({ length: 1_000 }, () => ({ ...succession, reason })));
  expect(found.message.length).toBeLessThan(300);
  expect(found.message).not.toMatch(/[\n\u2028]/);
});

test("weak secrets are named by their settings; a peel may report anything", () => {
  expect(readWeakSecrets({ weak_secrets: ["db:pin", "a\u0007b\nc"] })).toBe("db:pin, a\u0007b c");
  for (const odd of [undefined, null, {}, { weak_secrets: 1 }, { weak_secrets: [{}] }]) {
    expect(readWeakSecrets(odd)).toBe("");
  }
  expect(readWeakSecrets({ weak_secrets: Array.from({ length: 1_000 }, () => "name") })).toHaveLength(201);
});
