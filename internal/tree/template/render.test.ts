import { expect, test } from "bun:test";
import { createTemplates } from "./render.ts";

const scope = {
  facts: {
    os: "Debian",
    nested: { a: [1, { b: "x" }] },
    flags: { on: true, off: false, nothing: null },
  },
  settings: { user: { name: "ann" }, "a:b": 3 },
};
const files: Record<string, string> = {
  "map.jinja": "{% set m = {'k': facts.os} %}{% macro hi(who) %}hi {{ who }}{% endmacro %}",
  "page.html": "{{ v }}",
  "base.yaml": "[{% block x %}{% endblock %}]",
  "bad.sls": "1\n{{ nope.x }}\n",
  "badcall.jinja": "{% macro c() %}\n{{ salt['network.ip_addrs']('eth0') }}{% endmacro %}",
  "badmacro.jinja": "{% macro q(a) %}\n{{ a }}{{ bad }}{% endmacro %}",
};
const templates = createTemplates();
const renderer = templates.renderer((path) => Promise.resolve(files[path]));
const render = (text: string, variables = {}, name = "t.sls") =>
  renderer.render({ name, text }, scope, variables);

test("YAML is wrapped as Salt's in files of trees of Salt, and one line where it is read as data", async () => {
  const long = { list: Array.from({ length: 40 }, (_, at) => at) };
  const written = (name: string, compat: "strict" | "salt") =>
    renderer.render({ name, text: "{{ list|yaml }}\n" }, { ...scope, compat }, long);
  expect((await written("web.conf", "salt")).split("\n").slice(1)).toEqual([
    "  23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]",
    "",
  ]);
  for (const [name, compat] of [
    ["web.sls", "salt"],
    ["web.conf", "strict"],
  ] as const) {
    expect((await written(name, compat)).split("\n")).toHaveLength(2);
  }
});

test("the line end at the end of a template stays, and that of an included one does not", async () => {
  const ending = templates.renderer(async (path) => ({ "inc.j2": "in\r\n" })[path]);
  const text = "{% include 'inc.j2' %}|{% if true %}\r\nx\r\n{%- endif -%}\r\n";
  expect(await ending.render({ name: "salt://web/t.conf", text }, scope, {})).toBe("in|\nx\n");
});

test.each([
  ["plain {text}", "plain {text}"],
  ["{{ facts.os }} {{ grains['os'] }} {{ grains.get('os') }}\n", "Debian Debian Debian\n"],
  ["{{ salt['pillar.get']('user:name') }}{{ salt['settings.get']('no:way', 'd') }}", "annd"],
  ["{{ salt['grains.get']('nested:a:1:b') }}{{ salt.pillar.get('a:b') }}", "x3"],
  ["{{ salt['pillar.get']('none', default=5) }}|{{ salt['pillar.get']('none') }}|", "5||"],
  ["{{ pillar.get('nothing', 'd') }}{{ grains.get('nested', {}).get('b', 2) }}", "d2"],
  ["{% from 'map.jinja' import m, hi with context %}{{ m.k }} {{ hi('bob') }}", "Debian hi bob"],
  ["{% from 'ma' ~ 'p.jinja' import m %}{{ m.k }}", "Debian"],
  ["{% include 'salt://page.html' %}", "<a&'\">"],
  ["{% extends 'base.yaml' %}{% block x %}{{ v }}{% endblock %}", "[<a&'\">]"],
  ["{% include 'none' ignore missing %}-", "-"],
  ["{{ {'a': [1, none, {'b': 'x'}]}|yaml }}", "{a: [1, null, {b: x}]}"],
  ["{{ {'a': [1, 'y']}|yaml(False) }}", "a:\n- 1\n- y"],
  [
    "{{ 'a\"b'|yaml_dquote }} {{ \"it's\"|yaml_squote }} {{ \"it's\"|quote }} {{ '1'|yaml_encode }}",
    `"a\\"b" 'it''s' 'it'"'"'s' "1"`,
  ],
])("%s", async (text, expected) => {
  expect(await render(text, { v: "<a&'\">" })).toBe(expected);
});

// What Jinja 3 writes for the same text.
test.each([
  [
    "{{ true }} {{ false }} {{ none }} {{ 1 }} {{ 1.0 }} {{ 10 / 4 }} {{ 'x' }}",
    "True False None 1 1.0 2.5 x",
  ],
  ["{{ facts.flags.on }} {{ facts.flags.off }} {{ facts.flags.nothing }}", "True False None"],
  ["{{ facts.nested }}", "{'a': [1, {'b': 'x'}]}"],
  [
    "{{ [true, none, 'a', 1.5, []] }} {{ {} }} {{ {'a': {'b': false}} }}",
    "[True, None, 'a', 1.5, []] {} {'a': {'b': False}}",
  ],
  [
    String.raw`{{ ["it's", 'say "x"', 'a\\b', 'l1\nl2'] }}`,
    String.raw`["it's", 'say "x"', 'a\\b', 'l1\nl2']`,
  ],
  ["{{ ['é', '\u200b'] }}", "['é', '\\u200b']"],
  ["a {{- true -}} \n b", "aTrueb"],
  ["{{ '}}' }}{{ {'a': {'b': '}}'}} }}", "}}{'a': {'b': '}}'}}"],
  ["{% raw %}{{ true }}{% endraw %}{# {{ true }} #}{{ '{{ true }}' }}", "{{ true }}{{ true }}"],
  [
    "{% set s %}{{ true }}{% endset %}{{ s }} {% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(none) }}",
    "True <None>",
  ],
  ["{% call(v) m2() %}{{ v }}{% endcall %}", "[True]"],
  [
    "{% for x in [[1, [2]]] recursive %}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
    "(1(2))",
  ],
  ["{{ 'a' if false }}|{{ true if true else 'x' }}", "|True"],
  [
    "{{ facts.flags.on|yaml }} {{ true|string|lower }} {{ facts.flags|json }}",
    'true true {"nothing": null, "off": false, "on": true}',
  ],
  ["{% if facts.flags.on %}{% for x in [1, 2] %}{{ loop.first }}{% endfor %}{% endif %}", "TrueFalse"],
])("%s renders as in Jinja", async (text, expected) => {
  const macros = "{% macro m2() %}[{{ caller(true) }}]{% endmacro %}";
  expect(await render(macros + text)).toBe(expected);
});

test.each(["x.html", "x.json", "x.yaml.j2"])("values are not escaped in %s", async (name) => {
  expect(await render("{{ v }}", { v: "<a&'\">" }, name)).toBe("<a&'\">");
});

test.each([
  ["a\n{{ nope }}", "t.sls:2: undefined: nope"],
  ["{{ facts.nested.typo }}", "t.sls:1: undefined: facts.nested.typo"],
  ["{{ pillar['typo'] }}", "t.sls:1: undefined: pillar['typo']"],
  ["{{ facts.os }}: {{- facts.typo -}} {{ facts.os }}", "t.sls:1: undefined: facts.typo"],
  ["{{ true }}{{\n nope\n}}", "t.sls:2: undefined: nope"],
  ["{% for x in typo %}{% endfor %}", "t.sls:1: undefined: typo"],
  ["{% if typo %}{% endif %}", "t.sls:1: undefined: typo"],
  ["\n\n{% for %}", "t.sls:3: syntax error: unexpected end of block, expected a name"],
  ["{{ 1|nofilter }}", "t.sls:1: unknown filter: nofilter"],
  ["{{ salt['cmd.run']('id') }}", "t.sls:1: salt['cmd.run'] does not exist in templates"],
  [
    "\n{% set x = salt['pillar.gett']('a') %}",
    "t.sls:2: salt['pillar.gett'] does not exist in templates (did you mean pillar.get?)",
  ],
  ["{{ salt['grains.get']('os') }}\n{{ salt.cmd.run('id') }}", "t.sls:2: salt.cmd does not exist"],
  [
    "\n{% set a = [\n salt['pillar.get']('a'), salt['cmd.run'](\n 'id')\n] %}",
    "t.sls:3: salt['cmd.run'] does",
  ],
  ["{% for i in salt[ \"cmd.run\" ]('id') %}{% endfor %}", "t.sls:1: salt['cmd.run'] does not exist"],
  [
    "{% from 'badcall.jinja' import c %}\n\n{{ c() }}",
    "badcall.jinja:2: salt['network.ip_addrs'] does not exist",
  ],
  ["{% set n = 'cmd.run' %}\n{{ salt[n]('id') }}", "t.sls:2: salt['cmd.run'] does not exist in templates"],
  [
    "\n{% include 'nothere.sls' %}",
    't.sls:2: template not found: tried to include non-existing template "nothere.sls"',
  ],
  ["{% include 'bad.sls' %}", "bad.sls:2: undefined: nope"],
  ["{% from 'badmacro.jinja' import q %}{{ q(1) }}", "badmacro.jinja:2: undefined: bad"],
  [
    "{% for i in range(5000) %}{% for i in range(10000) %}{% endfor %}{% endfor %}",
    "t.sls:1: the template exceeds the instruction limit",
  ],
  ["{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "t.sls:1: recursion limit exceeded"],
  ["{{ 'x'*3000000000 }}", "t.sls:1: the template exceeds the memory limit"],
  ["{{ 'x'*9000000 }}", "t.sls: the rendered text is larger than 8 MiB"],
  ["\n{{ none|yaml_dquote }}", "t.sls:2: yaml_dquote: expected a string"],
  ["{{ debug() }}", "t.sls:1: undefined: debug"],
])("%s fails", async (text, expected) => {
  const error = await render(text).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(String((error as Error).message)).toStartWith(expected);
  expect(await render("{{ facts.os }}")).toBe("Debian");
});

test("templates of one tree are not available to another", async () => {
  expect(await render("{% include 'page.html' %}", { v: 1 })).toBe("1");
  const other = templates.renderer(() => Promise.resolve(undefined));
  const included = other.render({ name: "t.sls", text: "{% include 'page.html' %}" }, scope);
  expect(included).rejects.toThrow(
    't.sls:1: template not found: tried to include non-existing template "page.html"',
  );
});

test("renderings of different scopes do not mix", async () => {
  const scopes = Array.from({ length: 20 }, (_, index) => ({ facts: { os: `os-${index}` }, settings: {} }));
  const text = "{% from 'map.jinja' import m with context %}{{ facts.os }}";
  const rendered = scopes.map((each) => renderer.render({ name: "t.sls", text }, each));
  expect(await Promise.all(rendered)).toEqual(scopes.map(({ facts }) => facts.os));
});

test("repeated rendering does not use more memory", async () => {
  const big = "x".repeat(1_000_000);
  for (let round = 0; round < 200; round++) {
    const own = templates.renderer(() => Promise.resolve(undefined));
    const variables = { facts: { big }, settings: {} };
    expect(await own.render({ name: "t.sls", text: "{{ facts.big|length }}" }, variables)).toBe("1000000");
  }
});

test("two engines in one process do not mix, also when one of them traps between", async () => {
  const [one, other] = [createTemplates(), createTemplates()].map((each) =>
    each.renderer(async () => undefined),
  );
  if (one === undefined || other === undefined) throw new Error("two renderers were made");
  const text = "{% set big = 'y' * 100000 %}{{ facts.os }}{{ big|length }}";
  const shown = (of: typeof one, os: string) =>
    of.render({ name: "t.sls", text }, { facts: { os }, settings: {} });
  for (let round = 0; round < 3; round++) {
    expect(await shown(one, "a")).toBe("a100000");
    expect(await shown(other, "b")).toBe("b100000");
    const trap = one.render({ name: "t.sls", text: "{{ 'x'*3000000000 }}" }, scope);
    await expect(trap).rejects.toThrow("exceeds the memory limit");
    expect(await shown(other, "c")).toBe("c100000");
  }
  expect(await shown(one, "d")).toBe("d100000");
});
