import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Budget } from "./budget.ts";
import { createEnvironment, JinjaError } from "./environment.ts";
import { fromPlain } from "./values/mod.ts";

const files: Readonly<Record<string, string>> = {
  "lib.jinja":
    "{% set v = 'V' %}{% macro hi(who, sign='!') %}hi {{ who }}{{ sign }}{% endmacro %}{% set _p = 1 %}",
  "dir/inner.jinja": "{% from './near.jinja' import n %}{{ n }}",
  "dir/near.jinja": "{% set n = 'near' %}",
  "base.txt": "<{% block a %}A{% endblock %}|{% block b %}B{{ self.a() }}{% endblock %}>",
  "mid.txt": "{% extends 'base.txt' %}{% block a %}[{{ super() }}]{% endblock %}",
  "part.txt": "{{ x }}{% set y = 'inner' %}",
  "loop.txt": "{% include 'loop.txt' %}",
  "bad.txt": "one\n  {{ missing.a }}",
  "data.yaml": "{% set n = 2 %}a: [1, {{ n }}]",
};
const variables: Readonly<Record<string, unknown>> = {
  user: { name: "ann", roles: ["admin", "ops"], items: "key" },
  x: "outer",
  none: null,
};
const environment = createEnvironment({
  parseData: (format, text) =>
    format === "text" ? text : fromPlain(format === "yaml" ? { read: text } : JSON.parse(text)),
});
const render = (text: string, more: { isLenient?: boolean; isFixed?: boolean; budget?: Budget } = {}) =>
  environment.render({
    name: "dir/t.sls",
    text: (name) => (name === "dir/t.sls" ? text : files[name]),
    global: (name) => (Object.hasOwn(variables, name) ? fromPlain(variables[name] as never) : undefined),
    ...more,
  });
const failure = (text: string, more: { budget?: Budget } = {}): JinjaError => {
  try {
    render(text, more);
  } catch (thrown) {
    if (thrown instanceof JinjaError) return thrown;
    throw thrown;
  }
  throw new Error(`${text} was rendered`);
};

// What Jinja 3 writes.
describe("templates render as in Jinja:", () => {
  test.each([
    // Values.
    [
      "{{ 1 }} {{ 1.0 }} {{ 1e3 }} {{ 0x1f }} {{ 1_000 }} {{ 1e16 }} {{ 0.00001 }}",
      "1 1.0 1000.0 31 1000 1e+16 1e-05",
    ],
    ["{{ (1,) }} {{ (1, 'a') }} {{ () }} {{ [none, true] }}", "(1,) (1, 'a') () [None, True]"],
    ["{{ {'b': 1, 'a': [2.0]} }} {{ {1: 'x', none: 2} }}", "{'b': 1, 'a': [2.0]} {1: 'x', None: 2}"],
    ["{{ 'a' 'b' }} {{ 'l\\n\\x41\\u00e9\\q' }}", "ab l\nAé\\q"],
    // Operators.
    [
      "{{ 7 / 2 }} {{ 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 }} {{ 2 ** -1 }}",
      "3.5 2.0 3 -4 2 8 0.5",
    ],
    [
      "{{ 'a' ~ 1 ~ none ~ true }} {{ [1] + [2] }} {{ 'ab' * 2 }} {{ 3 * [0] }}",
      "a1NoneTrue [1, 2] abab [0, 0, 0]",
    ],
    [
      "{{ 1 < 2 < 3 }} {{ 1 == 1.0 }} {{ 'a' in 'cat' }} {{ 2 not in [1] }} {{ 'b' in {'b': 1} }}",
      "True True True True True",
    ],
    ["{{ not true or 1 and 'x' }} {{ 0 or 'd' }} {{ 1 and [] }}", "x d []"],
    ["{{ -2 ** 2 }} {{ +3 }} {{ 2 ~ 3 * 4 }}", "4 3 212"],
    ["{{ 'y' if user else 'n' }}{{ 'n' if false }}", "y"],
    // Attributes, items and slices.
    [
      "{{ user.name }} {{ user['name'] }} {{ user.roles[-1] }} {{ user.roles.0 }} {{ user['items'] }}",
      "ann ann ops admin key",
    ],
    ["{{ 'abcdef'[1:4] }} {{ [1,2,3,4][::2] }} {{ 'abc'[::-1] }} {{ (1,2,3)[:2] }}", "bcd [1, 3] cba (1, 2)"],
    ["{{ {'a': {'b': 1}}['a'].b }} {{ user.get('no', 'd') }} {{ user.get('no') }}", "1 d None"],
    // Methods.
    [
      "{{ 'a,b,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.rsplit(None, 1) }}",
      "['a', 'b', 'c'] ['a', 'b'] ['a', 'b,c'] ['a b', 'c']",
    ],
    ["{{ 'x-y-z'.rpartition('-') }} {{ 'xy'.partition('-') }}", "('x-y', '-', 'z') ('xy', '', '')"],
    [
      "{{ '%s is %05.1f%%' % ('a', 3.14159) }} {{ '%(n)s' % {'n': 1} }} {{ '%-3s|%3d|%x' | format('a', 7, 255) }}",
      "a is 003.1% 1 a  |  7|ff",
    ],
    ["{{ '{} {1} {n:>4} {0!r:<4}|'.format('a', 'b', n=3) }}".replace("{} {1}", "{0} {1}"), "a b    3 'a' |"],
    [
      "{{ '{:,} {:.2f} {:08.3f} {:+d} {:x}'.format(1234567, 2.5, 3.14159, 5, 255) }}",
      "1,234,567 2.50 0003.142 +5 ff",
    ],
    [
      "{{ 'a.b'.replace('.', '/').upper().center(7, '*') }} {{ 'x'.zfill(3) }} {{ '-5'.zfill(4) }}",
      "**A/B** 00x -005",
    ],
    [
      "{{ ' a '.strip() }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'hello world'.title() }}|{{ 'aB'.swapcase() }}",
      "a|axx|Hello World|Ab",
    ],
    [
      "{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'abc'.find('c') }} {{ 'abab'.count('ab') }}",
      "['a', 'b', 'c'] 2 2",
    ],
    [
      "{{ 'web-1'.startswith(('db', 'web')) }} {{ '12'.isdigit() }} {{ ', '.join(['a', 'b']) }}",
      "True True a, b",
    ],
    // Changes in place.
    [
      "{% set l = [1] %}{% do l.append(2) %}{% do l.extend((3, 4)) %}{% do l.insert(0, 0) %}{{ l.pop() }}{{ l }}",
      "4[0, 1, 2, 3]",
    ],
    [
      "{% set d = {'a': 1} %}{% set e = d %}{% do d.update({'b': 2}, c=3) %}{% do e.pop('a') %}{{ d }}",
      "{'b': 2, 'c': 3}",
    ],
    [
      "{% set d = {} %}{% do d.setdefault('k', []).append(1) %}{% do d.setdefault('k', []).append(2) %}{{ d }}",
      "{'k': [1, 2]}",
    ],
    [
      "{% set l = [3, 1, 2] %}{% do l.sort() %}{{ l }}{% do l.reverse() %}{{ l }}{% do l.remove(2) %}{{ l }}",
      "[1, 2, 3][3, 2, 1][3, 1]",
    ],
    // Statements.
    ["{% set a, b = 1, 2 %}{{ b }}{{ a }}{% set (c, d), e = [[1, 2], 3] %}{{ c + d + e }}", "216"],
    [
      "{% for i in [1,2,3,4] %}{% if i == 2 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
      "13",
    ],
    [
      "{% for k, v in {'a': 1, 'b': 2}.items() if v > 1 %}{{ k }}{{ loop.index }}{{ loop.last }}{% else %}none{% endfor %}",
      "b1True",
    ],
    ["{% for x in [] %}x{% else %}none{% endfor %}", "none"],
    [
      "{% for x in 'ab' %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.previtem|default('-') }}{{ loop.cycle('x', 'y') }}{% endfor %}",
      "02-x11ay",
    ],
    ["{% for x in [1, [2, [3]]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "123"],
    [
      "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}",
      "13",
    ],
    [
      "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
      "3",
    ],
    [
      "{% macro m(a, b='B') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3, c=4) }}",
      "1B(){} 12(3,){'c': 4}",
    ],
    ["{% macro w(n) %}<{{ caller(n) }}>{% endmacro %}{% call(x) w(7) %}{{ x }}!{% endcall %}", "<7!>"],
    [
      "{% set s %} a {% endset %}[{{ s }}]{% filter upper %}b{{ 'c' }}{% endfilter %}{% set t | trim %} d {% endset %}[{{ t }}]",
      "[ a ]BC[d]",
    ],
    ["{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "3False"],
    ["a {%- if true -%} b {%- endif %} c{# gone #}{% raw %}{{ x }}{% endraw %}", "ab c{{ x }}"],
    ["{{ '}}' }}{{ {'a': {'b': '}}'}} }}", "}}{'a': {'b': '}}'}}"],
    [
      "{% for g in [{'k': 1, 'v': 'a'}, {'k': 2, 'v': 'b'}, {'k': 1, 'v': 'c'}] | groupby('k') %}{{ g.grouper }}{{ g.list | map(attribute='v') | join('+') }} {% endfor %}",
      "1a+c 2b ",
    ],
    // Other templates.
    [
      "{% import 'lib.jinja' as lib %}{{ lib.v }}{{ lib.hi('bo') }}{% from 'lib.jinja' import hi as h with context %}{{ h('x', '?') }}",
      "Vhi bo!hi x?",
    ],
    [
      "{% include 'part.txt' %}{{ y is defined }}{% set x = 'mine' %}{% include 'part.txt' %}{% include 'part.txt' without context %}",
      "outerFalsemineouter",
    ],
    ["{% include ['no.txt', 'part.txt'] %}{% include 'no.txt' ignore missing %}", "outer"],
    ["{% include 'dir/inner.jinja' %}{% include './inner.jinja' %}", "nearnear"],
    ["gone? {% extends 'mid.txt' %}not shown{% block b %}b{{ super() }}{% endblock %}", "gone? <[A]|bB[A]>"],
    [
      "{% import_yaml 'data.yaml' as d %}{{ d.read }}{% load_json as j %}{\"a\": [1]}{% endload %}{{ j.a }}{% import_text 'part.txt' as t %}{{ t }}",
      "a: [1, 2][1]outer",
    ],
    // Filters and tests.
    [
      "{{ [3, 1, 2] | sort | join(',') }} {{ ['b', 'A'] | sort }} {{ [1, 2, 3, 4] | batch(3, 'x') | list }}",
      "1,2,3 ['A', 'b'] [[1, 2, 3], [4, 'x', 'x']]",
    ],
    [
      "{{ [1, 2, 3] | select('odd') | list }} {{ [{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | map(attribute='a') | list }}",
      "[1, 3] [2]",
    ],
    [
      "{{ ['a', 'b'] | map('upper') | join }} {{ [1, 1, 2] | unique | list }} {{ [1, 2] | sum }} {{ 2.5 | round }} {{ 3.7 | int }}",
      "AB [1, 2] 3 2.0 3",
    ],
    [
      "{{ '5' | int + 1 }} {{ 'x' | int(7) }} {{ '0x1f' | int(base=16) }} {{ none | default('d', true) }} {{ nope | default('d') }}",
      "6 7 31 d d",
    ],
    [
      "{{ {'b': 1, 'a': 2} | dictsort }} {{ 'a b' | urlencode }} {{ 'x' | indent }} {{ 'hello' | truncate(3, true, '') }}",
      "[('a', 2), ('b', 1)] a%20b x hello",
    ],
    [
      "{{ user is mapping }} {{ [] is sequence }} {{ 'a' is string }} {{ 4 is divisibleby 2 }} {{ [none]|select('none')|list }} {{ 1 is number and not 'a' is number }}",
      "True True True True [None] True",
    ],
    [
      "{{ nope is defined }} {{ user.nope is undefined }} {{ range is callable }} {{ 3 is in [3] }} {{ 1 is not odd }}",
      "False True True True False",
    ],
  ])("%s", (text, expected) => {
    expect(render(text)).toBe(expected);
  });
});

describe("a template has nothing of the host:", () => {
  const words = [
    "constructor",
    "__proto__",
    "prototype",
    "toString",
    "valueOf",
    "__class__",
    "__globals__",
    "call",
    "bind",
    "hasOwnProperty",
    "then",
  ];
  const values = [
    "''",
    "1",
    "1.0",
    "[]",
    "{}",
    "()",
    "none",
    "true",
    "range",
    "dict",
    "user",
    "user.items",
    "''.upper",
    "namespace()",
    "cycler(1)",
    "loop",
    "hi",
    "{}.items()",
  ];
  test.each(values)("%s", (value) => {
    for (const word of words) {
      for (const requested of [`(${value}).${word}`, `(${value})['${word}']`, `(${value})|attr('${word}')`]) {
        const text = `{% from 'lib.jinja' import hi %}{% for x in [1] %}{{ (${requested}) is defined }}{% endfor %}`;
        expect([requested, attempt(text)]).toEqual([requested, "False"]);
      }
    }
  });

  const attempt = (text: string): string => {
    try {
      return render(text);
    } catch (thrown) {
      return thrown instanceof JinjaError ? "False" : String(thrown);
    }
  };

  test("names of prototypes are keys like others", () => {
    expect(render("{% set d = {'__proto__': 1, 'constructor': 2} %}{{ d }}{{ d.constructor }}")).toBe(
      "{'__proto__': 1, 'constructor': 2}2",
    );
    expect(failure("{{ constructor }}").message).toBe("undefined: constructor");
    expect(failure("{{ 1|constructor }}").message).toBe("unknown filter: constructor");
    expect(failure("{{ 1 is toString }}").message).toBe("unknown test: toString");
  });
});

test.each([
  ["a\n  {{ nope }}", "dir/t.sls", 2, 6, "undefined: nope"],
  ["{{ user.roles.nope }}", "dir/t.sls", 1, 14, "undefined: user.roles.nope"],
  ["\n{% if user.nope.more %}{% endif %}", "dir/t.sls", 2, 16, "undefined: user.nope"],
  ["{% include 'bad.txt' %}", "bad.txt", 2, 13, "undefined: missing"],
  ["{{ 1 +\n'a' }}", "dir/t.sls", 1, 6, "unsupported operand type(s) for +: 'int' and 'str'"],
  ["{{ user.name() }}", "dir/t.sls", 1, 13, "'str' object is not callable: user.name"],
  [
    "{% include 'no.txt' %}",
    "dir/t.sls",
    1,
    4,
    'template not found: tried to include non-existing template "no.txt"',
  ],
  ["x\n{% for %}", "dir/t.sls", 2, 8, "syntax error: unexpected end of block, expected a name"],
  [
    "{% if a %}",
    "dir/t.sls",
    1,
    11,
    "syntax error: unexpected end of template, expected elif or else or endif",
  ],
  ["{{ (1 ]", "dir/t.sls", 1, 7, "syntax error: unexpected ']', expected ')'"],
  ["{% nope %}", "dir/t.sls", 1, 4, "syntax error: unknown tag 'nope'"],
  ["{% break %}", "dir/t.sls", 1, 4, "syntax error: 'break' outside of a loop"],
  [
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "dir/t.sls",
    1,
    35,
    "macro 'm' takes not more than 1 argument(s)",
  ],
  [
    "{% set x = [1] %}{% set x.y = 2 %}",
    "dir/t.sls",
    1,
    21,
    "cannot assign attribute on non-namespace object",
  ],
])("%s fails with its place", (text, template, line, column, message) => {
  const { template: at, line: row, column: place, message: said } = failure(text);
  expect({ at, row, place, said }).toEqual({ at: template, row: line, place: column, said: message });
});

/** A twentieth of what a rendering may use, so that its end comes soon. */
const small = () => new Budget({ steps: 500_000, made: 4 * 1024 * 1024 });

test("the limits of a rendering are those of seconds, not of hours", () => {
  // To run through ten million steps takes a second, and a minute on a busy machine: reading a text counts as many.
  const reading = (times: number) => `{% set s = 'x' * 20000000 %}${"{{ s.count('y') }}".repeat(times)}`;
  expect(render(reading(1))).toBe("0");
  expect(failure(reading(2)).message).toContain("instruction limit");
  const steps = 10_000_000;
  const [enough, over] = [new Budget(), new Budget()];
  enough.work(4 * (steps - 1));
  expect(() => over.work(4 * steps)).toThrow("instruction limit");
});

test.each([
  ["{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "instruction limit"],
  ["{{ 'x' * 100000000 }}", "memory limit"],
  ["{{ range(1000000000) }}", "memory limit"],
  ["{% set l = ['x'] %}{% for i in range(60) %}{% do l.extend(l) %}{% endfor %}", "memory limit"],
  [
    "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "memory limit",
  ],
  ["{{ 'x'.ljust(999999999) }}", "memory limit"],
  ["{{ '%999999999d' % 1 }}", "the width is too large"],
  ["{{ 10 ** 400 }}", "too large for an integer"],
  ["{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion limit"],
  ["{% include 'loop.txt' %}", "recursion limit"],
  ["{% set l = [] %}{% do l.append(l) %}{{ l }}", "nested too deeply"],
  ["{% set l = [] %}{% set m = [] %}{% do l.append(l) %}{% do m.append(m) %}{{ l == m }}", "recursion limit"],
  [`{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`, "recursion limit"],
  ["{% if a %}".repeat(500), "nested too deeply"],
])("%s ends at a limit", (text, expected) => {
  expect(failure(text.slice(0, 200_000), { budget: small() }).message).toContain(expected);
  expect(render("{{ x }}")).toBe("outer");
});

const twice = (names: string) =>
  `{% set ns = namespace(a=['x'], b=['x']) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}${names}{% endfor %}`;

// One step of a template may read all of a value: each of these would run for hours, or fill the memory, if it
// counted as one.
test.each([
  [`${twice("")}{{ ns.a }}`, "too large to be written"],
  [`${twice("")}{{ ns.a|join }}`, "instruction limit"],
  [`${twice("{% set ns.b = [ns.b, ns.b] %}")}{{ ns.a == ns.b }}`, "instruction limit"],
  [`${twice("{% set ns.b = [ns.b, ns.b] %}")}{{ ns.a in [ns.b] }}`, "instruction limit"],
  [`${twice("")}{{ '%s' % [ns.a] }}`, "instruction limit"],
  ["{{ ('%(a)9999d' * 40000) % {'a': 1} }}", "memory limit"],
  ["{{ ('{0:9999}' * 40000).format(1) }}", "memory limit"],
  ["{{ ('\n' * 100000)|indent('x' * 100000, true, true) }}", "memory limit"],
  ["{{ ('a ' * 100000)|wordwrap(1, true, 'x' * 100000) }}", "memory limit"],
  ["{{ range(1000000)|join('x' * 1000) }}", "memory limit"],
  ["{{ ('x' * 1000).join('y' * 1000000) }}", "memory limit"],
  ["{{ [1]|batch(100000000, 'x') }}", "memory limit"],
  ["{{ [1]|slice(100000000) }}", "memory limit"],
  ["{{ ('\t' * 10000000).expandtabs(1000) }}", "memory limit"],
  [
    "{% set ns = namespace(t=(1, 2)) %}{% for i in range(40) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
    "memory limit",
  ],
  ...[
    "-1 in l",
    "l.count(-1)",
    "l.reverse()",
    "l|max",
    "s[5]",
    "s.upper()",
    "s|upper",
    "s.find('b')",
    "'b' in s",
    "s < t",
  ].map((each) => [
    `{% set l = range(10000)|list %}{% set s = 'a' * 100000 %}{% set t = 'a' * 100000 ~ 'b' %}{% for i in range(100000) %}{% set x = ${each} %}{% endfor %}`,
    "instruction limit",
  ]),
])("%s ends at a limit as well", (text = "", expected = "") => {
  expect(failure(text, { budget: small() }).message).toContain(expected);
});

test.each(["{{ '%c' % -1 }}", "{{ '{:c}'.format(99999999999) }}"])("%s is not a character", (text) => {
  expect(failure(text).message).toContain("%c requires a character");
});

// Python would follow the change, and never end.
test("a loop goes over what its list was before", () => {
  expect(render("{% set l = [1, 2] %}{% for x in l %}{% do l.append(x) %}{% endfor %}{{ l }}")).toBe(
    "[1, 2, 1, 2]",
  );
});

test("what is not defined is empty where that is wanted", () => {
  const lenient = (text: string) => render(text, { isLenient: true });
  expect(
    lenient("[{{ nope }}{% for x in nope %}x{% endfor %}{{ 'y' if nope else 'n' }}{{ nope|length }}]"),
  ).toBe("[n0]");
  expect(() => lenient("{{ nope.more }}")).toThrow("undefined: nope");
});

test("lists and maps stay as they were made where that is wanted", () => {
  const fixed = (text: string) => render(text, { isFixed: true });
  const ways = [
    "l.append(1)",
    "l['app' ~ 'end'](1)",
    "(l|attr('append'))(1)",
    "d.update(a=2)",
    "d.setdefault('b', 1)",
    "d.pop('a')",
  ];
  for (const way of ways) {
    const text = `{% set l = [] %}{% set d = {'a': 1} %}{% do ${way} %}`;
    expect(() => fixed(text)).toThrow("lists and maps cannot be changed here");
    expect(render(text)).toBe("");
  }
  expect(fixed("{% set d = {'update': 1} %}{{ d.update }}{{ d.get('update') }}")).toBe("11");
});

test("text without tags is as it was, and no text does more than fail", () => {
  const plain = fc.string({ unit: "binary" }).filter((text) => !/\{[{%#]/.test(text));
  // As Jinja reads it: with line feeds alone, and without the one at the end.
  const read = (text: string) => text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  fc.assert(fc.property(plain, (text) => render(text) === read(text)));
  const word = fc.constantFrom(
    ..."{{ }} {% %} {# #} {%- -%} if else elif endif for in endfor set endset macro endmacro call endcall filter do a b user".split(
      " ",
    ),
    ..."( ) [ ] { } , . : | = == ~ + - * / // ** < > 'x' \" 1 2.5 not and or none is true import include from as with context".split(
      " ",
    ),
  );
  const anything = fc.array(word, { maxLength: 30 }).map((words) => words.join(" "));
  fc.assert(
    fc.property(anything, (text) => {
      try {
        render(text);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(JinjaError);
      }
    }),
    { numRuns: 3_000 },
  );
});
