import { expect, test } from "bun:test";
import { otherFields, requestSentence } from "./request-words.ts";

test.each([
  [{ operation: "jobs.create", function: "cmd.run", peels: 1_300 }, "Run cmd.run on 1,300 hosts"],
  [{ operation: "enrollments.revoke", about: "web-1.example" }, "Revoke web-1.example"],
])("%j is a sentence", (request, words) => {
  expect(requestSentence(request)).toBe(words);
});

test("the record of an operator is shown for what it says, or as it is where nobody could read it", () => {
  expect(otherFields({ name: "zoe", record: "AAAA" }, true)).toEqual([{ name: "name", value: "zoe" }]);
  expect(otherFields({ name: "zoe", record: "AAAA" })).toHaveLength(2);
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
