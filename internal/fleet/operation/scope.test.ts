import { expect, test } from "bun:test";
import type * as v from "valibot";
import type { InputSchema, Operation } from "./operation.ts";
import { type Scope, scopes } from "./scope.ts";

type Any = Operation<unknown, InputSchema, v.GenericSchema>;

// An operation without a scope does not compile: when it did, this line would not. `tsc` judges it in `make check`.
const isOperationWithoutScope: Omit<Any, "scope"> extends Any ? true : false = false;
// Neither does one with a scope that no role can be given.
const isOperationWithAnyScope: { kind: "jobs"; action: "destroy" } extends Scope ? true : false = false;
const isOperationOfOtherKind: { kind: "jobs"; action: "approve" } extends Scope ? true : false = false;

test("every operation has a scope, from the table that roles are given words of", () => {
  expect([isOperationWithoutScope, isOperationWithAnyScope, isOperationOfOtherKind]).toEqual([
    false,
    false,
    false,
  ]);
  expect(Object.values(scopes).every((actions) => new Set(actions).size === actions.length)).toBe(true);
});
