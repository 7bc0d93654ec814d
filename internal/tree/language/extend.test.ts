import { describe, expect, test } from "bun:test";
import { compileOptions } from "../../../test/harness/states.ts";
import type { Compat } from "../template/mod.ts";
import { compileStates } from "./compile.ts";

async function compiled(tree: Record<string, string>, compat: Compat = "strict") {
  return (await compileStates({ ...compileOptions(tree), compat }, ["a"])).states;
}

describe("extend adds a state of another module", () => {
  const base = `logger: {test.nop: []}
second: {test.nop: []}
named:
  test.nop:
    - name: real name
last:
  test.nop:
    - order: last
`;
  const order = async (text: string, compat: Compat) => {
    const states = await compiled({ "a.sls": `include: [b]\n${text}`, "b.sls": base }, compat);
    return states.map(({ id, function: name }) => `${id} ${name}`);
  };
  const nops = ["logger", "second", "named"].map((id) => `${id} test.nop`);
  const last = "last test.nop";

  test.each(["strict", "salt"] as const)("which runs after those of all files (%s)", async (compat) => {
    const file = "    file.managed: [{name: /x}, {require: [{test: logger}]}]\n";
    const text = `extend:\n  logger:\n${file}own: {test.nop: []}\n`;
    expect(await order(text, compat)).toEqual([...nops, "own test.nop", "logger file.managed", last]);
    const early = "extend:\n  second:\n    cmd:\n      - run\n      - name: c\n      - order: 1\n";
    expect(await order(early, compat)).toEqual(["second cmd.run", ...nops, last]);
  });

  test("several of which Salt orders by their module and name", async () => {
    const text = "extend:\n  logger:\n    file.managed: [{name: /b}]\n  second:\n    cmd.run: [{name: a}]\n";
    expect((await order(text, "salt")).slice(3)).toEqual(["second cmd.run", "logger file.managed", last]);
    expect((await order(text, "strict")).slice(3)).toEqual(["logger file.managed", "second cmd.run", last]);
  });

  test("a second extension changes what the first added", async () => {
    const states = await compiled({
      "a.sls": "include: [b, c]\nextend:\n  x:\n    file.absent: [{name: /z}]\n",
      "b.sls": "x: {test.nop: []}\n",
      "c.sls": "include: [b]\nextend:\n  x:\n    file.managed: [{name: /y}]\n",
    });
    expect(states.map(({ function: name }) => name)).toEqual(["test.nop", "file.absent"]);
    expect(states[1]).toMatchObject({ id: "x", name: "/z", sls: "b" });
  });
});

test("extend finds the one state with a name, and a name replaces names", async () => {
  const states = await compiled({
    "a.sls": "include: [b]\nextend:\n  /one:\n    test: [{comment: new}]\n  y:\n    test: [{name: only}]\n",
    "b.sls": "x:\n  test.succeed_with_changes: [{name: /one}]\ny:\n  test.nop: [{names: [p, q]}]\n",
  });
  expect(states.map(({ id, name, args }) => [id, name, args])).toEqual([
    ["x", "/one", { comment: "new" }],
    ["y", "only", {}],
  ]);
});

test("extend replaces conditions, and an excluded file extends nothing", async () => {
  const [x] = await compiled({
    "a.sls": "include: [b, c, d]\nexclude: [{sls: d}]\n",
    "b.sls": "x:\n  test.nop:\n    - unless: 'false'\n",
    "c.sls": "include: [b]\nextend:\n  x:\n    test: [{unless: 'true'}]\n",
    "d.sls": "include: [b]\nextend:\n  x:\n    test: [{unless: other}]\n",
  });
  expect(x?.unless).toEqual(["true"]);
});
