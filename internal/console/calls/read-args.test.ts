import { expect, test } from "bun:test";
import { catalog } from "./catalog.ts";
import { readArgs } from "./read-args.ts";

const arg = (name: string, type: string, required = false) => ({
  ...{ name, type, required, doc: "", values: [], long: false },
});

test("what is typed becomes arguments of their types", () => {
  const args = [
    arg("path", "path", true),
    arg("count", "integer"),
    arg("part", "number"),
    arg("on", "boolean"),
    arg("words", "strings"),
    arg("env", "map"),
    arg("value", "any"),
    arg("free", "any"),
    arg("empty", "string"),
  ];
  const typed = {
    ...{ path: "/etc/motd", count: " 12 ", part: "0.5", on: "false", words: "-l\na b\n" },
    ...{ env: '{"A": "1"}', value: "[1, true]", free: "a word", empty: "" },
  };
  expect(readArgs({ args }, typed)).toEqual({
    args: {
      ...{ path: "/etc/motd", count: 12, part: 0.5, on: false, words: ["-l", "a b"] },
      ...{ env: { A: "1" }, value: [1, true], free: "a word" },
    },
    problems: {},
  });
});

test("what is wrong is said by argument", () => {
  const args = [arg("path", "path", true), arg("count", "integer"), arg("env", "map")];
  expect(readArgs({ args }, { count: "1.5", env: "[]" })).toEqual({
    args: {},
    problems: {
      path: "is required",
      count: "must be a whole number",
      env: 'must be a JSON object, such as {"name": "value"}',
    },
  });
});

test("the catalog has every function with its description and its arguments", () => {
  const run = catalog.find(({ name }) => name === "cmd.run");
  expect(run?.readOnly).toBe(false);
  expect(run?.args.map(({ name }) => name)).toContain("command");
  expect(catalog.find(({ name }) => name === "test.ping")?.readOnly).toBe(true);
  expect(catalog.filter(({ doc }) => doc === "")).toEqual([]);
});
