import { expect, test } from "bun:test";
import { describeDifference, snapshotOfRows } from "./difference.ts";

const row = (path: string, digest = "a", executable = false): [string, boolean, number, string] => [
  ...([path, executable, 1, digest.repeat(64)] as const),
];

test("a difference names what is new, changed and gone, and counts it", () => {
  const before = [row("a"), row("b"), row("c"), row("same")];
  const after = [row("b", "b"), row("c", "a", true), row("d"), row("same")];
  expect(describeDifference(before, after)).toEqual([
    ...["- a", "~ b", "~ c", "+ d", "1 added, 2 changed, 1 removed, 4 in all"],
  ]);
  expect(describeDifference(after, after)).toEqual(["0 added, 0 changed, 0 removed, 4 in all"]);
});

test("many files are counted, and the digest is that of the files in whatever order", () => {
  const many = Array.from({ length: 50 }, (_, at) => row(`f${10 + at}`));
  const lines = describeDifference([], many);
  expect([lines.length, lines.at(-2), lines.at(-1)]).toEqual([
    ...[42, "and 10 more", "50 added, 0 changed, 0 removed, 50 in all"],
  ]);
  expect(snapshotOfRows(many.toReversed())).toBe(snapshotOfRows(many));
  expect(snapshotOfRows(many.slice(1))).not.toBe(snapshotOfRows(many));
});
