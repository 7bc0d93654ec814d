import { describe, expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { headlineOf } from "./finding.ts";
import { createSettingsCheck } from "./settings.ts";

const turns = { pause: async () => {}, now: () => 0 };

async function found(files: Record<string, string>, { strictFacts = false, all = true } = {}) {
  const top = { "top.sls": "base:\n  '*': [a]\n" };
  const checked = await createSettingsCheck(turns).check(treeOf({ ...top, ...files }), { strictFacts, all });
  return { problems: checked.problems.map(headlineOf), hints: checked.hints.map(headlineOf) };
}

describe("what is refused, with its place", () => {
  test.each<[what: string, files: Record<string, string>, problem: string]>([
    ["a bracket that is not closed", { "a.sls": "x: [1,\ny: 2\n" }, "a.sls:1:4: the bracket [ is not closed"],
    ["the same, behind facts", { "a.sls": "os: {{ facts.os }}\nx: [1,\ny: 2\n" }, "a.sls:2:4: the bracket ["],
    ["a tag without an end", { "a.sls": "x: {{ facts.os }\n" }, "a.sls:1:16: syntax error"],
    ["a tab", { "a.sls": "x:\n\ty: 1\n" }, "a.sls:2:1: tabs are not allowed"],
    ["no map", { "a.sls": "- x\n" }, "a.sls:1:1: expected a map of settings"],
    [
      "a name that settings cannot have",
      { "a.sls": "x: {__proto__: 1}\n" },
      "a.sls:1:1: __proto__ is not a valid",
    ],
    [
      "an include that does not exist",
      { "a.sls": "x: 1\ninclude:\n  - b\n" },
      'a.sls:3:1: settings file "b" does not exist',
    ],
    ["an include that is a text", { "a.sls": "include: b\n" }, "a.sls:1:1: include: expected a list"],
    [
      "files that include each other",
      { "a.sls": "include: [b]\n", "b.sls": "include: [a]\n" },
      "b.sls:1:1: circular include: a.sls -> b.sls -> a.sls",
    ],
    [
      "a top file that names nothing",
      { "top.sls": "base:\n  '*':\n    - a\n    - b\n", "a.sls": "" },
      'top.sls:4:1: settings file "b" does not exist',
    ],
    ["a target without an end", { "top.sls": "base:\n  'G@x and': [a]\n", "a.sls": "" }, "top.sls:2:1: "],
    [
      "a name that no group can have",
      { "a.sls": "", "nodegroups.yaml": "web: web*\nbad name: db*\n" },
      "nodegroups.yaml:2:1: invalid group name",
    ],
    [
      "a group whose target ends too early",
      { "a.sls": "", "nodegroups.yaml": "web: web* and\n" },
      "nodegroups.yaml:1:6: group web: column",
    ],
    [
      "a group of a group that does not exist",
      { "a.sls": "", "nodegroups.yaml": "web: N@wep\n" },
      "nodegroups.yaml:1:6: group web: column",
    ],
    [
      "groups that are not YAML, and which a top file uses",
      { "top.sls": "base:\n  'N@web': [a]\n", "a.sls": "", "nodegroups.yaml": "web: [\n" },
      "nodegroups.yaml:1:",
    ],
    ["a group that does not exist", { "top.sls": "base:\n  'N@x': [a]\n", "a.sls": "" }, "top.sls:2:1: "],
    ["what cannot be done with facts", { "a.sls": "{% filter upper %}x{% endfilter %}: 1\n" }, "a.sls:"],
  ])("%s", async (_, files, problem) => {
    const { problems } = await found(files);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(problem);
  });
});

test("what is not a fault: facts, labels and the id in values and conditions", async () => {
  const text = [
    "os: {{ facts.os }}",
    "role: {{ labels.role }}",
    "{% if facts.os == 'x' %}",
    "y: [1, 2]",
    "{% endif %}",
    "{% if id.startswith('web') %}",
    "{{ id }}: {{ salt['pillar.get']('x', 1) }}",
    "{% endif %}",
    "include:",
    "  - of.{{ labels.role }}",
    "",
  ].join("\n");
  const { problems, hints } = await found({ "a.sls": text, "of/db.sls": "z: 1\n" });
  expect(problems).toEqual([]);
  expect(hints).toEqual(["a.sls:3:1: a condition uses facts"]);
});

test("a file that no target reaches gives hints alone; one by a label may be reached", async () => {
  const files = {
    "a.sls": "include: [of.{{ labels.role }}]\n",
    "of/db.sls": "z: [\n",
    "alone.sls": "z: [\n",
  };
  const { problems, hints } = await found(files);
  expect(problems.map((line) => line.split(":")[0])).toEqual(["of/db.sls"]);
  expect(hints.map((line) => line.split(":")[0])).toEqual(["alone.sls"]);
});

test("with strict facts, what facts choose is refused", async () => {
  const files = {
    "top.sls": "base:\n  'G@os:x': [a]\n",
    "a.sls": "{% if facts.os == 'x' %}\ny: 1\n{% endif %}\n",
  };
  expect((await found(files)).problems).toEqual([]);
  expect((await found(files, { strictFacts: true })).problems).toEqual([
    "a.sls:1:1: a condition uses facts, which settings.strict_facts refuses",
    "top.sls:2:1: the target uses facts, which settings.strict_facts refuses",
  ]);
});

test("a reason repeats no text of a file", async () => {
  const texts = [
    "x: {{ 'a' hunter2 }}\n",
    "x: 'hunter2\n",
    "x: hunter2: y\n",
    "x: @hunter2\n",
    "x: {{ hunter2('b' }}\n",
  ];
  for (const text of texts) {
    const { problems } = await found({ "a.sls": text });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain("hunter2");
  }
});

test("changed groups are read again", async () => {
  const check = createSettingsCheck(turns);
  const files = { "top.sls": "base:\n  'N@x': [a]\n", "a.sls": "" };
  const problems = async (more: Record<string, string>) =>
    (await check.check(treeOf({ ...files, ...more }), { strictFacts: false })).problems.length;
  expect([
    await problems({}),
    await problems({ "nodegroups.yaml": "x: web-*\n" }),
    await problems({}),
  ]).toEqual([1, 0, 1]);
});
