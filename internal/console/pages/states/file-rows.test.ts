import { expect, test } from "bun:test";
import { rowsOf } from "./file-rows.ts";

const finding = { file: "web/init.sls", line: 3, column: 2, reason: "the indentation does not fit" };

test("each problem is a row with its place, and what has none is one row", () => {
  const refused = [
    { environment: "base", reason: "summary", problems: [finding, { ...finding, line: 7 }] },
    { environment: "big", remote: "https://git.example/a", ref: "refs/heads/big", reason: "too large" },
    { remote: "https://git.example/b", reason: "no successful sync yet" },
  ];
  expect(rowsOf(refused, "problems")).toEqual([
    { of: "base", at: "web/init.sls:3:2", reason: finding.reason },
    { of: "base", at: "web/init.sls:7:2", reason: finding.reason },
    { of: "big", at: "refs/heads/big", reason: "too large" },
    { of: "https://git.example/b", at: "", reason: "no successful sync yet" },
  ]);
  expect(rowsOf([{ environment: "base", hints: [finding] }], "hints")).toEqual([
    { of: "base", at: "web/init.sls:3:2", reason: finding.reason },
  ]);
});
