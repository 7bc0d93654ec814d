import { expect, test } from "bun:test";
import fc from "fast-check";
import { keysOf, treeOf } from "../../../test/harness/settings-tree.ts";
import type { Facts } from "../../host/facts/mod.ts";
import { createCompilers } from "./compile.ts";

const all = "base:\n  '*': [a]\n";
const secret = { "secret.sls": "secret: s3cret\n" };
const compilers = createCompilers();
const compile = async (a: string, facts: Facts, more: Record<string, string> = {}) => {
  const uses = new Set<string>();
  const tree = treeOf({ "top.sls": all, "a.sls": a, ...secret, ...more });
  const { settings } = await compilers(tree).compile({ peelId: "web-1_example_com", facts }, uses);
  return { settings: settings as Record<string, unknown>, uses: [...uses].sort() };
};
const outcome = (a: string, facts: Facts, more: Record<string, string> = {}) =>
  compile(a, facts, more).then(
    ({ settings }) => settings,
    (thrown: Error) => thrown.message,
  );

const attack = "hi\ninclude:\n  - secret";

test("a fact with line ends and an include is a text at its place", async () => {
  const { settings, uses } = await compile("motd: {{ facts.motd }}\n", { motd: attack });
  expect(settings).toEqual({ motd: attack });
  expect(uses).not.toContain("secret.sls");
});

test.each<[string, string, unknown]>([
  ["plain", "x: {{ facts.v }}", attack],
  ["in double quotes", 'x: "{{ facts.v }}"', attack],
  ["in single quotes", "x: '{{ facts.v }}'", attack],
  ["in a block", "x: |-\n  {{ facts.v }}", attack],
  ["in an indented block", "x: |-\n  {{ facts.v | indent(2) }}", attack],
  ["in a flow list", "x: [a, {{ facts.v }}]", ["a", attack]],
  ["in a flow map", "x: {a: {{ facts.v }}}", { a: attack }],
  ["in a text", "x: /srv/{{ facts.v }}/y", `/srv/${attack}/y`],
  ["by another name", "{% set v = facts.v %}x: {{ v }}", attack],
  ["from a lookup", "x: {{ salt['grains.get']('v') }}", attack],
  ["from a lookup with a default", "x: {{ facts.get('v', 'none') }}", attack],
  ["by a serializer", "x: {{ facts.v | tojson }}", attack],
  ["by a serializer in block style", "x: {{ facts.v | yaml(False) }}", attack],
  ["by yaml_squote", "x: {{ facts.one | yaml_squote }}", "a: [b"],
  ["from a macro", "{% macro m(a) %}{{ a }}{% endmacro %}x: {{ m(facts.v) }}", attack],
  ["from a block", "{% set b %}x: {{ facts.v }}{% endset %}{{ b }}", attack],
  ["from a loop", "x:\n{% for v in facts.list %}  - {{ v }}\n{% endfor %}", [attack, "b"]],
  ["through a namespace", "{% set n = namespace(a=1) %}{% set n.a = facts.v %}x: {{ n.a }}", attack],
  ["in a conditional expression", "x: {{ facts.v if true else 'b' }}", attack],
  ["changed by a filter", "x: {{ facts.v | upper }}", attack.toUpperCase()],
  ["a map by a serializer", "x: {{ facts.map | tojson }}", '{"include":["secret"]}'],
  ["a map in block style", "x: {{ facts.map | yaml(False) | indent(2) }}", '{"include":["secret"]}'],
  ["a list of maps", "x: {{ [facts.map, 1] | tojson }}", ['{"include":["secret"]}', 1]],
  [
    "from a neighbor of a loop",
    "{% for v in facts.list %}x{{ loop.index }}: {{ loop.previtem if loop.previtem is defined else 1 }}\n{% endfor %}x: 1",
    1,
  ],
])("a fact %s stays a value", async (_, text, expected) => {
  const facts = { v: attack, one: "a: [b", list: [attack, "b"], map: { include: ["secret"] } };
  const { settings, uses } = await compile(`${text}\n`, facts);
  expect(settings.x).toEqual(expected);
  expect(uses).not.toContain("secret.sls");
});

test.each<[string, string, string]>([
  ["a key", "{{ facts.v }}: 1", "a.sls (rendered):1: the name of a setting may not depend on facts"],
  [
    "a part of a key",
    "role_{{ facts.v }}: 1",
    "a.sls (rendered):1: the name of a setting may not depend on facts",
  ],
  ["a nested key", "x:\n  {{ facts.v | tojson }}: 1", "the name of a setting may not depend on facts"],
  ["a key from a loop", "{% for k in facts.map %}{{ k }}: 1\n{% endfor %}", "the name of a setting may not"],
  ["a key by another name", "{% set k = facts.v ~ '' %}{{ k }}: 1", "the name of a setting may not"],
  [
    "a key from a macro",
    "{% macro m(k) %}{{ k }}: 1{% endmacro %}{{ m(facts.v) }}",
    "the name of a setting may not",
  ],
  [
    "an include",
    "include:\n  - {{ facts.v }}",
    "a.sls (rendered):2: include: the name of a file may not depend on facts",
  ],
  ["a part of an include", "include: [role.{{ facts.v }}]", "include: the name of a file may not depend"],
  [
    "all includes",
    "include: {{ facts.list | tojson }}",
    "include: the name of a file may not depend on facts",
  ],
  ["all of a file", "{{ facts.map | tojson }}", "expected a map of settings, found a fact"],
  [
    "a template",
    "{% include facts.v ~ '.sls' %}",
    "a.sls:1: include: the name of a file may not depend on facts",
  ],
  ["an import", "{% from facts.v import x %}", "a.sls:1: from: the name of a file may not depend on facts"],
  [
    "a filter block",
    "x: {% filter upper %}{{ facts.v }}{% endfilter %}",
    "a.sls:1: filter blocks are not supported",
  ],
  [
    "another meaning of facts",
    "{% for facts in [grains.map] %}{{ facts.include[0] }}: 1{% endfor %}",
    "the name of a setting may not depend on facts",
  ],
  [
    "text of a macro that is compared",
    "{% macro m() %}{{ facts.v }}{% endmacro %}{% if m() == 'a' %}x: 1{% endif %}",
    "a.sls:1: a condition uses text that contains facts",
  ],
])("%s is refused", async (_, text, expected) => {
  const facts = { v: "secret", list: ["secret"], map: { include: ["secret"] } };
  expect(await outcome(text, facts)).toContain(expected);
});

test("what the top file assigns may not be text of a fact, but may be chosen by one", async () => {
  const top = (text: string) => ({ "top.sls": text });
  const refused = "top.sls (rendered):2: what a top file assigns may not depend on facts";
  expect(await outcome("x: 1", { v: "secret" }, top("base:\n  '*': [{{ facts.v }}]"))).toStartWith(refused);
  expect(await outcome("x: 1", { v: "*" }, top("base:\n  '{{ facts.v }}': [secret]"))).toStartWith(refused);
  const chosen = "base:\n  '*':\n    - {{ 'secret' if facts.v == 'db' else 'a' }}\n";
  expect(await outcome("x: 1", { v: "db" }, top(chosen))).toEqual({ secret: "s3cret" });
  expect(await outcome("x: 1", { v: "*" }, top(chosen))).toEqual({ x: 1 });
});

test("what depends on no fact is structure, as ever", async () => {
  const macro = "{% macro user(name, groups) %}{{ name }}:\n  groups: {{ groups | tojson }}\n{% endmacro %}";
  expect(await outcome(`${macro}{{ user('ann', ['a']) }}\n{{ user('bob', groups=[]) }}`, {})).toEqual({
    ann: { groups: ["a"] },
    bob: { groups: [] },
  });
  const files = {
    "users.jinja":
      "{% set users = {'ann': 1, 'bob': 2} %}{% macro show(k, v) %}{{ k }}: {{ v }}{% endmacro %}",
    "hosts/web-1.sls": "of: host",
  };
  const loop =
    "{% from 'users.jinja' import users, show %}{% for k, v in users | dictsort %}{{ show(k, v) }}\n{% endfor %}";
  expect(await outcome(loop, {}, files)).toEqual({ ann: 1, bob: 2 });
  const module = "{% import 'users.jinja' as u %}{% for k in u.users %}{{ k }}: 1\n{% endfor %}";
  expect(await outcome(module, {}, files)).toEqual({ ann: 1, bob: 1 });
  for (const id of ["id", "grains.id", "facts['id']", "salt['grains.get']('id')"]) {
    const text = `include: [hosts.{{ ${id}.split('.')[0] }}]\n{{ ${id} | replace('.', '_') }}: 1`;
    expect(await outcome(text, { id: "db-1" }, files)).toEqual({ of: "host", "web-1_example_com": 1 });
  }
});

test("a value that a fact chooses keeps its type, and so does a fact", async () => {
  const text = [
    "a: {{ 80 if facts.os == 'Debian' else 443 }}",
    "b: {{ {'Debian': 'apache2'}[facts.os] }}",
    "c: {{ facts.mem }}",
    "d: {{ facts.up }}",
    "e: '{{ facts.mem }}'",
    "f: {{ facts.mem * 2 }}",
    "g: {{ facts.empty }}",
    "h: {{ facts.release }}",
    "{% if facts.os == 'Debian' %}i: {{ facts.os | lower }}{% endif %}",
  ];
  const facts = { os: "Debian", mem: 512, up: true, empty: "", release: "12.10" };
  const expected = { a: 80, b: "apache2", c: 512, d: true, e: "512", f: 1024, g: null, h: 12.1, i: "debian" };
  expect(await outcome(text.join("\n"), facts)).toEqual(expected);
});

test("nothing in a raw block or a comment is a tag, and strings do not end one", async () => {
  const text = "a: '{% raw %}{{ facts.v }}{% endraw %}'\n{# {{ facts.v }} #}b: {{ '}}' ~ facts.v }}\n";
  expect(await outcome(text, { v: "\ninclude: [secret]" })).toEqual({
    a: "{{ facts.v }}",
    b: "}}\ninclude: [secret]",
  });
});

const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\n",
      "\ninclude:\n  - secret\n",
      "\n---\n",
      "\n...\n",
      "include: [secret]",
      "\r\n",
      "\t",
    ),
    fc.constantFrom(
      ": ",
      ":",
      "- ",
      "? ",
      "&a ",
      "*a",
      "!!map ",
      "!x ",
      "<<: *a",
      "{",
      "}",
      "[",
      "]",
      ",",
      "#",
      " #",
    ),
    fc.constantFrom(
      '"',
      "'",
      "|",
      ">",
      "%YAML 1.2",
      "{{ id }}",
      "{% raw %}",
      "{%",
      "%}",
      "}}",
      "{#",
      "\\",
      "\\n",
    ),
    fc.constantFrom(
      "\ue000",
      "\ue001",
      "\ue010",
      "\u2028",
      "\u0085",
      "\ufeff",
      "\u0000",
      "secret",
      "~",
      "true",
      "0x1",
    ),
    // What YAML 1.1 reads in its own way, and its other tags and indicators.
    fc.constantFrom(
      ...["yes", "No", "on", "OFF", "=", "1:20", "0o7", "1_000", ".inf", ".NaN", "null", "2001-01-01", "1e3"],
      ...["!!python/object:x", "!!binary aGk=", "!!set", "!!merge", "!<tag:yaml.org,2002:map>", "!"],
      ...[
        "@",
        "`",
        "%TAG ! tag:x,2000:",
        "--- ",
        "|2-\n  ",
        ">+\n",
        "{# #}",
        "{%- raw -%}",
        "{%- include x %}",
      ],
    ),
    fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
    fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
  ),
  maxLength: 8,
});
const places = [
  "p: {{ facts.v }}",
  'p: "{{ facts.v }}"',
  "p: '{{ facts.v }}'",
  "p: |\n  {{ facts.v }}\n  more",
  "p: >-\n  {{ facts.v }}",
  "p: [1, {{ facts.v }}, {a: {{ facts.v }}}]",
  "p: {a: {{ facts.v }}, b: 2}",
  "p: x{{ facts.v }}y",
  "p: {{ facts.v }}{{ facts.v }}",
  "p:\n  - {{ facts.v }}\n  - q: {{ facts.v }}",
  "p: {{ facts.v | tojson }}",
  "p: {{ facts.v | yaml }}",
  "p: {{ facts.v | yaml_encode }}",
  "p: {{ facts.v | yaml_dquote }}",
  "p: {{ facts.v | yaml_squote }}",
  "p: {{ facts.v | yaml(False) | indent(2) }}",
  "{% macro m(a) %}{{ a }}{% endmacro %}p: {{ m(facts.v) }}",
  "{% set b %}{{ facts.v }}{% endset %}p: {{ b }}",
  "p: {{ facts.get('v') ~ '!' }}",
  "p:\n{% for v in facts.list %}  - {{ v }}\n{% endfor %}",
  "p: &x {{ facts.v }}\nr: *x",
  "p: 1 # {{ facts.v }}",
];
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return "value";
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item)]));
};

test("no value of a fact changes the files, the keys or the shape of the settings, at any place", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), nasty, async (place, v) => {
      const text = `before: 1\n${place}\nafter: {x: 2}\n`;
      const calm = await compile(text, { v: "calm", list: ["calm", "calm"] });
      const reported = await compile(text, { v, list: [v, v] });
      expect(reported.uses).toEqual(calm.uses);
      expect(shapeOf(reported.settings)).toEqual(shapeOf(calm.settings));
      expect(reported.settings).toMatchObject({ before: 1, after: { x: 2 } });
    }),
    { numRuns: 300 },
  );
}, 60_000);

test("no fact of any kind changes the names of the settings, with or without a serializer", async () => {
  const ways = [
    "",
    " | tojson",
    " | yaml",
    " | yaml(False) | indent(2)",
    " | json",
    " | list | tojson",
    " | string",
  ];
  const before = { "before.sls": "p: {known: 1}\nlist: [1]\n" };
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...ways), fc.jsonValue(), nasty, async (way, v, key) => {
      const text = `include: [before]\np: {{ facts.v${way} }}\nlist: [{{ facts.v${way} }}, {x: 1}]\n`;
      const reported = await outcome(
        text,
        { v: { [key]: v, known: 2, include: ["secret"] } } as Facts,
        before,
      );
      if (typeof reported === "string") return expect(reported).toStartWith("a.sls");
      expect(keysOf(reported)).toEqual({ p: "value", list: ["value", { x: "value" }] });
      const plain = await outcome(text, { v } as Facts, before);
      if (typeof plain !== "string") expect(keysOf(plain)).toEqual(keysOf(reported));
    }),
    { numRuns: 300 },
  );
}, 60_000);

/** Filters by name, with arguments that are facts where they take some. */
const filters = `load_yaml load_json load_text yaml_encode yaml_dquote yaml_squote quote python to_bool to_num
  md5 sha256 hmac_compute('x') base64_encode base64_decode to_snake_case to_camelcase to_bytes regex_escape is_hex
  regex_search('(.*)') regex_match('(.*)') regex_replace('^',facts.v) regex_replace('x',facts.v) path_join(facts.v)
  is_ip ipaddr ip_host ipwrap human_to_bytes traverse(facts.v) union(facts.list) difference(facts.list)
  symmetric_difference(facts.list) flatten unique|list sequence zip_longest(facts.list)|list product(facts.list)|list
  compare_lists(facts.list) compare_dicts(facts.map) combine_dicts(facts.map) set_dict_key_value('a:b',facts.v)
  append_dict_key_value('a',facts.v) update_dict_key_value('a',facts.map) dict_to_sls_yaml_params xmlattr
  format(facts.v) replace('a',facts.v) join(facts.v) center(40) indent(2) wordwrap(3) truncate(5) urlencode
  striptags title capitalize upper reverse trim batch(2)|list slice(2)|list groupby(0)|list map('upper')|list
  dictsort items|list default(facts.v,true) pprint string load_yaml|yaml load_json|tojson yaml(False)`.split(
  /\s+/,
);

test("no filter makes structure of a fact, whatever it is used on", async () => {
  const facts = fc.record({
    v: nasty,
    list: fc.array(nasty, { maxLength: 3 }),
    map: fc.dictionary(nasty, nasty),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...filters),
      fc.constantFrom("v", "list", "map"),
      facts,
      async (filter, of, values) => {
        const text = `before: 1\np: {{ facts.${of} | ${filter} }}\nafter: {x: 2}\n`;
        const reported = await compile(text, values).catch((thrown: Error) => thrown.message);
        if (typeof reported === "string") return expect(reported).toStartWith("a.sls");
        expect(keysOf(reported.settings)).toEqual({ before: "value", p: "value", after: { x: "value" } });
        expect(reported.uses).not.toContain("secret.sls");
      },
    ),
    { numRuns: 300 },
  );
}, 60_000);

test.each<[string, Record<string, string>, string]>([
  [
    "G@ in the top file",
    { "top.sls": "base:\n  'G@os:Debian': [a]\n" },
    'top.sls:2: "G@os:Debian": the target uses facts',
  ],
  [
    "P@ in a node group",
    { "top.sls": "base:\n  N@deb: [a]\n", "nodegroups.yaml": "deb: P@os:D.*\n" },
    "top.sls:2:",
  ],
  [
    "a condition",
    { "a.sls": "y: 1\n{% if facts.os %}x: 1{% endif %}" },
    "a.sls:2: a condition uses facts, which settings.strict_facts refuses",
  ],
  [
    "a conditional expression",
    { "a.sls": "x: {{ 1 if facts.os == 'Debian' else 2 }}" },
    "a.sls:1: a condition uses facts",
  ],
  ["a subscript", { "a.sls": "x: {{ {'Debian': 1}[facts.os] }}" }, "a.sls:1: a condition uses facts"],
  ["a loop", { "a.sls": "x:\n{% for v in facts.list %}  - 1\n{% endfor %}" }, "a.sls:2: a loop uses facts"],
  [
    "a function that chooses",
    { "a.sls": "x: {{ salt['grains.filter_by']({'Debian': 1, 'default': 2}, grain='os') }}" },
    "a.sls:1: a function that looks at facts chooses",
  ],
  [
    "a function that chooses, by another name",
    { "a.sls": "{% set f = salt['grains' ~ '.filter_by'] %}\nx: {{ f({'default': 2}) }}" },
    "a.sls:1: a function that looks at facts chooses",
  ],
  [
    "a function that chooses, in dots",
    { "a.sls": "x: {{ salt.match.glob('web-*') }}" },
    "a.sls:1: a function that looks at facts chooses",
  ],
  [
    "a condition in a top file",
    { "top.sls": "base:\n  '*':\n{% if grains.os == 'Debian' %}    - a\n{% endif %}" },
    "top.sls:3: a condition uses facts",
  ],
])("strict facts: %s is refused, and accepted without", async (_, files, expected) => {
  const texts = { "top.sls": all, "a.sls": "x: 1\n", ...files };
  const facts = { os: "Debian", list: ["a"] };
  const run = (strictFacts: boolean) =>
    createCompilers({ strictFacts })(treeOf(texts)).compile({ peelId: "web-1", facts }, new Set());
  await expect(run(true)).rejects.toThrow(expected);
  expect((await run(false)).settings).toHaveProperty("x");
});

test("strict facts: values of facts and conditions on the id are accepted", async () => {
  const texts = { "top.sls": all, "a.sls": "os: {{ facts.os }}\n{% if id == 'web-1' %}x: 1{% endif %}\n" };
  const compiler = createCompilers({ strictFacts: true })(treeOf(texts));
  const { settings } = await compiler.compile({ peelId: "web-1", facts: { os: "Debian" } }, new Set());
  expect(settings).toEqual({ os: "Debian", x: 1 });
});

test("strict facts: functions of salt[…] that choose nothing are accepted", async () => {
  const text =
    "os: {{ salt['grains.get']('os') }}\nm: {{ salt['slsutil.merge']({'a': 1}, {'b': 2})|yaml }}\n";
  const compiler = createCompilers({ strictFacts: true })(treeOf({ "top.sls": all, "a.sls": text }));
  const { settings } = await compiler.compile({ peelId: "web-1", facts: { os: "Debian" } }, new Set());
  expect(settings).toMatchObject({ os: "Debian" });
});

test.each([
  "{{ salt['grains.filter_by']({'default': facts.evil}) }}",
  "{{ salt['slsutil.merge']({'a': facts.evil}, {}).a }}",
  "{{ salt['config.get']('evil') }}",
  "{{ salt['file.basename'](facts.evil) }}",
  "{{ facts.evil|regex_replace('q', 'r') }}",
  "{{ facts.evil|traverse('x', facts.evil) }}",
  "{{ ('a: b'|load_yaml).get('x', facts.evil) }}",
])("a fact that goes through %s stays one value", async (expression) => {
  const evil = "1\ninclude: [b]\ny: &a {z: 1}";
  const texts = { "top.sls": all, "a.sls": `x: ${expression}\n`, "b.sls": "stolen: true\n" };
  const compiler = createCompilers()(treeOf(texts));
  const { settings } = await compiler.compile({ peelId: "web-1", facts: { evil } }, new Set());
  expect(settings).toEqual({ x: evil });
});

test.each([
  ["x: {{ salt['slsutil.renderer'](string=facts.evil) }}", "does not exist in templates"],
  ["x: {{ salt['cmd.run']('id') }}", "does not exist in templates"],
  ["x: {{ salt['user.info']('root') }}", "does not exist in templates"],
  ["{% do {}.update({'a': facts.evil}) %}x: 1", "cannot be changed here"],
])("in settings, %j is refused", async (text, message) => {
  const compiler = createCompilers()(treeOf({ "top.sls": all, "a.sls": `${text}\n` }));
  const compiled = compiler.compile({ peelId: "web-1", facts: { evil: "1" } }, new Set());
  await expect(compiled).rejects.toThrow(message);
});
