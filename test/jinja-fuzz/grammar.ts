import fc from "fast-check";
import {
  braces,
  comparisons,
  formats,
  last,
  listFilters,
  listMethods,
  lists,
  mapFilters,
  mapMethods,
  maps,
  missing,
  numberFilters,
  numbers,
  others,
  tests,
  textFilters,
  textMethods,
  texts,
} from "./words.ts";

// Templates of the whole language, most of which render: parts fit together by the kind of their values more often
// than not. What Jinja marks as safe text stands at the end of an output alone, because templates here have no such
// texts.

/** Variables of every template. */
export const context = {
  ...{ s: "Hello, World", e: "", u: "  pad é ß \n", csv: "a,b;c d,,e", path: "/etc/web/site.conf" },
  ...{ n: 7, neg: -3, f: 2.5, g: 42.55, z: 0, t: true, no: null },
  ...{
    l: [3, 1, 2],
    ll: [
      [1, "a"],
      [2, "b"],
    ],
    w: ["b", "A", "c", "a"],
    m: [1, "a", null, 2.5],
  },
  d: { b: 2, a: 1, c: { x: "y" } },
  ds: [
    { n: "x", v: 3 },
    { n: "Y", v: 1 },
    { n: "x", v: 2 },
  ],
};

/** Templates that others include and import. */
export const files: Readonly<Record<string, string>> = {
  "inc.j2": "[{{ n }}{{ v|default('-') }}]\n",
  "mac.j2": "{% macro sum(a, b=2) %}{{ a }}+{{ b }}{% endmacro %}{% set v = 'V' %}\n",
  "data.yaml": "a: 1\nb: [yes, 0644, 1.5]\n",
  "data.json": '{"a": [1, null, 2.0]}\n',
  "base.j2": "<{% block head %}h{% endblock %}|{% block body %}{{ n }}{% endblock %}>\n",
};

type Kind = "text" | "number" | "list" | "map" | "any";
type Source = fc.Arbitrary<string>;

export const pick = (...items: readonly string[]): Source => fc.constantFrom(...items);
export const joined = (...parts: readonly (string | Source)[]): Source =>
  fc
    .tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(part) : part)))
    .map((all) => all.join(""));

const atoms: Readonly<Record<Kind, Source>> = {
  text: pick(...texts),
  number: pick(...numbers),
  list: pick(...lists),
  map: pick(...maps),
  any: fc.oneof(
    { arbitrary: pick(...texts), weight: 8 },
    { arbitrary: pick(...numbers), weight: 8 },
    { arbitrary: pick(...lists), weight: 8 },
    { arbitrary: pick(...maps), weight: 6 },
    { arbitrary: pick(...others), weight: 6 },
    { arbitrary: pick(...missing), weight: 1 },
  ),
};

/** An expression, whose value is mostly of this kind. */
function expression(kind: Kind, depth: number): Source {
  if (depth <= 0) return atoms[kind];
  const inner = (wanted: Kind) => expression(wanted, depth - 1);
  const bracketed = (wanted: Kind) => joined("(", inner(wanted), ")");
  const filtered = (wanted: Kind, names: readonly string[]) => joined(bracketed(wanted), "|", pick(...names));
  const called = (wanted: Kind, names: readonly string[]) => joined(bracketed(wanted), ".", pick(...names));
  const sliced = (wanted: Kind, ...parts: string[]) => joined(bracketed(wanted), pick(...parts));
  const ways: Readonly<Record<Kind, Source[]>> = {
    text: [
      filtered("text", textFilters),
      called("text", textMethods),
      joined(pick(...formats), " % ", bracketed("number")),
      joined(pick(...braces), ".format(", inner("number"), ")"),
      joined(bracketed("any"), " ~ ", bracketed("any")),
      sliced("text", "[0]", "[-1]", "[1:4]", "[::-1]", "[:-2]"),
      filtered("list", ["join", "join(', ')", "join(attribute='n')", "string", "pprint"]),
    ],
    number: [
      filtered("number", numberFilters),
      joined(bracketed("number"), pick(" + ", " - ", " * ", " / ", " // ", " % "), bracketed("number")),
      filtered("list", ["length", "count"]),
      joined("-", bracketed("number")),
      filtered("text", ["int", "float", "length", "wordcount", "int(3)", "int(base=16)"]),
    ],
    list: [
      filtered("list", listFilters),
      called("text", ["split()", "split(',')", "rsplit(',', 1)", "splitlines()", "partition('/')"]),
      called("map", ["items()|list", "keys()|list", "values()|list"]),
      sliced("list", "[1:]", "[::2]", "[::-1]", "[:-1]"),
      joined("[", inner("any"), ", ", inner("any"), "]"),
      joined(bracketed("list"), " + ", bracketed("list")),
      joined(bracketed("list"), " * ", pick("0", "2", "-1", "true")),
    ],
    map: [
      filtered("map", mapFilters),
      called("map", mapMethods),
      joined("{'q': ", inner("any"), ", 'r': ", inner("any"), "}"),
      joined("dict(a=", inner("any"), ")"),
    ],
    any: [
      ...(["text", "number", "list", "map"] as const).map(inner),
      joined(bracketed("any"), pick(" is ", " is not "), pick(...tests)),
      joined(bracketed("any"), pick(" == ", " != ", " in ", " not in "), bracketed("any")),
      joined(bracketed("number"), " ", pick(...comparisons), " ", bracketed("number")),
      joined(bracketed("list"), " ", pick(...comparisons), " ", bracketed("list")),
      joined(bracketed("any"), pick(" and ", " or "), bracketed("any")),
      joined("not ", bracketed("any")),
      joined(inner("any"), " if ", bracketed("any"), " else ", inner("any")),
      // What does not fit together.
      filtered("any", [...textFilters, ...numberFilters, ...listFilters, ...mapFilters]),
      joined(pick(...formats), " % ", bracketed("any")),
      joined(pick(...braces), ".format(", inner("any"), ")"),
      joined(bracketed("any"), pick(" + ", " * ", " - ", " % "), bracketed("any")),
      sliced("any", "[0]", "[-1]", "[99]", "['a']", ".a", "['c'].x", ".items", "[1]"),
      called("list", listMethods),
    ],
  };
  return fc.oneof(atoms[kind], ...ways[kind]);
}

export const value = expression("any", 2);
const output = joined("{{ (", value, ")", pick(...last), " }}");
const open = pick("{%", "{%-", "{%+", "{% ");
const close = pick(" %}", " -%}", " +%}", "\n%}");
const tag = (...words: readonly (string | Source)[]) => joined(open, " ", ...words, close);
const plain = pick(
  "",
  " ",
  "\n",
  "text",
  "\n  x\n",
  "{# note #}",
  "{#- note -#}\n",
  "{% raw %}{{ r }}{% endraw %}",
  "a\n\n",
);
const body = fc.oneof(
  { arbitrary: output, weight: 3 },
  { arbitrary: plain, weight: 1 },
  {
    arbitrary: joined(plain, output, plain),
    weight: 2,
  },
);
const over = fc.oneof(expression("list", 1), expression("map", 0), expression("text", 0));

const statements: Source[] = [
  joined(tag("set v = ", value), "{% if v %}{{ v }}{% elif v is none %}N{% else %}F{% endif %}"),
  joined(tag("if ", value), body, tag("elif ", value), body, tag("else"), body, tag("endif")),
  joined(
    tag("for x in ", over),
    "{{ loop.index }}",
    pick(
      "",
      "{{ loop.last }}",
      "{{ loop.cycle('o', 'e') }}",
      "{{ loop.revindex0 }}",
      "{{ loop.changed(x) }}",
      "{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}",
    ),
    "{{ x }}",
    plain,
    tag("else"),
    body,
    tag("endfor"),
  ),
  joined(tag("for x in ", over, " if x"), "{{ loop.length }}{{ x }}", plain, tag("endfor")),
  joined(
    "{% for k, v in (",
    expression("map", 0),
    ").items() %}{{ k }}={{ v }}",
    pick("{% break %}", "{% if loop.first %}{% continue %}{% endif %};", ";"),
    "{% endfor %}",
  ),
  joined(
    "{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}<{{ loop(x) }}>{% else %}{{ x + ",
    atoms.number,
    " }}{{ loop.depth }}{% endif %}{% endfor %}",
  ),
  joined(
    "{% macro p(a, b=",
    value,
    ", c='c') %}<{{ a }}|{{ b }}|{{ c }}{{ varargs }}{{ kwargs }}>{% endmacro %}{{ p(",
    pick("1", "1, 2", "1, c=n", "b=1, a=s", "1, 2, 3, 4", "1, z=2", ""),
    ") }}",
  ),
  joined("{% macro q(a) %}{{ caller(a) }}{% endmacro %}{% call(y) q(", value, ") %}[{{ y }}]{% endcall %}"),
  joined(
    "{% set a = [1, 2] %}{% do a.",
    pick("append", "extend", "insert(0, 9) or a.append", "remove", "index", "count"),
    "(",
    value,
    ") %}{{ a }}",
  ),
  joined(
    "{% set h = {'a': 1} %}{% do h.update(",
    pick("b=2", "{'a': 3}", "d", "[('x', 1)]"),
    ") %}{% do h.pop('a') %}{{ h }}{{ h.setdefault('z', ",
    value,
    ") }}",
  ),
  joined(
    "{% set ns = namespace(i=0) %}{% for x in ",
    over,
    " %}{% set ns.i = ns.i + 1 %}{% set i = x %}{% endfor %}{{ ns.i }}{{ i|default('none') }}",
  ),
  joined("{% with a = ", value, ", b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a|default('out') }}"),
  joined(
    tag("filter ", pick("upper", "indent(2)", "trim", "replace('a', 'b')|title")),
    body,
    plain,
    tag("endfilter"),
  ),
  joined(tag("set w2", pick("", "|upper", "|trim|length")), body, tag("endset"), "[{{ w2 }}]"),
  joined("{% set a, b = ", pick("1, 2", "l[0:2]", "(n, s)", "'xy'", "[1]"), " %}{{ a }}{{ b }}"),
  joined(
    "{% set v = ",
    atoms.any,
    " %}{% include 'inc.j2' ",
    pick("", "with context", "without context", "ignore missing"),
    " %}",
    plain,
    body,
  ),
  joined("{% import 'mac.j2' as lib %}{{ lib.sum(", value, ") }}{{ lib.v }}{{ lib }}|"),
  joined("{% from 'mac.j2' import sum as plus, v %}{{ plus(1, b=", value, ") }}{{ v }}"),
  joined("{% block own scoped %}", body, "{% endblock %}{{ self.own() }}"),
];

const extending = joined("{% extends 'base.j2' %}{% block body %}", body, "{{ super() }}{% endblock %}");

/** A template. */
export const template: Source = fc.oneof(
  { arbitrary: extending, weight: 1 },
  { arbitrary: output, weight: 4 },
  { arbitrary: joined(body, ...[fc.oneof(...statements)], plain), weight: 5 },
  {
    arbitrary: joined(fc.oneof(...statements), fc.oneof(...statements), pick("", "\n", "\n\n", "\r\n")),
    weight: 2,
  },
);
