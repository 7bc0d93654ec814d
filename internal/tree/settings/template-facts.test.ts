import { expect, test } from "bun:test";
import fc from "fast-check";
import { keysOf, treeOf } from "../../../test/harness/settings-tree.ts";
import type { Facts } from "../../host/facts/mod.ts";
import { createCompilers } from "./compile.ts";
import { problemsOf } from "./lint.ts";
import { type FactUses, factUsesOf } from "./template-facts.ts";

const only = (text: string, more: Record<string, string> = {}): FactUses => {
  const found = factUsesOf(new Map(Object.entries({ "a.sls": text, ...more }))).get("a.sls");
  if (found === undefined) throw new Error("not examined");
  return found;
};

test.each<[string, string, readonly string[]]>([
  [
    "conditions",
    "{% if facts.a %}{% elif grains.b == 1 %}{% endif %}",
    [...["1: a condition uses facts", "1: a condition uses facts"]],
  ],
  ["conditions on the id", "{% if id == 'a' or grains.id in ['b'] %}{% endif %}", []],
  ["a loop, on its line", "\n{% for v in facts.list %}{% endfor %}", ["2: a loop uses facts"]],
  ["a conditional expression", "{{ 1 if facts.a else 2 }}", ["1: a condition uses facts"]],
  ["a subscript within a subscript", "{{ {'a': 1}[{'b': 'a'}[facts.v]] }}", ["1: a condition uses facts"]],
  ["a condition by a variable", "{% set a = facts.v %}{% if a %}{% endif %}", ["1: a condition uses facts"]],
  ["a value", "{{ facts.v }}{% set a = facts.v %}", []],
  [
    "a loop over an argument",
    "{% macro m(l) %}{% for v in l %}{% endfor %}{% endmacro %}{{ m(facts.v) }}",
    ["1: a loop uses facts"],
  ],
  [
    "a condition on another argument",
    "{% macro m(a, b) %}{% if b %}{% endif %}{% endmacro %}{{ m(facts.v, 1) }}",
    [],
  ],
  [
    "a condition on the text of a macro",
    "{% macro m() %}{{ facts.v }}{% endmacro %}{% if m() %}{% endif %}",
    ["1: a condition uses facts"],
  ],
  ["a condition on a variable of the file", "{% if tplfile == 'a' %}{% endif %}", []],
])("where facts choose: %s", (_, text, expected) => {
  const { choices, faults } = only(text);
  expect(choices.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([...expected]);
  expect(faults).toEqual([]);
});

test.each<[string, string, string]>([
  ["a computed include", "{% include facts.v %}", "include: the name of a file may not depend on facts"],
  ["a filter block", "{% filter upper %}{% endfilter %}", "filter blocks are not supported in settings"],
])("what cannot be rendered: %s", (_, text, reason) => {
  expect(only(text).faults[0]?.reason).toStartWith(reason);
});

// Templates at random: an expression gets a name in some way, and the name is used in some way.
const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const inner = tie("expression");
  const filter = fc.constantFrom("upper", "tojson", "yaml", "length", "string", "first", "default('z')");
  const part = (arbitrary: fc.Arbitrary<string>) => ({ arbitrary, weight: 1 });
  return {
    expression: fc.oneof(
      { maxDepth: 2, depthSize: "small" },
      {
        arbitrary: fc.constantFrom(
          ...["facts.v", "grains['v']", "salt['grains.get']('v', 'd')", "facts.get('v')", "facts.list"],
          ...["id", "'x'", "5", "['x', 'y']"],
        ),
        weight: 8,
      },
      part(fc.tuple(inner, inner).map(([a, b]) => `${a} ~ ${b}`)),
      part(fc.tuple(inner, inner).map(([a, b]) => `${a} or ${b}`)),
      part(fc.tuple(inner, inner, inner).map(([a, b, c]) => `(${a} if ${b} else ${c})`)),
      part(fc.tuple(inner, inner).map(([a, b]) => `{'x': ${a}}[${b}]`)),
      part(fc.tuple(inner, inner).map(([a, b]) => `[${a}, ${b}]`)),
      part(fc.tuple(inner, inner).map(([a, b]) => `(${a} == ${b})`)),
      part(fc.tuple(inner, filter).map(([a, by]) => `${a} | ${by}`)),
      part(fc.tuple(inner, inner).map(([a, b]) => `${a} | replace('a', ${b})`)),
    ),
  };
});
/** `EXPR` is the expression, and `USE` is where the name `c` means it. */
const namings = [
  "{% set c = EXPR %}USE",
  "{% set b = EXPR %}{% set c = b %}USE",
  "{% set c = 1 %}{% set c = EXPR %}USE",
  "{% set c %}{{ EXPR }}{% endset %}USE",
  "{% with c = EXPR %}USE{% endwith %}",
  "{% for c in [EXPR] %}USE{% endfor %}",
  "{% for c in EXPR %}USE{% endfor %}",
  "{% for n, c in {'x': EXPR} | dictsort %}USE{% endfor %}",
  "{% for n in [EXPR, 1] %}{% set c = loop.previtem %}{% if loop.last %}USE{% endif %}{% endfor %}",
  "{% macro m(c) %}USE{% endmacro %}{{ m(EXPR) }}",
  "{% macro m(b, c=2) %}USE{% endmacro %}{{ m(1, c=EXPR) }}",
  "{% macro m(c=EXPR) %}USE{% endmacro %}{{ m() }}",
  "{% macro m(c) %}USE{% endmacro %}{% set f = m %}{{ f(EXPR) }}",
  "{% macro m(c) %}USE{% endmacro %}{{ m(*[EXPR]) }}",
  "{% macro v() %}{{ EXPR }}{% endmacro %}{% set c = v() %}USE",
  "{% macro m() %}{{ caller(EXPR) }}{% endmacro %}{% call(c) m() %}USE{% endcall %}",
  "{% set n = namespace(x=1) %}{% set n.x = EXPR %}{% set c = n.x %}USE",
  "{% from 'lib.jinja' import told as c %}USE",
  "{% import 'lib.jinja' as lib %}{% set c = lib.told %}USE",
  "{% from 'lib.jinja' import show %}{{ show(EXPR) }}\n{% set c = 1 %}USE",
];
const usages = [
  "k: {{ c }}",
  "k: 'a {{ c }} b'",
  "k: [{{ c }}, 1]",
  "k: {{ c | tojson }}",
  "k:\n  - {{ c }}\n  - l: {{ c | upper }}",
  "k: 1 # {{ c }}",
  "{{ c }}",
  "k{{ c }}: 1",
  "k:\n  l{{ c | upper }}: 1",
  "{{ 'k: 1' ~ c }}",
  "{% if c %}k: 1{% endif %}",
  "{% if c == 'x' %}k: 1{% else %}l: 1{% endif %}",
  "{% for d in c %}k{{ loop.index }}: 1\n{% endfor %}",
  "{% for d in [c] %}k{{ d }}: 1\n{% endfor %}",
  "{{ 'k' if c else 'l' }}: 1",
  "{{ {'x': 'k', 'y': 'l'}[c] }}: 1",
  "{{ ['k', 'l'][c | length] }}: 1",
  "include: [{{ c }}]",
  "{% include c %}",
  "k: {{ 'x' if c is defined and c else 'y' }}",
  "{% set d = c %}k{{ d }}: 1",
  "{% set d = c ~ '' %}{% if d %}k: 1{% endif %}",
];
const lib = "{% set told = facts.v %}{% macro show(p) %}s: {{ p }}{% endmacro %}";
const factOf = fc.oneof(
  fc.constantFrom("", "k: 1", "x", "yes", "\nk: 1\n", "[a, b]", "{a: 1}", "- a", 5, 0, true, false, null),
  fc.constant({ k: 1 }),
  fc.jsonValue({ maxDepth: 2 }),
);
const listOf = fc.constantFrom<string[]>([], ["l"], ["l", "k: 1\nz"]);

/** What depends on the facts in a compilation; `undefined` when it fails. */
async function structureOf(text: string, facts: Facts): Promise<unknown> {
  const uses = new Set<string>();
  const tree = treeOf({ ...files, "a.sls": text });
  const compiled = await compilers(tree)
    .compile({ peelId: "web-1", facts }, uses)
    .catch(() => undefined);
  return compiled && { keys: keysOf(compiled.settings), uses: [...uses].sort() };
}
const compilers = createCompilers();
const files = {
  "top.sls": "base:\n  '*': [a]\n",
  "lib.jinja": lib,
  "x.sls": "of: x\n",
  "secret.sls": "s: 1\n",
};

test("names mean the same in templates that load each other, and in no others", () => {
  const lib = "{% set calm = 1 %}{% set v = facts.v %}{% macro m(p) %}{% if p %}{% endif %}{% endmacro %}";
  const uses = (text: string, path = "a.sls") =>
    factUsesOf(
      new Map([
        ["a.sls", text],
        ["lib.jinja", lib],
      ]),
    ).get(path)?.choices.length;
  expect(uses("{% from 'lib.jinja' import calm, v as t %}{% if calm %}{% elif t %}{% endif %}")).toBe(1);
  expect(uses("{% import './lib.jinja' as lib %}{% if lib.calm %}{% elif lib.v %}{% endif %}")).toBe(1);
  expect(uses("{% from 'lib.jinja' import m as f %}{{ f(facts.v) }}", "lib.jinja")).toBe(1);
  expect(uses("{% from 'lib.jinja' import m %}{{ m(1) }}", "lib.jinja")).toBe(0);
  expect(uses("{% if v %}{% endif %}")).toBe(0);
  expect(uses("{% include 'lib' ~ '.jinja' %}{% if v %}{% endif %}")).toBe(1);
});

test("a template with wrong syntax is not examined, and the others are", () => {
  const found = factUsesOf(
    new Map([
      ["a.sls", "{% for %}"],
      ["b.sls", "{% if facts.v %}{% endif %}"],
    ]),
  );
  expect([...found.keys()]).toEqual(["b.sls"]);
});

test.each([
  ["brackets", `{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`],
  ["attributes", `{{ a${".b".repeat(100_000)} }}`],
  ["name of a file", `{% include a${".b".repeat(100_000)} %}`],
  ["operands", `{{ 1${" + facts.v".repeat(100_000)} }}`],
])("a template that is nested too deeply by its %s is left out", (_, text) => {
  const found = factUsesOf(
    new Map([
      ["a.sls", text],
      ["b.sls", "{% if facts.v %}{% endif %}"],
    ]),
  );
  expect([...found.keys()]).toEqual(["b.sls"]);
});

test("where the linter says nothing, no fact changes the files or the names of the settings", async () => {
  let compared = 0;
  const anyOf = <Item>(items: readonly Item[]) => fc.constantFrom(...items);
  await fc.assert(
    fc.asyncProperty(
      ...([anyOf(namings), anyOf(usages), expression, factOf, listOf, factOf, listOf] as const),
      async (naming, usage, value, v, list, other, otherList) => {
        const named = naming.replace("EXPR", () => value).replace("USE", () => usage);
        const text = `before: 1\n${named}\n`;
        if (problemsOf(treeOf({ ...files, "a.sls": text })).length > 0) return;
        const first = await structureOf(text, { v, list } as Facts);
        const second = await structureOf(text, { v: other, list: otherList } as Facts);
        if (first === undefined || second === undefined) return;
        compared++;
        expect(second).toEqual(first);
      },
    ),
    { numRuns: 1_500 },
  );
  expect(compared).toBeGreaterThan(150);
}, 120_000);

const attack = "stolen: 1\ninclude: [secret]\n";

test("no template makes structure of a fact, whatever it does with it", async () => {
  let compiled = 0;
  const anyOf = <Item>(items: readonly Item[]) => fc.constantFrom(...items);
  await fc.assert(
    fc.asyncProperty(anyOf(namings), anyOf(usages), expression, async (naming, usage, value) => {
      const text = naming.replace("EXPR", () => value).replace("USE", () => usage);
      const facts = { v: attack, list: [attack, "calm"] };
      const found = (await structureOf(`before: 1\n${text}\n`, facts)) as
        | { keys: object; uses: string[] }
        | undefined;
      if (found === undefined) return;
      compiled++;
      expect(JSON.stringify(found.keys)).not.toContain("stolen");
      expect(found.uses).not.toContain("secret.sls");
    }),
    { numRuns: 1_500 },
  );
  expect(compiled).toBeGreaterThan(300);
}, 120_000);
