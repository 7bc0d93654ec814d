import { describe, expect, test } from "bun:test";
import { compileOptions } from "../../../test/harness/states.ts";
import type { LowState } from "../function/low.ts";
import { StateErrors } from "../function/problem.ts";
import { compileStates } from "./compile.ts";

type Compat = "strict" | "salt";

async function compile(text: string | Record<string, string>, compat: Compat = "strict") {
  const files = typeof text === "string" ? { "a.sls": text } : text;
  return compileStates(compileOptions(files, { compat }), ["a"]);
}

async function statesOf(
  text: string | Record<string, string>,
  compat?: Compat,
): Promise<readonly LowState[]> {
  return (await compile(text, compat)).states;
}

async function problemsOf(text: string | Record<string, string>, compat?: Compat): Promise<string[]> {
  const thrown = await compile(text, compat).catch((error: unknown) => error);
  return thrown instanceof StateErrors ? thrown.problems.map(({ message }) => message) : [];
}

const args = async (text: string, compat?: Compat) =>
  (await statesOf(text, compat)).map((state) => state.args);

describe("use", () => {
  test.each([
    ["use: [{file: x}]", ""],
    ["use: [x]", ""],
    ["use: [{file: /x}]", ""],
    ["mode: '0600'", "use_in: [{file: y}]"],
  ])("%s %s", async (own, other) => {
    const of = (line: string) => (line === "" ? "" : `    - ${line}\n`);
    const text = `x:\n  file.managed:\n    - name: /x\n    - mode: '0640'\n    - user: root\n    - require: [{test: z}]\n${of(other)}y:\n  file.managed:\n    - name: /y\n${of(own)}z: test.nop\n`;
    const states = await statesOf(text);
    const taken = states.find(({ id }) => id === "y");
    expect(taken?.args).toEqual({ mode: own.startsWith("mode") ? "0600" : "0640", user: "root" });
    expect(taken?.name).toBe("/y");
    expect(taken?.requisites).toEqual([]);
  });

  test("file.recurse says what a published tree does not have", async () => {
    for (const compat of ["salt", "strict"] as const) {
      const of = async (args: string) =>
        (await compile(`/x:\n  file.recurse:\n    - source: salt://x\n${args}`, compat)).warnings.map(
          ({ message }) => message,
        );
      expect(await of("    - keep_symlinks: true\n")).toEqual([
        expect.stringContaining("make each with file.symlink"),
      ]);
      expect(await of("    - include_empty: true\n")).toEqual([
        expect.stringContaining("make each with file.directory"),
      ]);
      expect(await of("    - include_empty: false\n    - keep_symlinks: false\n")).toEqual([]);
    }
  });

  test("of a state that does not exist", async () => {
    expect(await problemsOf("site:\n  file.managed:\n    - name: /y\n    - use: [{file: site-1}]")).toEqual([
      "use: no state matches file: site-1 (did you mean site?)",
    ]);
  });
});

test("exclude takes out ids and state files", async () => {
  const files = {
    "a.sls": "include: [b, c]\nexclude:\n  - sls: b\n  - id: c1\n  - c2\nx: test.nop\n",
    "b.sls": "b1: test.nop\n",
    "c.sls": "c1: test.nop\nc2: test.nop\nc3: test.nop\n",
  };
  expect((await statesOf(files)).map(({ id }) => id)).toEqual(["c3", "x"]);
  expect(await problemsOf("exclude: [{x: y}]")).toEqual([expect.stringContaining("exclude: expected items")]);
});

test("arguments of every state", async () => {
  const all =
    "check_cmd: [a, b]\ncreates: /x\nfire_event: a/b\nparallel: true\naggregate: true\nreload_modules: true\nonfail_any: [{test: y}]";
  const lines = all
    .split("\n")
    .map((line) => `    - ${line}\n`)
    .join("");
  const [, state] = await statesOf(`y: test.nop\nx:\n  test.nop:\n${lines}`);
  expect(state).toMatchObject({ checks: ["a", "b"], creates: ["/x"], event: "a/b", args: {} });
  expect(state?.requisites).toMatchObject([{ kind: "onfail", label: "test: y" }]);
  expect(await problemsOf("x:\n  test.nop:\n    - fire_event: a b\n    - creates: {a: b}")).toHaveLength(2);
  // A function's own argument comes first.
  expect(await args("x:\n  file.managed:\n    - name: /x\n    - check_cmd: visudo -c -f")).toEqual([
    { check_cmd: "visudo -c -f" },
  ]);
});

describe("values as Salt takes them", () => {
  const cases: [string, string, Record<string, unknown>][] = [
    ["file.managed", "context: null", {}],
    ["file.managed", "user: 0", { user: "0" }],
    ["file.managed", "contents: true", { contents: ["True"] }],
    ["file.managed", "contents: [a, null, 1]", { contents: ["a", "1"] }],
    ["file.managed", "makedirs: 'True'", { makedirs: true }],
    ["file.managed", "makedirs: 1", { makedirs: true }],
    ["mount.mounted", "dump: '1'", { device: "a", fstype: "b", dump: 1 }],
    ["file.copy", "source: //a//b/", { source: "/a/b/" }],
    ["file.managed", "require: null", {}],
  ];
  const text = (called: string, line: string) =>
    `x:\n  ${called}:\n    - name: /x\n${called === "mount.mounted" ? "    - device: a\n    - fstype: b\n" : ""}    - ${line}\n`;

  test.each(cases)("%s: %s", async (called, line, expected) => {
    const compiled = await compile(text(called, line), "salt");
    expect(compiled.states.map((state) => state.args)).toEqual([expected as LowState["args"]]);
    if (line !== "user: 0") expect(compiled.warnings).toHaveLength(1);
  });

  test.each(cases.filter(([, line]) => line !== "user: 0"))("strict refuses %s: %s", async (called, line) => {
    expect(await problemsOf(text(called, line))).toHaveLength(1);
  });

  test("what Salt does not take either is an error", async () => {
    expect(await problemsOf(text("file.managed", "makedirs: perhaps"), "salt")).toHaveLength(1);
    expect(await problemsOf(text("file.copy", "source: /a/../b"), "salt")).toHaveLength(1);
  });
});

test("no match of a packet is left out of a rule: the rule would match more", async () => {
  const text = "x:\n  iptables.append:\n    - chain: INPUT\n    - i: eth0\n    - jump: ACCEPT\n";
  const { states, warnings } = await compile(text, "salt");
  expect(states[0]?.args).toEqual({ chain: "INPUT", i: "eth0", jump: "ACCEPT" });
  expect(warnings).toEqual([]);
  expect(await problemsOf(text)).toEqual(['iptables.append: unknown argument "i" (did you mean if?)']);
  expect(await problemsOf(text.replace("- i: eth0", "- --x: eth0"), "salt")).toHaveLength(1);
  const other = "x:\n  nftables.append:\n    - chain: input\n    - uid: 7\n    - jump: accept\n";
  expect(await problemsOf(other, "salt")).toHaveLength(1);
});

test("a requisite that matches nothing is an error, and in Salt's way a state that fails", async () => {
  const text = "x:\n  test.nop:\n    - require: [{test: gone}]\n";
  expect(await problemsOf(text)).toEqual(["require: no state matches test: gone"]);
  const { states, warnings } = await compile(text, "salt");
  expect(states[0]?.requisites).toEqual([
    { kind: "require", label: "test: gone", targets: [], isMissing: true },
  ]);
  expect(warnings.map(({ message }) => message)).toEqual([
    "require: no state matches test: gone: this state will fail",
  ]);
  expect(await problemsOf(text.replace("require", "require_in"), "salt")).toHaveLength(1);
});

test("a reversed requisite to another module of an id is left out in Salt's way, with a warning", async () => {
  const text = "x:\n  test.nop:\n    - require_in: [{file: y}]\ny:\n  test.nop: []\n";
  expect(await problemsOf(text)).toHaveLength(1);
  const { states, warnings } = await compile(text, "salt");
  expect(states.map(({ requisites }) => requisites)).toEqual([[], []]);
  expect(warnings[0]?.message).toStartWith("require_in: no state matches file: y");
});

describe("sls means the states of included files as well, as in Salt", () => {
  const files = {
    "a.sls": "x:\n  test.nop:\n    - require: [{sls: web}]\ninclude: [web]\n",
    "web.sls": "include: [install]\n",
    "install.sls": "include: [users]\ninstalled: test.nop\n",
    "users.sls": "user: test.nop\n",
  };
  const needsOf = (states: readonly LowState[], id: string) =>
    states
      .find((state) => state.id === id)
      ?.requisites.flatMap(({ targets }) => targets.map((order) => states[order]?.id));

  test("also through several", async () => {
    const states = await statesOf(files, "salt");
    expect(needsOf(states, "x")).toEqual(["user", "installed"]);
    expect(needsOf(await statesOf(files), "x")).toEqual([]);
  });

  test("a file that was read before is not one of them", async () => {
    const before = { ...files, "a.sls": files["a.sls"].replace("[web]\n", "[users, web]\n") };
    expect(needsOf(await statesOf(before, "salt"), "x")).toEqual(["installed"]);
  });

  test("a file that requires the one that includes it does not wait for itself", async () => {
    const around = { ...files, "users.sls": "user:\n  test.nop:\n    - require: [{sls: install}]\n" };
    const states = await statesOf(around, "salt");
    expect(states.map(({ id }) => id)).toEqual(["installed", "user", "x"]);
    expect(needsOf(states, "x")).toEqual(["user", "installed"]);
  });
});
