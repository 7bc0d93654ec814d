import { expect, test } from "bun:test";
import { earlierMastersProblem } from "./earlier-masters.ts";

const current = { name: "a-1", command_keys: ["UA"] };

test("a rotation may start when every master reports its keys, or when none runs", () => {
  expect(earlierMastersProblem([])).toBeUndefined();
  expect(earlierMastersProblem([current, { name: "b-2", command_keys: ["UA", "UB"] }])).toBeUndefined();
});

test("masters that report no keys run an earlier version: they are named, with the next step", () => {
  const one = earlierMastersProblem([current, { name: "b-2", command_keys: [] }]);
  expect(one?.kind).toBe("conflict");
  expect(one?.message).toMatch(
    /^running master b-2 has an earlier version, .*: upgrade all masters, or use --force$/,
  );
  const two = earlierMastersProblem([
    { name: "b-2", command_keys: [] },
    { name: "c-3", command_keys: [] },
  ]);
  expect(two?.message).toStartWith("running masters b-2, c-3 have an earlier version");
});
