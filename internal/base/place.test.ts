import { expect, test } from "bun:test";
import { atColumn, atLine, fileError } from "./place.ts";

test("a place is named as far as it is known", () => {
  expect([atLine("top.sls", 3), atLine("top.sls", 0), atLine("top.sls", undefined)]).toEqual([
    "top.sls:3",
    "top.sls",
    "top.sls",
  ]);
  expect(atColumn("peel.yaml", { line: 3, column: 7 })).toBe("peel.yaml:3:7");
  expect(fileError("peel.yaml", { line: 3, column: 7 }, "expected a map")).toMatchObject({
    kind: "bad_request",
    message: "peel.yaml:3:7: expected a map",
  });
});
