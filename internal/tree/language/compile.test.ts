import { describe, expect, test } from "bun:test";
import { compileOptions } from "../../../test/harness/states.ts";
import type { LowState } from "../function/low.ts";
import { formatProblems, StateErrors } from "../function/problem.ts";
import { type CompileOptions, compileSingle, compileStates } from "./compile.ts";

type Tree = Record<string, string>;

async function compiled(
  tree: Tree,
  what: string[] | "highstate" = ["a"],
  options: Partial<CompileOptions> = {},
) {
  return (await compileStates(compileOptions(tree, options), what)).states;
}

async function problemsOf(
  tree: Tree,
  what: string[] | "highstate" = ["a"],
  options: Partial<CompileOptions> = {},
) {
  const thrown = await compiled(tree, what, options).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof StateErrors)) throw thrown ?? new Error("it compiled");
  return thrown.problems;
}

function brief({ id, function: called, name, args }: LowState) {
  return [id, called, ...(name === id ? [] : [name]), ...(Object.keys(args).length === 0 ? [] : [args])];
}

describe("declarations", () => {
  test.each<[string, unknown[]]>([
    ["x:\n  test.nop: []", [["x", "test.nop"]]],
    ["x:\n  test.nop:", [["x", "test.nop"]]],
    ["x: test.nop", [["x", "test.nop"]]],
    ["x:\n  - test.nop", [["x", "test.nop"]]],
    ["x:\n  test:\n    - nop", [["x", "test.nop"]]],
    ["x:\n  test: nop", [["x", "test.nop"]]],
    [
      "x:\n  test:\n    - comment: c\n    - succeed_with_changes",
      [["x", "test.succeed_with_changes", { comment: "c" }]],
    ],
    ["x:\n  test.nop:\n    - name: y", [["x", "test.nop", "y"]]],
    ["x:\n  test.nop:\n    - name: 1.10", [["x", "test.nop", "1.10"]]],
    [
      "x:\n  test.succeed_with_changes:\n    - names: [p, q: [{comment: two}], 3]\n    - comment: one",
      [
        ["x", "test.succeed_with_changes", "p", { comment: "one" }],
        ["x", "test.succeed_with_changes", "q", { comment: "two" }],
        ["x", "test.succeed_with_changes", "3", { comment: "one" }],
      ],
    ],
    ["", []],
    [
      "{% for i in [1, 2] %}\nx{{ i }}: test.nop\n{% endfor %}",
      [
        ["x1", "test.nop"],
        ["x2", "test.nop"],
      ],
    ],
    [
      "{{ sls }} {{ slspath }} {{ tplfile }} {{ tpldir }} {{ saltenv }}: test.nop",
      [["a  a.sls . base", "test.nop"]],
    ],
    ["#!yaml\n'{{ x': test.nop", [["{{ x", "test.nop"]]],
  ])("%j", async (text, expected) => {
    expect<unknown>((await compiled({ "a.sls": text })).map(brief)).toEqual(expected);
  });

  test("have the file and the line after rendering", async () => {
    const [x] = await compiled({ "a.sls": "{% if true %}\n\nx:\n  test.nop: []\n{% endif %}" });
    expect(x).toMatchObject({ sls: "a", file: "a.sls", line: 4 });
  });

  test("read the common arguments", async () => {
    const [x] = await compiled({
      "a.sls": `x:
  test.nop:
    - unless: "true"
    - onlyif:
      - test -e /x
      - fun: file.exists
        path: /x
      - true
    - failhard: true
    - retry:
        attempts: 3
        until: false
        interval: 5
        splay: 500ms`,
    });
    expect(x).toMatchObject({
      unless: ["true"],
      onlyif: ["test -e /x", { fun: "file.exists", args: { path: "/x" } }, true],
      failhard: true,
      retry: { attempts: 3, until: false, intervalMs: 5000, splayMs: 500 },
    });
  });
});

describe("files", () => {
  test("includes come first, each file once, relative names and globs too", async () => {
    const states = await compiled(
      {
        "web/init.sls": "include: [.tls, ..base, 'lib.*']\nweb: test.nop",
        "web/tls.sls": "include: [web, base]\ntls: test.nop",
        "base.sls": "base: test.nop",
        "lib/a.sls": "la: test.nop",
        "lib/b.sls": "lb: test.nop",
      },
      ["web", "base"],
    );
    expect(states.map(({ id }) => id)).toEqual(["base", "tls", "la", "lb", "web"]);
  });

  test("the top file assigns by every matcher, in its order, each file once", async () => {
    const tree = {
      "top.sls": `base:
  'web-*': [a, 'lib.*']
  'db-*': [no]
  'G@os:debian and not E@db.*': [b, a]
  'os:Debian':
    - match: grain
    - c
  'role:web':
    - match: pillar
    - d
  'T@env:prod and not T@rack:*': [e]
  'T@rack:*': [no]
other:
  '*': [no]`,
      ...Object.fromEntries(["a", "b", "c", "d"].map((id) => [`${id}.sls`, `${id}: test.nop`])),
      "e.sls": "{{ labels.env }}: test.nop",
      "lib/x.sls": "x: test.nop",
      "no.sls": "no: test.nop",
    };
    const states = await compiled(tree, "highstate", {
      ...{ settings: { role: "web" }, labels: { env: "prod" } },
    });
    expect(states.map(({ id }) => id)).toEqual(["a", "x", "b", "c", "d", "prod"]);
  });

  test("extend replaces arguments and adds requisites", async () => {
    const [, x] = await compiled({
      "a.sls": `include: [b]
extend:
  x:
    test:
      - comment: new
      - require: [{test: y}]
y:
  test.nop:
    - order: first`,
      "b.sls": "x:\n  test.succeed_with_changes:\n    - comment: old\n    - watch: [{test: y}]",
    });
    expect(x).toMatchObject({ id: "x", args: { comment: "new" } });
    expect(x?.requisites.map(({ kind }) => kind)).toEqual(["watch", "require"]);
  });
});

describe("requisites", () => {
  test("find ids, names, bare ids, files and globs, in both directions", async () => {
    const states = await compiled({
      "a.sls": `include: [b, empty]
p:
  test.nop:
    - name: /p
q:
  test.nop:
    - require:
      - test: /p
      - p
      - sls: b
      - sls: empty
      - id: p
      - test: b?
    - watch_in:
      - test: r
    - require_in: r
r: test.nop`,
      "b.sls": "b1: test.nop\nb2: test.nop",
      "empty.sls": "",
    });
    expect(states.map(({ id }) => id)).toEqual(["b1", "b2", "p", "q", "r"]);
    expect(states[3]?.requisites.map(({ label, targets }) => [label, targets])).toEqual([
      ["test: /p", [2]],
      ["p", [2]],
      ["sls: b", [0, 1]],
      ["sls: empty", []],
      ["id: p", [2]],
      ["test: b?", [0, 1]],
    ]);
    expect(states[4]?.requisites).toEqual([
      { kind: "watch", label: "test: q", targets: [3] },
      { kind: "require", label: "test: q", targets: [3] },
    ]);
  });

  test("a prereq runs before its target, which then requires it", async () => {
    const states = await compiled({ "a.sls": "x: test.nop\ny:\n  test.nop:\n    - prereq: [{test: x}]" });
    expect(states.map(({ id }) => id)).toEqual(["y", "x"]);
    expect(states[1]?.requisites).toEqual([{ kind: "require", label: "test: y", targets: [0] }]);
  });
});

const bad: [string, Tree, string[]][] = [
  ["no such file", {}, ["state file a does not exist"]],
  ["a misspelled name", { "ab.sls": "" }, ["state file a does not exist"]],
  [
    "an include of nothing",
    { "a.sls": "include:\n  - webb", "web.sls": "" },
    ["a.sls:2: state file webb does not exist (did you mean web?)"],
  ],
  ["an include out of the tree", { "a.sls": "include:\n  - ..b" }, ["a.sls:2: ..b is outside the tree"]],
  [
    "an undefined variable",
    { "a.sls": "x:\n  test.nop:\n    - name: {{ pillar.nope }}" },
    ["a.sls:3: undefined: pillar.nope"],
  ],
  ["a mistake in a template", { "a.sls": "{% if %}" }, ["a.sls:1: syntax error"]],
  [
    "an error in an imported template",
    {
      "a.sls": "{% from 'm.jinja' import q %}{{ q() }}",
      "m.jinja": "\n{% macro q() %}{{ z }}{% endmacro %}",
    },
    ["m.jinja:2: undefined: z"],
  ],
  ["no YAML", { "a.sls": "x:\n  - a\n b: 1" }, ["a.sls:3: the indentation does not fit"]],
  ["a key twice", { "a.sls": "x: test.nop\nx: test.nop" }, ['a.sls:2: the key "x" appears twice']],
  ["another renderer", { "a.sls": "#!py\n" }, ['a.sls:1: the renderer "py" is not supported']],
  ["a list", { "a.sls": "- x" }, ["a.sls:1: expected a map of ids in a state file"]],
  ["an id without a function", { "a.sls": "x:\n  []" }, ["a.sls:1: x has no state function"]],
  [
    "a module without a function",
    { "a.sls": "x:\n  test:\n    - name: y" },
    ["a.sls:2: test does not name a function"],
  ],
  [
    "two functions",
    { "a.sls": "x:\n  test:\n    - nop\n    - nap" },
    ["a.sls:2: test has more than one function (nop, nap)"],
  ],
  [
    "a module twice",
    { "a.sls": "x:\n  test.nop: []\n  test.succeed_with_changes: []" },
    ["a.sls:3: x has two states of the module test"],
  ],
  [
    "an unknown function",
    { "a.sls": "x: test.nopp" },
    ['a.sls:1: unknown state function "test.nopp" (did you mean test.nop?)'],
  ],
  [
    "an unknown module",
    { "a.sls": "x: tset.nop" },
    ['a.sls:1: unknown state function "tset.nop" (did you mean test.nop?)'],
  ],
  [
    "an unknown argument",
    { "a.sls": "x:\n  test.succeed_with_changes:\n    - coment: y" },
    ['a.sls:3: test.succeed_with_changes: unknown argument "coment" (did you mean comment?)'],
  ],
  [
    "an unknown requisite",
    { "a.sls": "x:\n  test.nop:\n    - requires: y" },
    ['a.sls:3: test.nop: unknown argument "requires" (did you mean require?)'],
  ],
  [
    "a wrong type",
    { "a.sls": "x:\n  test.configurable_test_state:\n    - changes: 'yes'" },
    ["a.sls:3: test.configurable_test_state: changes: expected true or false"],
  ],
  [
    "a requisite on nothing",
    { "a.sls": "x:\n  test.nop:\n    - require:\n      - test: yy\ny1: test.nop" },
    ["a.sls:4: require: no state matches test: yy (did you mean test: y1?)"],
  ],
  [
    "a requisite on itself",
    { "a.sls": "x:\n  test.nop:\n    - require:\n      - test: x" },
    ["a.sls:4: require: test: x refers to this state itself"],
  ],
  [
    "a malformed requisite",
    { "a.sls": "x:\n  test.nop:\n    - require:\n      - [y]" },
    ["a.sls:4: require: expected items of the form"],
  ],
  [
    "an id twice",
    { "a.sls": "include: [b]\nx: test.nop", "b.sls": "\nx: test.nop" },
    ["a.sls:2: the id x is declared twice: also in b.sls:2"],
  ],
  [
    "extend of nothing",
    { "a.sls": "extend:\n  sites:\n    test: []\nsite: test.nop" },
    ["a.sls:2: extend: no state has the id sites (did you mean site?)"],
  ],
  [
    "extend of another module",
    { "a.sls": "include: [b]\nextend:\n  x:\n    tests: []", "b.sls": "x: test.nop" },
    ["a.sls:4: extend: x has no state of tests (did you mean test?); to add one, name its function"],
  ],
  [
    "a cycle",
    {
      "a.sls":
        "x:\n  test.nop:\n    - require: [{test: y}]\ny:\n  test.nop:\n    - watch: [{test: z}]\nz:\n  test.nop:\n    - require_in: [{test: w}]\n    - onchanges: [{test: x}]\nw: test.nop",
    },
    [
      "a.sls:2: requisites form a cycle: x (test.nop, a.sls:2) needs y (test.nop, a.sls:5) needs z (test.nop, a.sls:8) needs x (test.nop, a.sls:2)",
    ],
  ],
  [
    "bad common arguments",
    {
      "a.sls":
        "x:\n  test.nop:\n    - order: soon\n    - failhard: 1\n    - retry: {attempts: -1}\n    - unless: [[1]]",
    },
    [
      "a.sls:3: order: expected an integer, first or last",
      "a.sls:4: failhard: expected true or false",
      "a.sls:5: retry: expected attempts (0 or more)",
      "a.sls:6: unless: expected a command",
    ],
  ],
  [
    "many things at once",
    { "a.sls": "include: [no]\nx: test.nopp\ny:\n  test.nop:\n    - z: 1" },
    [
      "a.sls:1: state file no does not exist",
      "a.sls:2: unknown state function",
      'a.sls:5: test.nop: unknown argument "z"',
    ],
  ],
];

describe("problems are reported with their place", () => {
  test.each(bad)("%s", async (_, tree, expected) => {
    const problems = await problemsOf(tree);
    const reported = problems.map(
      ({ file, line, message }) => `${file === undefined ? "" : `${file}:${line}: `}${message}`,
    );
    expect(reported.length).toBe(expected.length);
    for (const [index, start] of expected.entries()) expect(reported[index]).toStartWith(start);
  });

  test.each<[string, Tree, string]>([
    ["no top file", {}, "environment base has no top.sls"],
    [
      "no section",
      { "top.sls": "bsae:\n  '*': [a]" },
      "no section for the environment base (did you mean bsae?)",
    ],
    ["a bad target", { "top.sls": "base:\n  'X@a': [a]" }, "target: column 1: X@ is not a matcher"],
    ["a node group", { "top.sls": "base:\n  'N@a': [a]" }, "node groups are known only to masters"],
    [
      "a bad match",
      { "top.sls": "base:\n  'a':\n  - match: grian\n  - a" },
      "match: expected one of compound, glob, pcre, list, grain, grain_pcre, pillar (did you mean grain?)",
    ],
    ["a missing file", { "top.sls": "base:\n  '*':\n  - nope" }, "state file nope does not exist"],
  ])("top file: %s", async (_, tree, start) => {
    const [problem] = await problemsOf(tree, "highstate");
    expect(problem?.message).toStartWith(start);
  });

  test("with an excerpt of the rendered text, in which setting values are hidden", async () => {
    const problems = await problemsOf(
      {
        "a.sls":
          "x:\n  test.succeed_with_changes:\n    - comment: {{ pillar.key }}\n    - cmment: 1\ny: test.nopp",
      },
      ["a"],
      { settings: { key: "hunter2222" } },
    );
    const text = [
      'a.sls:4: test.succeed_with_changes: unknown argument "cmment" (did you mean comment?)',
      "      1 | x:",
      "      2 |   test.succeed_with_changes:",
      "      3 |     - comment: ***",
      ">     4 |     - cmment: 1",
      "      5 | y: test.nopp",
      'a.sls:5: unknown state function "test.nopp" (did you mean test.nop?)',
      "      2 |   test.succeed_with_changes:",
      "      3 |     - comment: ***",
      "      4 |     - cmment: 1",
      ">     5 | y: test.nopp",
    ];
    expect(formatProblems(problems)).toBe(text.join("\n"));
  });

  test("in which words of the file stay, although they equal a setting", async () => {
    const source =
      "server:\n  test.succeed_with_changes:\n    - comment: {{ pillar.role }} server\n    - cmment: server";
    const [problem] = await problemsOf({ "a.sls": source }, ["a"], {
      settings: { role: "server", functions: ["succeed_with_changes", "cmment"] },
    });
    expect(problem?.excerpt?.split("\n")).toEqual([
      "      1 | server:",
      "      2 |   test.succeed_with_changes:",
      "      3 |     - comment: *** ***",
      ">     4 |     - cmment: server",
    ]);
    const [broken] = await problemsOf({ "a.sls": "server: # server\n  {{ nope }}" }, ["a"], {
      settings: { role: "server" },
    });
    expect(broken?.excerpt).toContain("1 | server: # server");
  });
});

describe("a single state", () => {
  const call = { function: "test.succeed_with_changes", name: "x", args: { comment: "c" } };

  test("needs no file", async () => {
    const { states, functions } = await compileSingle(compileOptions({}), call);
    expect(states.map(brief)).toEqual([["x", "test.succeed_with_changes", { comment: "c" }]]);
    expect([...functions.keys()]).toEqual(["test.succeed_with_changes"]);
  });

  test("is checked like any other", async () => {
    const wrong = compileSingle(compileOptions({}), { ...call, args: { comment: 1, z: 2 } });
    expect(wrong).rejects.toThrow('test.succeed_with_changes: unknown argument "z" (and 1 more)');
  });
});

describe("in the mode of Salt", () => {
  const compile = (text: string, compat: "strict" | "salt" = "salt") =>
    compileStates(compileOptions({ "a.sls": text }, { compat }), ["a"]);

  test("unknown arguments and undefined values are warnings", async () => {
    const text = "x:\n  test.succeed_with_changes:\n    - colour: red\n    - comment: a{{ nothing }}\n";
    const { states, warnings } = await compile(text);
    expect(states.map(brief)).toEqual([["x", "test.succeed_with_changes", { comment: "a" }]]);
    expect(warnings).toMatchObject([
      { file: "a.sls", line: 4, message: "nothing is not defined, and written as an empty text" },
      { file: "a.sls", line: 3, message: 'test.succeed_with_changes: unknown argument "colour": ignored' },
    ]);
    await expect(compile(text, "strict")).rejects.toThrow("a.sls:4:20: undefined: nothing");
  });

  test("words and numbers are those of YAML 1.1", async () => {
    const text = "x:\n  test.nop:\n    - failhard: yes\n0644:\n  test.nop: []\n";
    const { states } = await compile(text);
    expect(states.map(({ id, failhard }) => [id, failhard])).toEqual([
      ["x", true],
      ["0644", false],
    ]);
    await expect(compile(text, "strict")).rejects.toThrow("failhard: expected true or false");
  });

  test("a state that refers to none compiles, and knows that it will fail", async () => {
    const text = "x:\n  test.nop:\n    - require:\n      - file: none\n";
    const { states, warnings } = await compile(text);
    expect(states[0]?.requisites).toEqual([
      { kind: "require", label: "file: none", targets: [], isMissing: true },
    ]);
    expect(warnings).toMatchObject([
      { line: 4, message: "require: no state matches file: none: this state will fail" },
    ]);
    await expect(compile(text, "strict")).rejects.toThrow("no state matches file: none");
    await expect(compile("x:\n  test.nop:\n    - require_in:\n      - file: none\n")).rejects.toThrow(
      "no state matches file: none",
    );
  });
});

test("the error of a template points at its column", async () => {
  const [problem] = await problemsOf({ "a.sls": "x: test.nop\ny{{ 1 }}: {{ salt['pilar.get']('x') }}\n" });
  expect(problem).toMatchObject({
    ...{ file: "a.sls", line: 2, column: 31 },
    message: "salt['pilar.get'] does not exist in templates (did you mean pillar.get?)",
  });
  expect(problem?.excerpt?.split("\n")).toEqual([
    "      1 | x: test.nop",
    ">     2 | y{{ 1 }}: {{ salt['pilar.get']('x') }}",
    "        |                               ^",
    "      3 |",
  ]);
});
