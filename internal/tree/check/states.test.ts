import { describe, expect, test } from "bun:test";
import { memoryFiles } from "../../../test/harness/states.ts";
import type { Compat } from "../template/mod.ts";
import { headlineOf } from "./finding.ts";
import { createStateCheck } from "./states.ts";

const turns = { pause: async () => {}, now: () => 0 };

/** What a check finds; `a.sls` and `b/init.sls` are assigned unless there is a top file. */
async function found(files: Record<string, string>, { compat = "strict" as Compat, all = true } = {}) {
  const top = { "top.sls": "base:\n  '*': [a]\n" };
  const checked = await createStateCheck(turns).check(memoryFiles({ ...top, ...files }), { compat, all });
  return { problems: checked.problems.map(headlineOf), hints: checked.hints.map(headlineOf) };
}

describe("what is refused, with its place", () => {
  test.each<[what: string, files: Record<string, string>, problem: string]>([
    [
      "a bracket that is not closed",
      { "a.sls": "x:\n  test.nop: [\n" },
      "a.sls:2:13: the bracket [ is not closed",
    ],
    ["a tab", { "a.sls": "x:\n\ttest.nop: []\n" }, "a.sls:2:1: tabs are not allowed"],
    [
      "a tag without an end",
      { "a.sls": "x:\n  {{ facts.os }\n" },
      "a.sls:2:15: syntax error: unexpected '}'",
    ],
    ["an unknown tag", { "a.sls": "{% iff x %}\n" }, "a.sls:1:4: syntax error: unknown tag 'iff'"],
    ["a block without an end", { "a.sls": "{% if facts.x %}\n" }, "a.sls:1:"],
    ["an unknown filter", { "a.sls": "{{ facts.x | uper }}: {}\n" }, "a.sls:1:14: unknown filter: uper"],
    ["a fault of a template", { "a.sls": "a: {{ 1 / 0 }}\n" }, "a.sls:1:9: division by zero"],
    [
      "a template that does not exist",
      { "a.sls": "{% import 'm' as m %}\n" },
      "a.sls:1:4: template not found",
    ],
    [
      "a syntax error in a template that a file loads",
      { "a.sls": "{% from 'm.jinja' import x %}\n", "m.jinja": "\n{% set x %}" },
      "m.jinja:2:",
    ],
    [
      "an unknown function",
      { "a.sls": "x:\n  fiel.managed: []\n" },
      'a.sls:2:1: unknown state function "fiel',
    ],
    [
      "an unknown function behind what is unknown",
      {
        "a.sls": "{% set p = pillar.get('a', {}) %}\n{{ p.b.c }}:\n  fiel.managed:\n    - name: {{ p.d }}\n",
      },
      'a.sls:3:1: unknown state function "fiel.managed"',
    ],
    ["no function", { "a.sls": "x: []\n" }, "a.sls:1:1: x has no state function"],
    [
      "an unknown requisite",
      { "a.sls": "x:\n  test.nop:\n    - requires: [test: y]\n" },
      'a.sls:3:1: test.nop: unknown requisite "requires" (did you mean require?)',
    ],
    [
      "an unknown form of a requisite",
      { "a.sls": "x:\n  test.nop:\n    - watch: [{test: [y]}]\n" },
      "a.sls:3:1: watch: expected items",
    ],
    [
      "an unknown form of use",
      { "a.sls": "x:\n  test.nop:\n    - use: [[y]]\n" },
      "a.sls:3:1: use: expected items",
    ],
    [
      "a renderer that does not exist here",
      { "a.sls": "#!py\ndef run(): pass\n" },
      "a.sls:1:1: the renderer",
    ],
    [
      "an included file that does not exist",
      { "a.sls": "include:\n  - bb\n", "b.sls": "" },
      "a.sls:2:1: state file bb does not exist",
    ],
    ["an include out of the tree", { "a.sls": "include: [...b]\n" }, "a.sls:1:1: ...b is outside"],
    [
      "a top file that names nothing",
      { "top.sls": "base:\n  '*': [a]\n  'G@x:y':\n    - c\n", "a.sls": "" },
      "top.sls:4:1: state file c does not exist",
    ],
    ["a target without an end", { "top.sls": "base:\n  'G@x and': [a]\n", "a.sls": "" }, "top.sls:2:1: "],
    [
      "a top file that is not YAML",
      { "top.sls": "base:\n  '*': [a\n", "a.sls": "" },
      "top.sls:2:8: the bracket [ is not closed",
    ],
    [
      "a file that is too large",
      { "a.sls": `# ${"x".repeat(1024 * 1024)}\n` },
      "a.sls:1:1: larger than 1 MiB",
    ],
    [
      "endless work",
      { "a.sls": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}" },
      "a.sls:1:",
    ],
    [
      "endless text",
      { "a.sls": `{% set x = 'x' * 1000000 %}${"{% set x = x * 10 %}".repeat(5)}{{ x }}` },
      "a.sls:1:",
    ],
    ["deep nesting", { "a.sls": `x: ${"[".repeat(5000)}${"]".repeat(5000)}` }, "a.sls:1:"],
    ["deep expressions", { "a.sls": `{{ ${"(".repeat(5000)}1${")".repeat(5000)} }}` }, "a.sls:1:"],
  ])("%s", async (_, files, problem) => {
    const { problems } = await found(files);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(problem);
  });
});

describe("what is not a fault, because nobody knows the host", () => {
  test.each<[what: string, text: string]>([
    ["facts and settings", "{{ facts.a.b.c }}{{ pillar['x']['y'].z }}:\n  test.nop: []\n"],
    [
      "what fails for an empty value",
      "{% set n = pillar.n %}\n{{ n[3].split(':')[1] | int / n.m }}x: {test.nop: []}\n",
    ],
    [
      "a loop with names",
      "{% for k, v in pillar.users.items() %}\n{{ k }}:\n  test.nop:\n    - name: {{ v.x }}\n{% endfor %}\n",
    ],
    ["a fault in one branch", "{% if facts.os == 'x' %}\n{{ 1 / 0 }}\n{% endif %}\n"],
    ["a refusal of other systems", "{% if facts.os != 'x' %}{{ raise('no ' ~ facts.os) }}{% endif %}\n"],
    ["data that comes of settings", "x:\n  test.nop:\n    - name: {{ pillar.get('a', {}) | json }}\n"],
    ["a block of text of settings", "x:\n  test.nop:\n    - name: |\n        {{ pillar.a | indent(8) }}\n"],
    ["keys of settings", "{{ pillar.a }}: {test.nop: []}\n{{ pillar.b }}: {test.nop: []}\n"],
    ["functions of settings", "x:\n  {{ pillar.f }}.installed: []\n"],
    ["a template by its system", "{% from facts.os ~ '/map.jinja' import m %}\n{{ m.x }}: {test.nop: []}\n"],
    [
      "what a host answers",
      "{% if salt['cmd.run']('id').split()[0] == 'x' %}\n{{ salt['cmd.run']('y') }}\n{% endif %}\n",
    ],
    [
      "what a function of facts chooses",
      "{% set m = salt['grains.filter_by']({'a': {'b': 1}}) %}\n{{ m.b }}:\n  test.nop: []\n",
    ],
    ["includes by settings", "include:\n  - roles.{{ pillar.role }}\n"],
  ])("%s", async (_, text) => {
    expect((await found({ "a.sls": text })).problems).toEqual([]);
    expect((await found({ "a.sls": text }, { compat: "salt" })).problems).toEqual([]);
  });
});

test("only what a top file reaches is refused, by any target or include", async () => {
  const broken = "x: [\n";
  const files = {
    "top.sls": "base:\n  'G@os:Plan9': ['role.*']\n  {% if pillar.x %}'y': [given]{% endif %}\n",
    "role/db.sls": "include:\n  - .inner\n{% if facts.x %}\n  - late\n{% endif %}\n",
    ...{ "role/inner.sls": broken, "late.sls": broken, "given.sls": broken, "alone.sls": broken },
  };
  const { problems, hints } = await found(files);
  expect(problems.map((line) => line.split(":")[0])).toEqual(["given.sls", "late.sls", "role/inner.sls"]);
  expect(hints.map((line) => line.split(":")[0])).toEqual(["alone.sls"]);
});

describe("what a state takes from the tree, and is missing, is a hint with its line", () => {
  const files = { "web/x.conf": "", "run.sh": "", "a b.sh": "" };
  test.each<[what: string, text: string, hint: string | undefined]>([
    ["a source", "  file.managed:\n    - source: salt://web/y.conf\n", "a.sls:3:1: source: no file is"],
    ["one of svc", "  file.managed: [{source: 'svc://web/x.con'}]\n", "(did you mean svc://web/x.conf?)"],
    ["none of several", "  file.managed: [{source: [salt://a, svc://b]}]\n", 'no file is "salt://a"'],
    ["one of several", "  file.managed: [{source: [salt://a, svc://web/x.conf]}]\n", undefined],
    ["one that another place may have", "  file.managed: [{source: [salt://a, /etc/b]}]\n", undefined],
    ["another environment", "  file.managed: [{source: 'salt://a?saltenv=dev'}]\n", undefined],
    ["a directory", "  file.recurse: [{source: salt://web/}]\n", undefined],
    ["no directory", "  file.recurse: [{source: salt://wep}]\n", 'no files are below "salt://wep"'],
    ["a part that facts say", "  file.managed: [{source: 'salt://{{ facts.os }}.conf'}]\n", undefined],
    [
      "one of a name",
      "  file.managed: [{names: [/a: {source: salt://b}]}]\n",
      'source: no file is "salt://b"',
    ],
    ["a digest", "  archive.extracted: [{source: /a, source_hash: salt://b}]\n", "source_hash: no file is"],
    ["a package", "  pkg.installed: [{sources: [p: salt://p.deb]}]\n", 'sources: no file is "salt://p.deb"'],
    ["a script", "  cmd.script: [{name: salt://run.py --all}]\n", "name: no file is"],
    ["a script with arguments", "  cmd.script: [{name: salt://run.sh --all}]\n", undefined],
    ["a script with a space", "  cmd.script: [{name: salt://a b.sh}]\n", undefined],
  ])("%s", async (_, text, hint) => {
    for (const compat of ["strict", "salt"] as const) {
      const { problems, hints } = await found({ ...files, "a.sls": `x:\n${text}` }, { compat });
      const sources = hints.filter(
        (each) => !each.includes("it depends on") && / no files? (?:is|are) /.test(each),
      );
      expect(problems).toEqual([]);
      expect(sources).toEqual(hint === undefined ? [] : [expect.stringContaining(hint)]);
    }
  });

  test("also when the file that needs it did not change", async () => {
    const check = createStateCheck(turns);
    const hintsOf = async (more: Record<string, string>) =>
      (await check.check(memoryFiles({ ...source, ...more }), { compat: "strict" })).hints.length;
    const source = { "top.sls": "base:\n  '*': [a]\n", "a.sls": "x:\n  file.managed: [{source: svc://y}]\n" };
    expect([await hintsOf({ y: "" }), await hintsOf({}), await hintsOf({ y: "" })]).toEqual([0, 1, 0]);
  });
});

test("a name of which a part is unknown may be any that fits", async () => {
  const files = {
    "top.sls": "base:\n  '*':\n    - role.{{ pillar.role }}\n",
    "role/a.sls": "x: [\n",
    "b.sls": "x: [\n",
  };
  expect((await found(files)).problems.map((line) => line.split(":")[0])).toEqual(["role/a.sls"]);
});

test("unknown functions are hints where files are read as Salt's, and so are unknown requisites", async () => {
  const files = { "a.sls": "x:\n  boto.present:\n    - requires: [test: y]\n" };
  const { problems, hints } = await found(files, { compat: "salt" });
  expect(problems).toEqual([]);
  expect(hints).toEqual([expect.stringContaining('a.sls:2:1: unknown state function "boto.present"')]);
});

test("hints: what is not defined, arguments that nobody knows, words, and what fails for some", async () => {
  const text =
    "{{ nothing }}x:\n  test.nop:\n    - name: yes\n{% if facts.a %}\ny:\n  fiel.managed: []\n{% endif %}\n";
  const { problems, hints } = await found({ "a.sls": text, "b.sls": "x:\n  test.nop:\n    - colour: red\n" });
  expect(problems).toEqual([]);
  expect(hints).toEqual([
    "a.sls:1:1: nothing is not defined",
    expect.stringContaining("a.sls:3:13: yes is a text here"),
    expect.stringMatching(
      /^a\.sls:6:1: unknown state function "fiel\.managed" .*depends on what only a host knows/,
    ),
    'b.sls:3:1: test.nop: unknown argument "colour"',
  ]);
});

test("a place in a rendered text is the one in the file that wrote it", async () => {
  const files = {
    "a.sls":
      "{# a comment\n of two lines #}\n{% for i in [1, 2] %}\nx{{ i }}:\n  test.nop: []\n{% endfor %}\n{% include 'b.jinja' %}\n",
    "b.jinja": "\n\ny:\n  fiel.managed: []\n",
  };
  expect((await found(files)).problems).toEqual([
    expect.stringContaining("b.jinja:4:1: unknown state function"),
  ]);
});

test("an environment without a section has nothing to run, and that is a hint", async () => {
  const { problems, hints } = await found({ "top.sls": "prod:\n  '*': [a]\n", "a.sls": "x: [\n" });
  expect(problems).toEqual([]);
  expect(hints.join("\n")).toContain("no section for the environment base");
});

describe("a file is read again only when it changed", () => {
  const reading = () => {
    const check = createStateCheck(turns);
    const texts: Record<string, string> = {
      "top.sls": "base:\n  '*': [a, b]\n",
      "a.sls": "{% from 'm.jinja' import x %}\nx: {test.nop: []}\n",
      "b.sls": "{{ saltenv }}: {test.nop: []}\n",
      "m.jinja": "{% set x = 1 %}",
    };
    return {
      texts,
      async run(environment = "base") {
        const read: string[] = [];
        const source = memoryFiles(
          { ...texts, "top.sls": texts["top.sls"]?.replace("base", environment) ?? "" },
          environment,
        );
        const watched = {
          ...source,
          read: (path: string) => source.read(path).finally(() => read.push(path)),
        };
        const { problems } = await check.check(watched, { compat: "strict" });
        return { read: read.sort(), problems: problems.map(headlineOf) };
      },
    };
  };

  test("nothing, one file, a template that one loads", async () => {
    const { texts, run } = reading();
    expect((await run()).read).toEqual(["a.sls", "b.sls", "m.jinja", "top.sls"]);
    expect((await run()).read).toEqual([]);
    texts["b.sls"] = "x: [\n";
    expect(await run()).toEqual({
      read: ["b.sls"],
      problems: [expect.stringContaining("b.sls:1:4: the bracket [")],
    });
    texts["m.jinja"] = "{% set x %}";
    expect(await run()).toEqual({
      read: ["a.sls", "m.jinja"],
      problems: [expect.stringContaining("b.sls:1:4: the bracket ["), expect.stringContaining("m.jinja:1:")],
    });
  });

  test("another environment reads what names it, and the top file", async () => {
    const { run } = reading();
    await run();
    expect((await run("prod")).read).toEqual(["b.sls", "top.sls"]);
  });

  test("what lists the files of the tree, when there is another one", async () => {
    const { texts, run } = reading();
    texts["b.sls"] = "{% for p in salt['cp.list_master']() %}{% endfor %}\n";
    await run();
    texts["c.txt"] = "";
    expect((await run()).read).toEqual(["b.sls"]);
  });
});

test("100,000 broken files are refused after the first hundred, and others get turns", async () => {
  const names = Array.from({ length: 100_000 }, (_, at) => `s${at}`);
  const files = Object.fromEntries(names.map((name) => [`${name}.sls`, "x: [\n"]));
  let read = 0;
  let now = 0;
  let paused = 0;
  const source = memoryFiles({ ...files, "top.sls": "base:\n  '*': ['*']\n" });
  const counted = {
    ...source,
    async read(path: string) {
      read++;
      return await source.read(path);
    },
  };
  const busy = { now: () => (now += 4), pause: async () => void paused++ };
  const { problems } = await createStateCheck(busy).check(counted, { compat: "strict" });
  expect([problems.length, read]).toEqual([100, 101]);
  expect(paused).toBeGreaterThan(20);
});

test("files that take too long together are refused, with the one that takes the most, also when they are known", async () => {
  const files = {
    "top.sls": "base:\n  '*': [a, b]\n",
    "a.sls": "{% for i in range(9999) %}{% endfor %}",
    "b.sls": "",
  };
  const check = createStateCheck({ ...turns, maxWork: 5_000 });
  for (const _ of [1, 2]) {
    const { problems } = await check.check(memoryFiles(files), { compat: "strict" });
    expect(problems.map(headlineOf)).toEqual([
      "top.sls:1:1: the files take too long to check: a.sls takes the most",
    ]);
  }
});
