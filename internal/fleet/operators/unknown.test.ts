import { expect, test } from "bun:test";
import { unknownOperator } from "./unknown.ts";

test("a name that no operator has is answered with the nearest one and the next step", () => {
  const said = (known: string[]) => unknownOperator("daev", known).message;
  expect(said(["ann", "dave"])).toBe("there is no operator daev (did you mean dave?): see svc operator list");
  expect(said(["ann"])).toBe("there is no operator daev: see svc operator list");
  expect(unknownOperator("daev", []).kind).toBe("not_found");
});
