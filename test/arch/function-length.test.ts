import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { checkFunctions, type Lengths, longFunctions } from "./function-length.ts";
import { lines, readRepository } from "./source.ts";

const table = new URL("function-lengths.json", import.meta.url);
const limits = JSON.parse(readFileSync(table, "utf8")) as Lengths;
const sum = (lengths: Lengths) => Object.values(lengths).reduce((all, length) => all + length, 0);

// SVC_UPDATE_LIMITS=1 bun test test/arch/function-length.test.ts writes the list again, for functions that moved or
// became shorter. It may only get shorter, in entries and in lines.
test("functions are short", () => {
  const sources = readRepository();
  if (process.env.SVC_UPDATE_LIMITS === "1") {
    const found = longFunctions(sources);
    const [more, longer] = [Object.keys(found).length - Object.keys(limits).length, sum(found) - sum(limits)];
    if (more > 0 || longer > 0) throw new Error(`${more} functions and ${longer} lines more than so far`);
    writeFileSync(table, `${JSON.stringify(found, null, 2)}\n`);
    return;
  }
  expect(lines(checkFunctions(sources, limits))).toEqual([]);
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
  expect(lines(checkFunctions([{ path, text }], {}))).toEqual([
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
  expect(lines(checkFunctions(sources, {}))).toEqual([]);
});

test("two long functions with one name in a file need two entries", () => {
  const text = `${long("const a = { run()", 90, "};")}\n${long("const b = { run()", 95, "};")}`;
  const sources = [{ path: "internal/a/run.ts", text }];
  expect(longFunctions(sources)).toEqual({ "internal/a/run.ts run": 90, "internal/a/run.ts run#2": 95 });
});

test("a function may not outgrow its entry, and an entry falls with its function", () => {
  const sources = [
    { path: "internal/a/grown.ts", text: long("function run()", 92) },
    { path: "internal/a/same.ts", text: long("function run()", 91) },
    { path: "internal/a/shorter.ts", text: long("function run()", 90) },
    { path: "internal/a/short.ts", text: long("function run()", 12) },
  ];
  const entries = ["grown", "same", "shorter", "short", "gone"].map((name) => [
    `internal/a/${name}.ts run`,
    91,
  ]);
  expect(lines(checkFunctions(sources, Object.fromEntries(entries)))).toEqual([
    "internal/a/gone.ts: run is shorter than its limit of 91; lower or remove it",
    "internal/a/grown.ts: run has 92 lines, 91 are allowed; cut it by its decisions",
    "internal/a/short.ts: run is shorter than its limit of 91; lower or remove it",
    "internal/a/shorter.ts: run is shorter than its limit of 91; lower or remove it",
  ]);
});
