import { expect, test } from "bun:test";
import fc from "fast-check";
import { keysOf, treeOf } from "../../../test/harness/settings-tree.ts";
import type { Facts } from "../../host/facts/mod.ts";
import { createCompilers } from "./compile.ts";
import { analyse, type Dependence } from "./dependence.ts";
import { problemsOf } from "./lint.ts";

const only = (text: string, more: Record<string, string> = {}): Dependence => {
  const found = analyse(new Map(Object.entries({ "a.sls": text, ...more }))).get("a.sls");
  if (found === undefined) throw new Error("not analysed");
  return found;
};

test.each<[string, string, readonly string[]]>([
  ["a constant", "{{ 1 }}{{ 'facts' }}{{ [1, 'a'] | tojson }}", ["plain", "plain", "plain"]],
  [
    "the id, in each form",
    "{{ id }}{{ grains.id }}{{ facts['id'] }}{{ salt['grains.get']('id') }}",
    [...["plain", "plain", "plain", "plain"]],
  ],
  ["settings, which are empty", "{{ settings.a }}{{ salt['pillar.get']('a', 1) }}", ["plain", "plain"]],
  ["a fact", "{{ facts.v }}{{ grains['v'] }}{{ svc['facts.get']('v') }}", ["told", "told", "told"]],
  ["a method of a fact", "{{ facts.get('id') }}{{ facts.id() }}", ["told", "told"]],
  [
    "a fact by a serializer",
    "{{ facts.v | tojson }}{{ facts.v | yaml(False) | indent(2) }}",
    [...["told as data", "told as data"]],
  ],
  [
    "a fact in a part of an expression",
    "{{ 'a' ~ facts.v }}{{ [facts.v] }}{{ x(facts.v) }}",
    [...["told", "told", "told"]],
  ],
  ["a serializer of one operand", "{{ 'a' ~ facts.v | tojson }}", ["told"]],
  ["a fact that chooses", "{{ 1 if facts.v else 2 }}{{ {'a': 1}[facts.v] }}", ["plain", "plain"]],
  ["an unknown name", "{{ unknown }}{{ unknown.id }}", ["told", "told"]],
  ["a variable", "{% set a = facts.v %}{% set b = 1 %}{{ a }}{{ b }}", ["told", "plain"]],
  ["a variable of a variable", "{% set c = b %}{% set b = a %}{% set a = facts.v %}{{ c }}", ["told"]],
  ["a variable that is set again", "{% set a = 1 %}{% set a = facts.v %}{{ a }}", ["told"]],
  [
    "a loop",
    "{% for k, v in facts.m %}{{ k }}{{ loop.index }}{{ loop.previtem }}{% endfor %}",
    [...["told", "plain", "told"]],
  ],
  ["a loop over constants", "{% for v in [1, 2] %}{{ v }}{% endfor %}", ["plain"]],
  ["a with", "{% with a = facts.v, b = 1 %}{{ a }}{{ b }}{% endwith %}", ["told", "plain"]],
  ["an attribute of a namespace", "{% set n = namespace() %}{% set n.a = facts.v %}{{ n.a }}", ["told"]],
  ["a block", "{% set a %}x{{ facts.v }}{% endset %}{{ a }}", ["told", "composed"]],
  [
    "a macro",
    "{% macro m(p) %}{{ p }}{% endmacro %}{{ m(facts.v) }}{{ m(1) }}",
    [...["told", "composed", "composed"]],
  ],
  ["a macro without facts", "{% macro m(p) %}{{ p }}{% endmacro %}{{ m(1) }}", ["plain", "composed"]],
  [
    "a named argument",
    "{% macro m(p, q) %}{{ p }}{{ q }}{% endmacro %}{{ m(1, q=facts.v) }}",
    [...["plain", "told", "composed"]],
  ],
  [
    "a default of a parameter",
    "{% macro m(p=facts.v) %}{{ p }}{% endmacro %}{{ m() }}",
    ["told", "composed"],
  ],
  [
    "a macro by another name",
    "{% macro m(p) %}{{ p }}{% endmacro %}{% set f = m %}{{ f(1) }}",
    [...["told", "told"]],
  ],
  ["a list of arguments", "{% macro m(p) %}{{ p }}{% endmacro %}{{ m(*[1]) }}", ["told", "composed"]],
  [
    "a call block",
    "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(p) m() %}{{ p }}{% endcall %}",
    [...["composed", "told"]],
  ],
])("%s", (_, text, uses) => {
  expect(only(text).outputs.map(({ use }) => use as string)).toEqual([...uses]);
});

test("a name of an imported file is what it is there", () => {
  const lib = "{% set calm = 1 %}{% set told = facts.v %}{% macro m(p) %}{{ p }}{% endmacro %}";
  const uses = (text: string) => only(text, { "lib.jinja": lib }).outputs.map(({ use }) => use);
  expect(uses("{% from 'lib.jinja' import calm, told as t %}{{ calm }}{{ t }}")).toEqual(["plain", "told"]);
  expect(uses("{% import 'lib.jinja' as lib %}{{ lib.calm }}{{ lib.told }}{{ lib }}")).toEqual([
    ...(["plain", "told", "told"] as const),
  ]);
  const given = "{% from 'lib.jinja' import m %}{{ m(facts.v) }}";
  expect(
    analyse(
      new Map([
        ["a.sls", given],
        ["lib.jinja", lib],
      ]),
    ).get("lib.jinja")?.outputs[0]?.use,
  ).toBe("told");
  // Files that have nothing to do with each other do not share names.
  expect(only("{% set a = 1 %}{{ a }}", { "b.sls": "{% set a = facts.v %}" }).outputs[0]?.use).toBe("plain");
});

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
])("where facts choose: %s", (_, text, expected) => {
  const { choices, faults } = only(text);
  expect(choices.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([...expected]);
  expect(faults).toEqual([]);
});

test.each<[string, string, string]>([
  ["a computed include", "{% include facts.v %}", "include: the name of a file may not depend on facts"],
  ["a filter block", "{% filter upper %}{% endfilter %}", "filter blocks are not supported in settings"],
  ["facts as a name", "{% set facts = 1 %}", "facts cannot be assigned: use another name"],
  ["grains as a parameter", "{% macro m(grains) %}{% endmacro %}", "grains cannot be assigned"],
  [
    "text with facts in a condition",
    "{% set b %}{{ facts.v }}{% endset %}{% if b %}{% endif %}",
    "a condition uses text",
  ],
  [
    "text with facts in a filter",
    "{% set b %}{{ facts.v }}{% endset %}{{ b | upper }}",
    "this expression uses text",
  ],
  [
    "text with facts in a variable",
    "{% set b %}{{ facts.v }}{% endset %}{% set c = b ~ 'x' %}",
    "this expression uses text",
  ],
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
const files = { "top.sls": "base:\n  '*': [a]\n", "lib.jinja": lib, "x.sls": "of: x\n" };

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
