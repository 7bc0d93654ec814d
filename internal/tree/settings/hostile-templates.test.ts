import { expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import type { Facts } from "../../host/facts/mod.ts";
import { createCompilers } from "./compile.ts";

// Templates that bring a fact into the text in a way that is easily overlooked.

const attack = "stolen: 1\ninclude: [secret]";
const facts: Facts = { v: attack, list: [attack], map: { [attack]: 1 } };
const files = {
  "top.sls": "base:\n  '*': [a]\n",
  "secret.sls": "secret: s3cret\n",
  "lib.jinja": "{% set x = facts.v %}{% macro m(p) %}{{ p }}{{ caller() }}{% endmacro %}",
  "show.jinja": "{% for p in [1] %}{% endfor %}{{ p }}",
  "calm.jinja":
    "{% macro key(k) %}{{ k }}: {{ caller() }}{% endmacro %}{% macro show(p) %}x: {{ p }}{{ caller() }}{% endmacro %}",
};

async function settingsOf(text: string): Promise<unknown> {
  const tree = treeOf({ ...files, "a.sls": `${text}\n` });
  const { settings } = await createCompilers()(tree).compile({ peelId: "web-1", facts }, new Set());
  return settings;
}

const asFact = "expected a map of settings, found a fact";
const calm = "{% set x = 1 %}";
const given = "{% set p = facts.v %}";
const loops = "{% for x in [1] recursive %}";
const joins = "{% call salt['file.join'](facts.v) %}{% endcall %}";

test.each<[string, string, string]>([
  ["a relative import", `${calm}{% import './lib.jinja' as lib %}{{ lib.x }}`, asFact],
  ["an import of texts in a row", `${calm}{% import 'lib' '.jinja' as lib %}{{ lib.x }}`, asFact],
  ["an import with an escape", `${calm}{% import 'l\\x69b.jinja' as lib %}{{ lib.x }}`, asFact],
  ["an import of an environment", `${calm}{% import 'lib.jinja?saltenv=base' as lib %}{{ lib.x }}`, asFact],
  ["a relative include", `${given}{% include './show.jinja' %}`, asFact],
  ["a list of includes", `${given}{% include ['none', './show.jinja'] %}`, asFact],
  ["a call of a function", joins, asFact],
  ["a call of a method", "{% call '{}'.format(facts.v) %}{% endcall %}", asFact],
  ["a call of a cycler", "{% set c = cycler(facts.v, 1) %}{% call c.next() %}{% endcall %}", asFact],
  ["a call of a loop", "{% for i in [1] %}{% call loop.cycle(facts.v) %}{% endcall %}{% endfor %}", asFact],
  [
    "facts as a parameter of a call",
    "{% macro k() %}{{ caller({'id': facts.v}) }}{% endmacro %}{% call(facts) k() %}{{ facts.id }}{% endcall %}",
    asFact,
  ],
  [
    "other items of a recursive loop",
    `${loops}{% if x == 1 %}{{ loop(facts.list) }}{% else %}{{ x }}{% endif %}{% endfor %}`,
    asFact,
  ],
  [
    "a recursive loop by another name",
    `${loops}{% set l = loop %}{% if x == 1 %}{% call l(facts.list) %}{% endcall %}{% else %}{{ x }}{% endif %}{% endfor %}`,
    asFact,
  ],
  [
    "named extras of a macro",
    "{% set kwargs = {} %}{% macro m() %}{{ kwargs.a }}{% endmacro %}{{ m(a=facts.v) }}",
    asFact,
  ],
  [
    "extras of a macro",
    "{% for varargs in [] %}{% endfor %}{% macro m() %}{{ varargs[0] }}{% endmacro %}{{ m(facts.v) }}",
    asFact,
  ],
  [
    "a namespace by another name",
    "{% set n = namespace(a=1) %}{% set m = n %}{% set m.a = facts.v %}{{ n.a }}",
    asFact,
  ],
  [
    "a namespace in a macro",
    "{% set n = namespace(a=1) %}{% macro f(o) %}{% set o.a = facts.v %}{% endmacro %}{% set _ = f(n) %}{{ n.a }}",
    asFact,
  ],
  [
    "another caller",
    "{% macro m() %}{{ caller(facts.v) }}{% endmacro %}{{ m(caller=salt['file.join']) }}",
    asFact,
  ],
  [
    "another caller in a map",
    "{% macro m() %}{{ caller(facts.v) }}{% endmacro %}{{ m(**{'caller': salt['file.join']}) }}",
    asFact,
  ],
  ["another self", "{% set self = salt['file.join'] %}{{ self(facts.v) }}", asFact],
  [
    "a parameter with the name of a module",
    "{% import 'lib.jinja' as lib %}{% macro f(lib) %}{{ lib.m(facts.v) }}{% endmacro %}{{ f({'m': salt['file.join']}) }}",
    asFact,
  ],
  [
    "a function with the name of a macro",
    "{% if false %}{% macro dict(a) %}{{ a }}{% endmacro %}{% endif %}{{ dict(facts.map) }}",
    asFact,
  ],
])("a fact does not become structure by %s", async (_, text, expected) => {
  await expect(settingsOf(text)).rejects.toThrow(expected);
});

test.each<[string, string, unknown]>([
  ["a relative import", "{% from './calm.jinja' import key %}{% call key('a') %}1{% endcall %}", { a: 1 }],
  [
    "a call of a macro by the name of its import",
    "{% from './calm.jinja' import show as s %}{% call s(facts.v) %}{% endcall %}",
    { x: attack },
  ],
  [
    "a call of a macro with a fact",
    "{% from 'calm.jinja' import key %}{% call key('a') %}'{{ facts.v }}'{% endcall %}",
    { a: attack },
  ],
  [
    "a recursive loop over constants",
    "{% for x in [['a'], 'b'] recursive %}{% if x is string %}{{ x }}: 1\n{% else %}{{ loop(x) }}{% endif %}{% endfor %}",
    { a: 1, b: 1 },
  ],
  ["a namespace of constants", "{% set n = namespace(k='a') %}{% set n.k = 'b' %}{{ n.k }}: 1", { b: 1 }],
])("%s is accepted", async (_, text, expected) => {
  expect(await settingsOf(text)).toEqual(expected);
});
