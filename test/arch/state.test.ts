import { describe, expect, test } from "bun:test";
import { lines, readRepository } from "./source.ts";
import { checkState } from "./state.ts";

test("no module keeps state", () => {
  expect(lines(checkState(readRepository()))).toEqual([]);
});

const path = "internal/jobs/run.ts";
const found = (text: string) =>
  lines(checkState([{ path, text }])).map((line) => line.slice(path.length + 2));

describe("state of a module is found:", () => {
  test.each([
    "let count = 0;",
    "export let count = 0;",
    "var count = 0;",
    "{ let count = 0; }",
    "const seen = new Map();",
    "const seen = { names: new WeakSet() };",
    "const seen = new WeakMap();",
    "const found: string[] = [];",
    "export const names = new Set(['a']);",
    "export const engine = new Engine();",
    "const state = { stopping: new AbortController() };",
    "const pool = createPool();",
    "const next = (() => { let n = 0; return () => n++; })();",
    "class Pool { static size = 0; }",
    "class Pool { static readonly all = new Map(); }",
    "const names = new Map([['a', 1]]); export const learn = (n: string) => names.set(n, 2);",
    "const names = ['a']; export function learn(n: string) { if (n) { names.push(n); } }",
    "const names = { a: 1 }; export function learn() { names.a = 2; }",
    "const names = { a: 1 }; export function learn() { names['b']++; }",
    "const names = { a: { b: 1 } }; export function forget() { delete names.a.b; }",
    "const names = { a: 1 }; export const learn = (more: object) => Object.assign(names, more);",
    "const names = { a: 1 } as const; export const learn = () => { (names as any).a = 2; };",
    "import { table } from './table.ts'; export const learn = () => { table.a = 2; };",
    "function next() { next.count = 1; }",
    "const form = /a/g; export const has = (text: string) => form.test(text);",
    "const names = ['a']; export const own = () => { { const names = ['b']; names.push('c'); } names.push('d'); };",
  ])("%s", (text) => {
    expect(found(text)).toHaveLength(1);
  });
});

describe("what never changes, or belongs to a function, is no state:", () => {
  test.each([
    "const limits = { ms: 5 } as const; const names = ['a'];",
    "const names: ReadonlySet<string> = new Set(['a']); export const has = (n: string) => names.has(n);",
    "export const names: ReadonlyMap<string, number> = new Map([['a', 1]]);",
    "export const none: readonly string[] = [];",
    "const nobody: ReadonlyMap<string, string> = new Map();",
    "const form = /a/g; export const all = (text: string) => text.matchAll(form);",
    "const form = /a/; export const has = (text: string) => form.test(text);",
    "export function createPool() { let size = 0; const all = new Map(); return () => all.set('a', size++); }",
    "const names = ['a']; export const sorted = () => [...names].sort();",
    "const names = ['a']; export function own(names: string[]) { names.push('b'); }",
    "const names = ['a']; export function own() { for (const names of [['b']]) names.push('c'); }",
    "const names = ['a']; export const own = ({ names }: { names: string[] }) => names.push('b');",
    "class Pool { size = 0; private all = new Map(); add() { this.size = 1; } }",
  ])("%s", (text) => {
    expect(found(text)).toEqual([]);
  });
});

test("a violation names the line", () => {
  expect(found("\n\nconst names = ['a'];\nexport const f = () => names.push('b');\n")).toEqual([
    "line 4: names of this module is changed; keep it in what a createX() returns",
  ]);
});

test("tests and scripts of the build may keep state", () => {
  for (const path of ["test/harness/run.ts", "internal/jobs/run.test.ts", "release/build.ts"]) {
    expect(checkState([{ path, text: "let count = 0;" }])).toEqual([]);
  }
});
