import { expect, test } from "bun:test";
import { checkFunctions } from "./function-length.ts";
import { lines, readRepository } from "./source.ts";

test("functions are short", () => {
  expect(lines(checkFunctions(readRepository()))).toEqual([]);
});

// A function of this many lines: `head {`, a body, `}`.
const long = (head: string, count: number, tail = "") => `${head} {${"\n".repeat(count - 1)}}${tail}`;

test.each<[string, string, string, string]>([
  ["internal/a/run.ts", "export function run()", "run", ""],
  ["internal/a/run.ts", "export const run = () =>", "run", ""],
  ["internal/a/run.ts", "const run = async function ()", "run", ""],
  ["internal/a/run.ts", "const run = bound(() =>", "run", ")"],
  ["internal/a/run.ts", "const part = { run()", "run", "}"],
  ["internal/a/run.ts", 'const part = { "run": () =>', "run", "}"],
  ["internal/a/run.ts", "class Part { run()", "run", "}"],
  ["internal/a/run.ts", "function outer() { return 1; } export default function ()", "default", ""],
  ["internal/a/run.tsx", "export function Page()", "Page", ""],
  ["release/run.ts", "function run()", "run", ""],
])("81 lines are found in %s: %s", (path, head, name, tail) => {
  const text = long(head, 81, tail);
  expect(lines(checkFunctions([{ path, text }]))).toEqual([
    `${path}: ${name} has 81 lines, 80 are allowed; cut it by its decisions`,
  ]);
});

test("80 lines, tests, and long tables are allowed", () => {
  const sources = [
    { path: "internal/a/run.ts", text: long("function run()", 80) },
    { path: "internal/a/run.test.ts", text: long("function run()", 200) },
    { path: "test/harness/run.ts", text: long("function run()", 200) },
    { path: "internal/a/table.ts", text: `const table = [${"\n".repeat(200)}];` },
  ];
  expect(lines(checkFunctions(sources))).toEqual([]);
});

test("each of two long functions with one name in a file is found", () => {
  const text = `${long("const a = { run()", 90, "};")}\n${long("const b = { run()", 95, "};")}`;
  expect(checkFunctions([{ path: "internal/a/run.ts", text }])).toHaveLength(2);
});
