import { expect, test } from "bun:test";
import { complete, type Known } from "./complete.ts";
import { columnOf, problemOf } from "./parser.ts";

const known: Known = {
  ids: ["web-1.example.com", "web-2.example.com", "db-1.example.com"],
  facts: new Map([
    ["os", ["Debian", "Red Hat"]],
    ["osrelease", ["12"]],
  ]),
  labels: new Map([["env", ["prod", "lab"]]]),
  mayUseSettings: true,
};
const offered = (text: string) => complete(text, text.length, known).options.map((one) => one.text);

test.each([
  ["", ["*", "G@", "T@", "E@", "P@", "L@", "I@", "N@"]],
  ["we", ["web-1.example.com", "web-2.example.com"]],
  ["G@o", ["G@os:", "G@osrelease:"]],
  ["G@os:", ["G@os:Debian", "G@os:'Red Hat'"]],
  ["web-* ", ["and", "or"]],
  ["web-* a", ["and"]],
  ["web-* and T@env:l", ["T@env:lab"]],
  ["not (G@os:D", ["G@os:Debian"]],
  ["L@db-1.example.com,web-2", ["L@db-1.example.com,web-2.example.com"]],
  ["web-* and n", ["not"]],
  ["E@web", []],
])("%j is completed", (text, options) => {
  expect(offered(text)).toEqual(options);
});

test("settings are offered only with the right to use them in a target", () => {
  const without = { ...known, mayUseSettings: false };
  for (const text of ["", "I", "web-* and "]) {
    const { options } = complete(text, text.length, without);
    expect(options.map((one) => one.text)).toEqual(offered(text).filter((one) => one !== "I@"));
  }
  expect(offered("I")).toEqual(["I@"]);
});

test("only the word at the cursor is replaced", () => {
  expect(complete("G@o and web-*", 3, known)).toMatchObject({ from: 0, to: 3 });
});

test("whatever is offered as a whole parses", () => {
  const starts = ["", "we", "G@os:", "T@env:", "L@db-1.example.com,", "not "];
  const whole = starts.flatMap((start) =>
    complete(start, start.length, known)
      .options.filter((one) => one.whole)
      .map(({ text }) => (start.endsWith(" ") ? start : "") + text),
  );
  expect(whole.length).toBeGreaterThan(5);
  expect(whole.filter((text) => text !== "not").map(problemOf)).toEqual(
    whole.filter((text) => text !== "not").map(() => undefined),
  );
});

test("a problem names its column", () => {
  const problem = problemOf("web-* and");
  expect(problem).toBe('column 10: expected a matcher after "and", found the end');
  expect(columnOf(problem ?? "")).toBe(10);
});
