import { expect, test } from "bun:test";
import { compileOptions, runOptions } from "../../../test/harness/states.ts";
import type { CallArgs } from "../../host/modules/mod.ts";
import { type Changes, StateFailure, type StateFunction } from "../function/mod.ts";
import type { StateRegistry } from "../functions/mod.ts";
import { pkgStates } from "../functions/packages/pkg.ts";
import { testStates } from "../functions/test.ts";
import { compileStates } from "../language/mod.ts";
import { runStates } from "./run.ts";

/** Runs states of packages on a host whose package manager is a set. @returns results in short, and its transactions */
async function run(text: string, options: { test?: boolean; missing?: string[] } = {}) {
  const installed = new Set<string>();
  const transactions: string[] = [];
  const namesOf = ({ pkgs }: CallArgs, name: string) =>
    Array.isArray(pkgs)
      ? pkgs.map((each) =>
          typeof each === "object" && each !== null ? (Object.keys(each)[0] ?? "") : String(each),
        )
      : [name];
  const pretend = (real: StateFunction): StateFunction => ({
    ...real,
    plan(name, args) {
      const due = namesOf(args, name).filter((each) => !installed.has(each));
      if (due.length === 0) return { changes: {}, comment: "installed as requested" };
      return {
        changes: Object.fromEntries(due.map((each) => [each, { new: "1" }])),
        comment: "would be installed",
        async apply() {
          transactions.push(due.join("+"));
          const absent = due.filter((each) => options.missing?.includes(each));
          if (absent.length > 0) throw new StateFailure(`no package ${absent}`);
          const brought = [...due, ...due.map((each) => `lib-${each}`)];
          for (const each of brought) installed.add(each);
          const changes: Changes = Object.fromEntries(brought.map((each) => [each, { new: "1" }]));
          return { changes, comment: "installed" };
        },
      };
    },
  });
  const all = [...testStates, ...pkgStates.map(pretend)];
  const registry: StateRegistry = {
    functionsOf: async (module) => all.filter(({ name }) => name.startsWith(`${module}.`)),
    all: async () => all,
  };
  const compiled = await compileStates(compileOptions({ "a.sls": text }, { registry }), ["a"]);
  const { states } = await runStates(compiled, runOptions({ test: options.test ?? false }));
  const brief = states.map(({ id, result, changes }) => `${id}:${result} ${Object.keys(changes)}`.trim());
  return { brief, transactions, states };
}

const pkg = (id: string, ...lines: string[]) =>
  `${id}:\n  pkg.installed:${lines.length === 0 ? " []" : ""}\n${lines.map((line) => `    - ${line}\n`).join("")}`;

test("packages of later states are installed in one transaction, and each state has its own changes", async () => {
  const text =
    pkg("a", "aggregate: true") +
    pkg("b", "pkgs: [b1, b2: '2']") +
    pkg("c", "version: '3'", "require: [{pkg: b}]") +
    "d:\n  test.succeed_with_changes:\n    - onchanges: [{pkg: b}]\n";
  const { brief, transactions, states } = await run(text);
  // c waits for b, which has not run yet when a does.
  expect(transactions).toEqual(["a+b1+b2", "c"]);
  expect(brief).toEqual(["a:true a,lib-a,lib-b1,lib-b2", "b:true b1,b2", "c:true c,lib-c", "d:true testing"]);
  expect(states[1]?.comment).toBe("installed as requested, changed together with pkg: a");
});

test.each([
  ["without aggregate", pkg("a") + pkg("b")],
  ["with another function", `${pkg("a", "aggregate: true")}b: pkg.latest\n`],
  ["with a condition", pkg("a", "aggregate: true") + pkg("b", "onlyif: 'true'")],
  [
    "with a requisite that has not ended",
    `${pkg("a", "aggregate: true")}r: test.nop\n${pkg("b", "require: [{test: r}]")}`,
  ],
  [
    "with onchanges",
    `r: test.succeed_with_changes\n${pkg("a", "aggregate: true")}${pkg("b", "onchanges: [{test: r}]")}`,
  ],
  [
    "where another comes before it",
    `${pkg("a", "aggregate: true")}${pkg("b")}r:\n  test.nop:\n    - prereq: [{pkg: b}]\n`,
  ],
  ["that stays out", pkg("a", "aggregate: [pkg]") + pkg("b", "aggregate: false")],
  ["of another module", pkg("a", "aggregate: [gem]") + pkg("b")],
])("a state %s has its own transaction", async (_, text) => {
  expect((await run(text)).transactions).toEqual(["a", "b"]);
});

test("one package in two states stays with the first", async () => {
  const text = pkg("a", "aggregate: true") + pkg("b", "pkgs: [a, b]") + pkg("c", "require: [{test: r}]");
  expect((await run(`r: test.nop\n${text}`)).transactions).toEqual(["a+c", "b"]);
});

test("a package that is missing fails its own state alone", async () => {
  const text = pkg("a", "aggregate: true") + pkg("b") + pkg("c");
  const { brief, transactions } = await run(text, { missing: ["b"] });
  expect(transactions).toEqual(["a+b+c", "a", "b", "c"]);
  expect(brief).toEqual(["a:true a,lib-a", "b:false", "c:true c,lib-c"]);
});

test("a test shows what each state would do", async () => {
  const { brief, transactions } = await run(pkg("a", "aggregate: true") + pkg("b"), { test: true });
  expect([brief, transactions]).toEqual([["a:null a", "b:null b"], []]);
});
