import { expect, test } from "bun:test";
import { otherFields, requestWords } from "./request-words.ts";

test.each([
  [{ operation: "jobs.create", function: "cmd.run", target: "web-*", peels: 13 }, "Run cmd.run on 13 hosts"],
  [{ operation: "jobs.create", function: "cmd.run", target: "web-*" }, "Run cmd.run on web-*"],
  [
    { operation: "rollouts.start", function: "state.apply", peels: 1 },
    "Roll out state.apply on 1 host, wave by wave",
  ],
  [{ operation: "enrollments.revoke" }, "Revoke a host"],
  [{ operation: "enrollments.approve", peels: 2 }, "Approve 2 hosts"],
  [{ operation: "operators.roles" }, "Change the roles of an operator"],
  [{ operation: "toString" }, "toString"],
])("%j is a sentence", (request, words) => {
  expect(requestWords(request)).toBe(words);
});

test("every other field of a request is shown, and none as JSON", () => {
  const request = {
    ...{ function: "cmd.run", args: { command: "id" }, target: "*", timeout: "1m", id: "enr-1" },
    ...{ metadata: { ticket: 7, tags: ["a", "b"] }, waves: ["1", "10%"], constructor: "x", nothing: null },
  };
  expect(otherFields(request)).toEqual([
    { name: "Time limit", value: "1m" },
    { name: "Enrollment", value: "enr-1" },
    { name: "metadata", value: "ticket: 7\ntags: a, b" },
    { name: "Waves", value: "1, 10%" },
    { name: "constructor", value: "x" },
  ]);
  expect(otherFields(undefined)).toEqual([]);
});
