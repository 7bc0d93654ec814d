import { describe, expect, test } from "bun:test";
import type { Plain } from "../../base/msgpack.ts";
import { variablesOf } from "./file-variables.ts";
import { createTemplates } from "./render.ts";
import type { Scope } from "./scope.ts";

const files: Readonly<Record<string, string>> = {
  "web/defaults.yaml": "port: 80\nusers: {ann: {shell: /bin/sh}}\n",
  "web/map.jinja": "{% set name = 'web' %}",
  "parts/Debian.yaml": "pkg: apache2\nnested: {a: 1}\n",
  "data.yaml": "80: http\n443: https\nbase: &base {a: 1, b: 2}\nmore: {<<: *base, b: 3}\n",
  "who.sls": "who: {{ who|default('nobody') }} on {{ grains.os }}\n",
};
const scope: Scope = {
  facts: {
    id: "web-1.example.com",
    os: "Debian",
    os_family: "Debian",
    osfinger: "Debian-12",
    roles: ["web", "db"],
  },
  settings: {
    web: { port: 8080, tags: ["x", "y"], users: { bob: { uid: 7 } } },
    "a:b": 3,
    n: { "80": "eighty" },
  },
};
const renderer = createTemplates().renderer(
  async (path) => files[path],
  () => Object.keys(files),
);
const render = (text: string, more: Partial<Scope> = {}, variables: Record<string, Plain> = {}) =>
  renderer.render({ name: "t.sls", text }, { ...scope, ...more }, variables);

// What Salt 3007 writes.
describe("salt[…] gives what Salt gives:", () => {
  test.each([
    [
      "{{ salt['pillar.get']('web:port') }} {{ salt['pillar.get']('web:nothing', 5) }} {{ salt['pillar.get']('a:b') }}",
      "8080 5 3",
    ],
    ["{{ salt['pillar.get']('web:tags:1') }} {{ salt['pillar.get']('web/port', delimiter='/') }}", "y 8080"],
    ["{{ salt['pillar.get']('n:80') }} {{ salt['pillar.keys']('web') }}", "eighty ['port', 'tags', 'users']"],
    ["{{ salt['pillar.get']('web', {'port': 1, 'x': {'y': 2}}, merge=True).x.y }}", "2"],
    ["{{ salt['pillar.get']('web:tags', ['y', 'z'], merge=True) }}", "['y', 'z', 'x']"],
    [
      "{{ salt['grains.get']('roles:0') }} {{ salt.grains.get('none', 'd') }} {{ salt['grains.has_value']('os') }}",
      "web d True",
    ],
    ["{{ salt['grains.filter_by']({'Debian': {'p': 1}, 'default': {'p': 2}}).p }}", "1"],
    [
      "{{ salt['grains.filter_by']({'RedHat': 1, 'default': 2}) }} {{ salt['grains.filter_by']({'RedHat': 1}) }}",
      "2 None",
    ],
    [
      "{{ salt['grains.filter_by']({'Deb*-12': 'f'}, grain='osfinger') }} {{ salt['grains.filter_by']({'db': 1}, grain='roles') }}",
      "f 1",
    ],
    [
      "{{ salt['grains.filter_by']({'default': {'a': 1, 'm': {'x': 1}}, 'Debian': {'m': {'y': 2}}}, base='default', merge={'z': 3}) }}",
      "{'a': 1, 'm': {'x': 1, 'y': 2}, 'z': 3}",
    ],
    ["{{ salt['match.filter_by']({'G@os:Debian and web-*': 'w', 'default': 'd'}) }}", "w"],
    ["{{ salt['match.filter_by']({'db-*': 'w'}, tgt_type='glob', default='none') }}", "None"],
    [
      "{{ salt['match.compound']('G@os:Debian') }} {{ salt['match.glob']('db-*') }} {{ salt['match.list']('db-1.example.com,web-1.example.com') }}",
      "True False True",
    ],
    [
      "{{ salt['config.get']('os') }} {{ salt['config.get']('web:port') }} {{ salt['config.get']('id') }} {{ salt['config.get']('x', 'd') }}",
      "Debian 8080 web-1.example.com d",
    ],
    [
      "{{ salt['config.get']('os', omit_grains=True) }}|{{ salt['config.get']('web', merge='recurse').port }}",
      "|8080",
    ],
    [
      "{{ salt['slsutil.merge']({'a': {'b': [1]}}, {'a': {'b': [2], 'c': 3}}) }}",
      "{'a': {'b': [2], 'c': 3}}",
    ],
    ["{{ salt['slsutil.merge']({'b': [1, 2]}, {'b': [2, 3]}, merge_lists=True) }}", "{'b': [1, 2, 3]}"],
    ["{{ salt['slsutil.merge']({'a': [1]}, {'a': [2]}, strategy='aggregate') }}", "{'a': [2]}"],
    ["{{ salt['slsutil.merge']({'a': 1}, {'a': 2}, strategy='list') }}", "{'a': [1, 2]}"],
    ["{{ salt['slsutil.merge_all']([{'a': 1}, {'b': 2}, {'a': 3}]) }}", "{'a': 3, 'b': 2}"],
    [
      "{% set d = {'a': {'b': 1}} %}{% do salt['defaults.merge'](d, {'a': {'c': 2}}) %}{{ d }}",
      "{'a': {'b': 1, 'c': 2}}",
    ],
    [
      "{% set d = {'a': 1} %}{{ salt['defaults.merge'](d, {'b': 2}, in_place=False) }}{{ d }}",
      "{'a': 1, 'b': 2}{'a': 1}",
    ],
    [
      "{% set d = {'a': {'b': 1}} %}{% set e = salt['defaults.deepcopy'](d) %}{% do e.a.update({'b': 2}) %}{{ d }}",
      "{'a': {'b': 1}}",
    ],
    [
      "{{ salt['defaults.get']('web:port') }} {{ salt['defaults.get']('web:users:ann:shell') }} {{ salt['defaults.get']('web:users:bob:uid') }}",
      "80 /bin/sh ",
    ],
    [
      "{{ salt['file.basename']('/a/b.c') }} {{ salt['file.dirname']('/a/b') }} {{ salt['file.dirname']('a') }} {{ salt['file.join']('/a', 'b', 'c/') }} {{ salt['file.join']('a', '/b') }}",
      "b.c /a  /a/b/c/ /b",
    ],
    [
      "{% do salt['log.debug']('x') %}{% do salt.log.warning('y') %}{{ salt['mine.get']('*', 'x') }}{{ salt['test.ping']() }}",
      "{}True",
    ],
    ["{{ salt['slsutil.serialize']('json', {'b': 1, 'a': [none]}) }}", '{"b": 1, "a": [null]}'],
    [
      "{{ salt['slsutil.serialize']('yaml', {'b': 1, 'a': ['x']}, default_flow_style=False) }}",
      "a:\n- x\nb: 1",
    ],
    [
      "{{ salt['slsutil.deserialize']('json', '[1, {\"a\": 2}]')[1].a }} {{ salt['slsutil.renderer'](string='a: {{ 1 + 1 }}').a }}",
      "2 2",
    ],
    [
      "{{ salt['slsutil.renderer']('salt://who.sls', who='ann').who }} {{ salt['slsutil.renderer'](path='who.sls').who }}",
      "ann on Debian nobody on Debian",
    ],
    [
      "{{ salt['cp.get_file_str']('salt://web/map.jinja') }} {{ salt['cp.get_file_str']('salt://none') }}",
      "{% set name = 'web' %} False",
    ],
    [
      "{{ salt['cp.list_states']() }} {{ salt['slsutil.file_exists']('web/defaults.yaml') }} {{ salt['slsutil.dir_exists']('web') }}",
      "['who'] True True",
    ],
    [
      "{{ 'pillar.get' in salt }} {{ 'no.such' in salt }} {{ salt['no.such'] is defined }} {{ salt.get('no.such', 'd') }}",
      "True False False d",
    ],
    [
      "{{ opts.id }} {{ opts['__cli'] }} {{ opts.get('none', 'd') }} {{ odict([('a', 1)]).a }}",
      "web-1.example.com salt-minion d 1",
    ],
    ["{{ grains.saltversioninfo[0] >= 3000 }} {{ grains['pythonversion'][0] }}", "True 3"],
  ])("%s", async (text, expected) => {
    expect(await render(text)).toBe(expected);
  });
});

describe("filters and tests give what Salt gives:", () => {
  test.each([
    [
      "{{ {'a': {'b': [1, 2]}}|traverse('a:b:1') }} {{ {}|traverse('a', 'd') }} {{ [{'a': 5}]|traverse('a') }}",
      "2 d 5",
    ],
    [
      "{{ [1, 2]|union([2, 3]) }} {{ [1, 2, 3]|intersect([3, 2]) }} {{ [1, 2]|difference([2]) }} {{ [1, 2]|symmetric_difference([2, 3]) }}",
      "[1, 2, 3] [2, 3] [1] [1, 3]",
    ],
    [
      "{{ 'yes'|to_bool }} {{ 'no'|to_bool }} {{ 'True'|to_bool }} {{ 0|to_bool }} {{ none|to_bool }} {{ [1]|to_bool }}",
      "True False True False False True",
    ],
    [
      "{{ 'abcd'|regex_match('^(.*)BC(.*)$', ignorecase=True) }} {{ 'abcd'|regex_search('b(.)') }} {{ 'x'|regex_search('y') }}",
      "('a', 'd') ('c',) None",
    ],
    [
      "{{ 'a-b_c'|regex_replace('[-_]', '.') }} {{ 'yes'|regex_replace('(y)(e)', '\\\\2\\\\1') }}",
      "a.b.c eys",
    ],
    [
      "{{ ['ab', 'b']|select('match', 'a')|list }} {{ 'xay' is search('a') }} {{ 'xay' is match('a') }}",
      "['ab'] True False",
    ],
    [
      "{{ 'a'|md5 }} {{ 'a'|sha1 }}",
      "0cc175b9c0f1b6a831c399e269772661 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
    ],
    ["{{ 'Salt'|base64_encode }} {{ 'U2FsdA=='|base64_decode }}", "U2FsdA== Salt"],
    [
      "{{ '/a'|path_join('b', 'c') }} {{ [1, [2, [3, none]]]|flatten }} {{ [1, [2, [3]]]|flatten(levels=1) }}",
      "/a/b/c [1, 2, 3] [1, 2, [3]]",
    ],
    [
      "{{ [true, false, 1]|exactly_n_true(2) }} {{ [true]|exactly_one_true }} {{ 'a'|sequence }} {{ 'a'|is_list }} {{ {}|is_iter }}",
      "True True ['a'] False True",
    ],
    [
      "{{ [1, 2, 3]|avg }} {{ 'CamelCase'|to_snake_case }} {{ 'snake_case'|to_camelcase }} {{ '5'|to_num + 1 }}",
      "2.0 camel_case snakeCase 6",
    ],
    [
      "{{ '192.168.0.1'|is_ip }} {{ 'x'|is_ip }} {{ '::1'|is_ipv6 }} {{ ['10.0.0.1', 'x', '::1']|ipv4 }} {{ ['10.0.0.1', '8.8.8.8']|ipaddr('private') }}",
      "True False True ['10.0.0.1'] ['10.0.0.1']",
    ],
    [
      "{{ '192.168.0.0/30'|network_hosts }} {{ '192.168.0.0/30'|network_size }} {{ '::1'|ipwrap }}",
      "['192.168.0.1', '192.168.0.2'] 4 [::1]",
    ],
    [
      "{{ {'b': 1, 'a': none}|json }} {{ {'b': 'é<'}|tojson }} {{ {'a': 1}|json(indent=2) }}",
      '{"a": null, "b": 1} {"b": "\\u00e9\\u003c"} {\n  "a": 1\n}',
    ],
    [
      "{{ {'b': [1, 'yes'], 'a': 'x: y'}|yaml }} {{ 'on'|yaml }} {{ none|yaml }}",
      "{a: 'x: y', b: [1, 'yes']} 'on' null",
    ],
    ["{{ {'b': [1, 'yes'], 'a': {'c': []}}|yaml(False) }}", "a:\n  c: []\nb:\n- 1\n- 'yes'"],
    [
      "{{ ('{a: [1]}'|load_yaml).a[0] }} {{ ('[1]'|load_json)[0] }} {{ {'b': 1, 'a': 2}|dict_to_sls_yaml_params }}",
      "1 1 - b: 1\n- a: 2",
    ],
    [
      "{{ {'a': 1}|python }} {{ {'c': {'d': 1}}|set_dict_key_value('c:d', 2) }} {{ {}|append_dict_key_value('l', 1) }}",
      "{'a': 1} {'c': {'d': 2}} {'l': [1]}",
    ],
    [
      "{{ '4MiB'|human_to_bytes }} {{ '0xff'|is_hex }} {{ 'a b'|contains_whitespace }} {{ 'b'|substring_in_list(['abc']) }}",
      "4194304 True True True",
    ],
    ["{{ {'k': 'v'}|xmlattr }}", ' k="v"'],
    [
      "{% for s in ['1.1.1Y', '1.5k', '1iB', '2 MB', '.', '', '7'] %}{{ s|human_to_bytes }} {% endfor %}{{ '2MB'|human_to_bytes(handle_metric=true) }}",
      "0 1536 0 2097152 0 0 7 2000000",
    ],
  ])("%s", async (text, expected) => {
    expect(await render(text)).toBe(expected);
  });
});

test("TOML is written and read", async () => {
  const text = "{{ salt['slsutil.serialize']('toml', {'a': {'b': [1, 'x'], 'c': none}}) }}";
  const written = await render(text);
  expect(written.trim()).toBe('[a]\nb = [1, "x"]');
  expect(await render("{{ salt['slsutil.deserialize']('toml', '[a]\\nb = 1').a.b }}")).toBe("1");
  await expect(render("{{ salt['slsutil.serialize']('toml', [1]) }}")).rejects.toThrow(
    "a TOML document is a map",
  );
});

test("data keeps keys that are numbers, and merges maps", async () => {
  const text = "{% import_yaml 'data.yaml' as d %}{{ d[80] }} {{ d.keys()|list }} {{ d.more }}";
  expect(await render(text)).toBe("http [80, 443, 'base', 'more'] {'a': 1, 'b': 3}");
});

test("an include whose name is worked out is loaded, and one that does not exist is passed over", async () => {
  const text =
    "{% for os in ['Debian', 'Plan9'] %}{% load_yaml as part %}{% include 'parts/' ~ os ~ '.yaml' ignore missing %}{% endload %}{{ part }};{% endfor %}";
  expect(await render(text)).toBe("{'pkg': 'apache2', 'nested': {'a': 1}};None;");
});

test.each([
  [
    "\n  {{ salt['pilar.get']('x') }}",
    "t.sls:2: salt['pilar.get'] does not exist in templates (did you mean pillar.get?)",
  ],
  ["{{ salt['slsutil.merge'](1, 2) }}", "t.sls:1: cannot merge what is not a map"],
  ["{{ salt['slsutil.merge']({}, {}, strategy='x') }}", "unknown merging strategy"],
  ["{{ 'x'|regex_search('(') }}", "t.sls:1: regex_search: invalid regular expression: "],
  ["{{ '10.0.0.0/8'|network_hosts }}", "the network has more than 65536 hosts"],
  ["{{ salt['user.info']('root') }}", "salt['user.info'] does not exist in templates"],
  ["{{ salt['slsutil.deserialize']('yaml', 'a: [') }}", "the text is not YAML"],
  ["{{ salt['slsutil.renderer']('none.sls') }}", "the file none.sls does not exist"],
  ["{{ raise('my reason') }}", "t.sls:1: my reason"],
  [
    "{% for i in range(100000) %}{% do salt['slsutil.merge']({'a': range(10000)|list}, {'b': 1}) %}{% endfor %}",
    "limit",
  ],
])("%s fails", async (text, message) => {
  await expect(render(text)).rejects.toThrow(message);
});

test("in the mode of Salt, what is undefined is an empty text with a warning, and words are those of YAML 1.1", async () => {
  const reported: unknown[] = [];
  const more: Partial<Scope> = { compat: "salt", onUndefined: (name, place) => reported.push([name, place]) };
  const text =
    "a{{ nothing }}b\n{{ pillar.web.nothing }}{{ ('x: yes'|load_yaml).x }}{{ ('x: 0644'|load_yaml).x }}";
  expect(await render(text, more)).toBe("ab\nTrue644");
  expect(reported).toEqual([
    ["nothing", { file: "t.sls", line: 1 }],
    ["pillar.web.nothing", { file: "t.sls", line: 2 }],
  ]);
  await expect(render("{{ nothing.more }}", more)).rejects.toThrow("undefined: nothing");
  expect(await render("{{ ('x: yes'|load_yaml).x }}")).toBe("yes");
});

test("templates of settings change nothing, and read no text and no file", async () => {
  const held: Partial<Scope> = { isOfSettings: true };
  expect(await render("{% set d = {'a': 1} %}{{ salt['defaults.merge'](d, {'b': 2}) }}{{ d }}", held)).toBe(
    "{'a': 1, 'b': 2}{'a': 1}",
  );
  for (const text of [
    "{% do salt['slsutil.update']({}, {}) %}",
    "{{ salt['slsutil.renderer'](string='a: 1') }}",
    "{{ salt['cp.get_file_str']('data.yaml') }}",
    "{{ salt['cmd.run']('id') }}",
    "{{ salt['file.file_exists']('/etc/passwd') }}",
    "{{ 'sh'|which }}",
  ]) {
    await expect(render(text, held)).rejects.toThrow("t.sls:1: ");
  }
});

test("calls of the host are answered once each, and failures have their place", async () => {
  const calls: unknown[] = [];
  const host = {
    names: ["user.info", "cmd.run", "cmd.which"],
    refusal: (name: string) => (name === "cmd.run" ? "is not allowed here" : undefined),
    async call(call: { name: string; args: readonly Plain[]; named: object }) {
      calls.push([call.name, ...call.args, call.named]);
      return call.name === "cmd.which" ? "/bin/sh" : { uid: calls.length };
    },
  };
  const text =
    "{% for u in ['a', 'b', 'a'] %}{{ salt['user.info'](u).uid }}{{ salt.user.info(name=u).uid }} {% endfor %}{{ 'sh'|which }}";
  expect(await render(text, { host })).toBe("12 34 12 /bin/sh");
  expect(calls).toHaveLength(5);
  await expect(render("\n{{ salt['cmd.run']('id') }}", { host })).rejects.toThrow(
    "t.sls:2: salt['cmd.run'] is not allowed here",
  );
  await expect(
    render("{% for i in range(300) %}{{ salt['user.info'](i).uid }}{% endfor %}", { host }),
  ).rejects.toThrow("more than 200 calls of the host in one template");
});

describe("a template that is loaded without context", () => {
  const about = "{% set where = tplfile ~ ' in ' ~ tpldir ~ ' (' ~ tpldot ~ ')' %}";
  const tree: Readonly<Record<string, string>> = {
    "web/deep/map.jinja": about,
    "web/site/near.jinja": about,
  };
  const renderer = createTemplates().renderer(async (path) => tree[path]);
  const variables = variablesOf("web.site", "web/site/init.sls", "base");
  const from = (words: string, compat: "salt" | "strict") =>
    renderer.render(
      { name: "web/site/init.sls", text: `{% from ${words} %}{{ where }}|{{ tplfile }}` },
      { ...scope, compat },
      variables,
    );

  test.each([
    ["'web/deep/map.jinja' import where", "web/deep/map.jinja in web/deep (web.deep)"],
    ["'web/deep/map.jinja' import where without context", "web/deep/map.jinja in web/deep (web.deep)"],
    ["'web/deep/map.jinja' import where with context", "web/site/init.sls in web/site (web.site)"],
    ["'./near.jinja' import where", "./near.jinja in web/site (web.site)"],
  ])("has its own path, as in Salt: %s", async (words, expected) => {
    expect(await from(words, "salt")).toBe(`${expected}|web/site/init.sls`);
  });

  test("has the path of the state file in other trees, as before", async () => {
    expect(await from("'web/deep/map.jinja' import where", "strict")).toBe(
      "web/site/init.sls in web/site (web.site)|web/site/init.sls",
    );
  });
});

test("settings of formulas are not hidden behind facts that Salt does not have", async () => {
  const more = {
    facts: { ...scope.facts, timezone: "UTC", mounts: { "/": 1 } },
    settings: { timezone: { name: "Europe/Paris" } },
  };
  const text =
    "{{ salt['config.get']('timezone:name') }} {{ salt['config.get']('mounts:/') }} {{ grains.timezone }}";
  expect(await render(text, more)).toBe("Europe/Paris 1 UTC");
});
