import { expect, test } from "bun:test";
import { ApiError, WaitsForApproval } from "../api/mod.ts";
import { decideAll } from "./decide-all.ts";

test("each is decided, whatever happens to the others", async () => {
  const ids = ["a", "b", "c", "d", "e", "f"];
  const decided = await decideAll(ids, async (id) => {
    if (id === "b") throw new ApiError(409, "is revoked");
    if (id === "d") throw new WaitsForApproval("apr-1");
  });
  expect([decided.done.toSorted(), decided.waiting]).toEqual([["a", "c", "e", "f"], ["d"]]);
  expect(decided.failed).toEqual([{ one: "b", problem: "is revoked" }]);
});
