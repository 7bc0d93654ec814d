import { expect, test } from "bun:test";
import type { Guard } from "../jinja/mod.ts";
import { createTemplates } from "./mod.ts";

// What is held is in angle brackets, and in double ones as data.

const guard = (refusesChoices: boolean): Guard => ({
  hold: (text, isData) => (isData ? `<<${text}>>` : `<${text}>`),
  isHeld: (text) => text.includes("<"),
  refusesChoices,
});
const facts = { id: "web-1", v: "F", n: 2, list: ["F"], map: { F: 1 } };
const lib =
  "{% set calm = 'c' %}{% set fact = facts.v %}{% macro m(p, q=1) %}{{ p }}{{ q }}{% endmacro %}{{ facts.v }}";
const base =
  "{% block a %}[{{ facts.v }}]{% endblock %}{% block b %}b{% endblock %}{{ self.a() }}{{ 1 if self.b() == 'b' else 2 }}";

async function render(text: string, refusesChoices = false): Promise<string> {
  const files: Record<string, string> = { "lib.jinja": lib, "base.jinja": base };
  const renderer = createTemplates().renderer(async (path) => files[path]);
  const scope = { facts, settings: {}, isOfSettings: true, guard: guard(refusesChoices) };
  return await renderer.render({ name: "a.sls", text }, scope, { id: "web-1" });
}

test.each<[string, string, string]>([
  ["a constant", "{{ 1 }}{{ 'facts' }}{{ [1, 'a'] | tojson }}", '1facts[1, "a"]'],
  ["the id", "{{ id }}{{ grains.id }}{{ facts['id'] }}{{ salt['grains.get']('id') }}", "web-1".repeat(4)],
  ["settings, which are empty", "{{ salt['pillar.get']('a', 1) }}", "1"],
  ["a fact", "{{ facts.v }}{{ grains['v'] }}{{ svc['facts.get']('v') }}{{ facts.get('v') }}", "<F><F><F><F>"],
  ["a fact as data", "{{ facts.v | tojson }}{{ facts.list | yaml | indent(2) }}", '<<"F">><<[F]>>'],
  ["a part of an expression", "{{ 'a' ~ facts.v }}{{ [facts.v] }}{{ facts.v == 'F' }}", "<aF><['F']><True>"],
  ["the names of facts", "{{ (facts | list)[0] }}", "<id>"],
  ["a fact before a call", "{{ facts.v ~ 'x'.upper() }}{{ [facts.v, 'x'.upper()][1] }}", "<FX><X>"],
  ["a fact before what is chosen", "{{ facts.v ~ [1][0] }}{{ facts.v ~ (1 if id else 2) }}", "<F1><F1>"],
  [
    "a fact before a macro",
    "{% macro m() %}x{% endmacro %}{{ facts.v ~ m() }}{{ [m(), facts.v][0] }}",
    "<Fx><x>",
  ],
  [
    "a caller that is made of a fact",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m(caller=facts.v.upper) }}",
    "<F>",
  ],
  ["a serializer of one operand", "{{ 'a' ~ facts.v | tojson }}", '<a"F">'],
  ["a fact that chooses", "{{ 1 if facts.v else 2 }}{{ {'F': 1}[facts.v] }}", "11"],
  ["all facts", "{{ 'F' in facts }}{{ facts | length > 1 }}{{ (facts | list)[0] }}", "<False><True><id>"],
  ["a variable", "{% set a = facts.v %}{% set b = 1 %}{% set c = a %}{{ a }}{{ b }}{{ c }}", "<F>1<F>"],
  ["a variable that is set again", "{% set a = facts.v %}{{ a }}{% set a = 1 %}{{ a }}", "<F>1"],
  [
    "a variable of an inner scope",
    "{% set a = 1 %}{% with a = facts.v %}{{ a }}{% endwith %}{{ a }}",
    "<F>1",
  ],
  [
    "a loop",
    "{% for k, v in facts.map.items() %}{{ k }}{{ loop.index }}{{ loop.previtem is defined }}{% endfor %}",
    "<F>1<False>",
  ],
  [
    "the neighbor in a loop",
    "{% for v in ['F', 1] if facts.v %}{{ loop.nextitem is defined }}{% endfor %}",
    "TrueFalse",
  ],
  ["a with", "{% with a = facts.v, b = 1 %}{{ a }}{{ b }}{% endwith %}", "<F>1"],
  ["a tuple", "{% set a, b = facts.v, 1 %}{{ a }}{{ b }}", "<F><1>"],
  ["a namespace", "{% set n = namespace(b=1) %}{{ n.b }}{% set n.a = facts.v %}{{ n.b }}", "1<1>"],
  [
    "a namespace in a list",
    "{% set n = namespace(a=1) %}{% set l = [n] %}{% set n.a = facts.v %}{{ l | map(attribute='a') | first }}{{ '{0.a}'.format(n) }}",
    "<F><F>",
  ],
  ["a cycler", "{% set c = cycler(facts.v) %}{{ c.next() }}{{ c.current }}", "<F><F>"],
  [
    "a joiner in a macro",
    "{% macro m(j) %}{{ j() }}{{ j() }}{% endmacro %}{{ m(joiner(facts.v)) }}",
    "<><F>",
  ],
  [
    "a method",
    "{% set f = facts.v.upper %}{{ f() }}{% set g = facts.get %}{{ g('v') }}{{ g('id') }}",
    "<F><F>web-1",
  ],
  ["a map of facts", "{% set g = facts %}{{ g.v }}{{ g.id }}{{ [g][0].v }}", "<F>web-1<F>"],
  ["facts in another map", "{{ show_full_context().grains.v }}{{ salt['grains.items']().v }}", "<F><F>"],
  ["a block", "{% set a %}x{{ facts.v }}{% endset %}{{ a }}{{ a | indent(2) | trim }}", "x<F>x<F>"],
  ["a block in a list", "{% set a %}x{{ facts.v }}{% endset %}{% set l = [a] %}{{ l[0] }}", "x<F>"],
  ["a macro", "{% macro m(p) %}k{{ p }}{% endmacro %}{{ m(facts.v) }}{{ m(1) }}", "k<F>k1"],
  [
    "an argument of several",
    "{% macro m(p, q) %}{{ p }}{{ q }}{% endmacro %}{{ m(1, q=facts.v) }}{{ m(facts.v, 1) }}",
    "1<F><F>1",
  ],
  [
    "the default of a parameter",
    "{% macro m(p=facts.v, q=1) %}{{ p }}{{ q }}{% endmacro %}{{ m() }}",
    "<F>1",
  ],
  [
    "more arguments",
    "{% macro m() %}{{ varargs[0] }}{{ kwargs.a }}{% endmacro %}{{ m(facts.v, a=1) }}",
    "<F><1>",
  ],
  [
    "a list of arguments",
    "{% macro m(p, q) %}{{ p }}{{ q }}{% endmacro %}{{ m(1, *facts.list) }}{{ m(**{'p': 1, 'q': facts.v}) }}",
    "1<F><1><F>",
  ],
  [
    "a macro by another name",
    "{% macro m(p) %}{{ p }}{% endmacro %}{% set f = m %}{{ f(facts.v) }}{{ f(1) }}",
    "<F>1",
  ],
  [
    "a macro in a macro",
    "{% macro m(p) %}{{ p }}{% endmacro %}{% macro k(p) %}k{{ m(p) }}{% endmacro %}{{ k(facts.v) }}{{ k(1) }}",
    "k<F>k1",
  ],
  [
    "a call block",
    "{% macro m() %}{{ caller(1, facts.v) }}{% endmacro %}{% call(p, q) m() %}{{ p }}{{ q }}{% endcall %}",
    "1<F>",
  ],
  [
    "a call block of a function",
    "{% call '{}'.format(facts.v) %}{% endcall %}{% call 'a'.upper() %}{% endcall %}",
    "<F>A",
  ],
  [
    "a recursive loop",
    "{% for v in [1] recursive %}{{ v }}{% if v == 1 %}{{ loop(facts.list) }}{% endif %}{% endfor %}",
    "1<F>",
  ],
  [
    "an import",
    "{% import 'lib.jinja' as lib %}{{ lib.calm }}{{ lib.fact }}{{ lib.m(1) }}{{ lib.m(facts.v) }}{{ lib }}",
    "c<F>11<F>1<F>",
  ],
  [
    "imported names",
    "{% from 'lib.jinja' import calm, fact as f, m %}{{ calm }}{{ f }}{{ m(f, 2) }}",
    "c<F><F>2",
  ],
  ["an include", "{% set p = facts.v %}{% include 'lib.jinja' %}", "<F>"],
  ["blocks", "{% extends 'base.jinja' %}{% block b %}{{ super() }}{% endblock %}", "[<F>]b[<F>]1"],
  [
    "blocks with a fact",
    "{% extends 'base.jinja' %}{% block a %}{{ facts.n }}{{ super() }}{% endblock %}",
    "<2>[<F>]b<2>[<F>]1",
  ],
  ["data", "{% load_yaml as d %}a: 1{% endload %}{{ d.a }}", "1"],
  ["an argument of a filter", "{{ 'ab' | replace('b', facts.v) }}{{ 'a' | indent(facts.v) }}", "<aF><a>"],
])("%s is held where it is made of a fact", async (_, text, expected) => {
  expect(await render(text)).toBe(expected);
});

const block = "{% set b %}{{ facts.v }}{% endset %}";

test.each([
  ...[
    "{{ b | lower }}",
    "{{ b ~ 'x' }}",
    "{{ b[0] }}",
    "{{ b[1:] }}",
    "{{ b | length }}",
    "{{ [b] }}",
    "{{ b == 'F' }}",
  ],
  ...["{{ b ~ facts.v }}", "{{ [b, facts.v][0] }}", "{{ b | trim(facts.v) }}", "{{ b | indent(facts.v) }}"],
  ...["{% set c = b | lower %}{{ c }}", "{% set c | lower %}{{ b }}{% endset %}{{ c }}"],
  ...["{% macro m(p) %}{{ p | lower }}{% endmacro %}{{ m(b) }}", "{{ salt['file.dirname'](b) }}"],
  ...["{% set n = namespace(x=b) %}{{ n.x | lower }}", "{% call '{}!'.format(b) %}{% endcall %}"],
  ...[
    "{% import 'lib.jinja' as lib %}{{ lib ~ 'x' }}",
    "{% import 'lib.jinja' as lib %}{{ lib | string | length }}",
  ],
  ...["{% if b %}{% endif %}", "{{ 1 if b else 2 }}", "{{ {}[b] }}", "{% for c in b %}{% endfor %}"],
])("%s is refused, where b has a fact in it", async (text) => {
  await expect(render(block + text)).rejects.toThrow("uses text that contains facts: use the fact itself");
});

test.each([
  ["{% include facts.v %}", "include: the name of a file may not depend on facts"],
  ["{% include ['none', facts.v] ignore missing %}", "include: the name of a file may not depend on facts"],
  ["{% extends facts.v %}", "extends: the name of a file may not depend on facts"],
  ["{% import facts.v as x %}", "import: the name of a file may not depend on facts"],
  ["{% import_yaml facts.v as x %}", "import_yaml: the name of a file may not depend on facts"],
  ["{% from facts.v import x %}", "from: the name of a file may not depend on facts"],
  [`${block}{% include b %}`, "include: the name of a file may not depend on facts"],
  ["{% import_yaml 'lib.jinja' as x %}", "facts are in the text"],
  ["{% load_yaml as x %}a: {{ facts.v }}{% endload %}", "facts are in the text"],
  ["{% filter upper %}a{% endfilter %}", "filter blocks are not supported in settings"],
])("%s is refused", async (text, message) => {
  await expect(render(text)).rejects.toThrow(message);
});

test.each([
  ["{% if facts.v %}{% endif %}", "a condition"],
  ["{% if false %}{% elif facts.v %}{% endif %}", "a condition"],
  ["{% for v in facts.list %}{% endfor %}", "a loop"],
  ["{% for v in [1] if facts.v %}{% endfor %}", "a condition"],
  ["{{ 1 if facts.v else 2 }}", "a condition"],
  ["{{ {'F': 1}[facts.v] }}", "a condition"],
  ["{% macro m(p) %}{% if p %}{% endif %}{% endmacro %}{{ m(facts.v) }}", "a condition"],
  ["{{ salt['grains.filter_by']({'default': 1}) }}", "a function that looks at facts chooses"],
  ["{% set f = salt['grains' ~ '.filter_by'] %}", "a function that looks at facts chooses"],
])("%s is refused where facts may not choose", async (text, what) => {
  await expect(render(text, true)).rejects.toThrow(what);
  await render(text);
});

test("what chooses without facts is accepted where facts may not choose", async () => {
  const text =
    "{% set a = facts.v %}{% if id == 'web-1' and 1 %}{{ a }}{% endif %}{% for v in [a, 1] if true %}{% endfor %}";
  await expect(render(text, true)).rejects.toThrow("a loop uses facts");
  expect(await render(text.replace("[a, 1]", "[1]"), true)).toBe("<F>");
});
