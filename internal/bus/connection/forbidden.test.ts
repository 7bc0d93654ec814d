import { expect, test } from "bun:test";
import { describeForbidden } from "./forbidden.ts";

const advice =
  "no role of anna allows it; an operator with role admin changes them with svc operator roles anna ROLE";

test.each([
  ["enrollments.list", "enroll list", "anna may not list enrollments (enroll list)"],
  ["jobs.create", "run", "anna may not create jobs (run)"],
  ["facts.get", undefined, "anna may not get facts"],
  // Only a verb makes a sentence.
  ["states.drift", "states drift", "anna may not do this (states drift)"],
  ["cluster.add", "cluster add", "anna may not do this (cluster add)"],
  ["operators.roles", "operator roles", "anna may not do this (operator roles)"],
  [undefined, undefined, "anna may not do this"],
])("%s by %s: %s", (operation, command, expected) => {
  expect(describeForbidden("anna", { operation, command })).toBe(`${expected}: ${advice}`);
});
