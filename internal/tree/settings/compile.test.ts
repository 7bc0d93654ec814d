import { expect, test } from "bun:test";
import { compileTexts, treeOf } from "../../../test/harness/settings-tree.ts";
import { decode } from "../../base/msgpack.ts";
import { encodeSettings, type Settings, separate } from "../../wire/settings-envelope.ts";
import { createCompilers } from "./compile.ts";

const top = (text: string) => `base:\n${text}`;
const settingsOf = async (...args: Parameters<typeof compileTexts>) => (await compileTexts(...args)).settings;
const failure = (texts: Record<string, string>, facts = {}) =>
  compileTexts(texts, "web-1", facts).then(
    () => "nothing failed",
    (thrown: Error) => thrown.message,
  );

test("the files of all matching targets are merged in the order of the top file; later ones win", async () => {
  const files = {
    "top.sls": top("  'web-*': [web]\n  '*': [common]\n  'db-*': [db]\n"),
    "web.sls": "role: web\nport: 80\nusers: [a, b]\nnested: {x: 1, y: {z: 1}}\n",
    "common.sls": "role: any\nusers: [c]\nnested: {y: {w: null}}\n",
    "db.sls": "role: db\n",
  };
  expect(await settingsOf(files)).toEqual({
    role: "any",
    port: 80,
    users: ["c"],
    nested: { x: 1, y: { z: 1, w: null } },
  });
  expect(await settingsOf(files, "db-1")).toMatchObject({ role: "db" });
  expect(await settingsOf(files, "mail-1")).toEqual({
    role: "any",
    users: ["c"],
    nested: { y: { w: null } },
  });
});

test("templates have the names of their file, and keys may be numbers, as in Salt", async () => {
  const files = {
    "top.sls": top("  '*': [web.app, db]"),
    "web/app.sls": "source: {{ tpldir }}/{{ sls }}/{{ tplroot }}\nerrors: {400: /a, 1.5: b}\n",
    "db/init.sls": "db: {{ slspath }}/{{ tplfile }}\n",
  };
  expect(await settingsOf(files)).toEqual({
    source: "web/web.app/web",
    errors: { 400: "/a", 1.5: "b" },
    db: "db/db/init.sls",
  });
});

test("a null replaces a value, and a map replaces a null", async () => {
  const files = {
    "top.sls": top("  '*': [a, b]"),
    "a.sls": "x: {y: 1}\nz: null\n",
    "b.sls": "x: null\nz: {y: 1}\n",
  };
  expect(await settingsOf(files)).toEqual({ x: null, z: { y: 1 } });
});

test.each<[string, boolean]>([
  ["web-1.example.com", true],
  ["web-1_example_com", true],
  ["'web-* and not *.org'", true],
  ["'E@^web-[0-9]+\\.'", true],
  ["'L@db-1,web-1.example.com'", true],
  ["G@os:deb*", true],
  ["'P@os:(Debian|SUSE)'", true],
  ["N@front", true],
  ["'N@front and G@os:SUSE'", false],
  ["db-*", false],
])("the target %s", async (target, isMeant) => {
  const files = {
    "top.sls": top(`  ${target}:\n    - a\n`),
    "a.sls": "a: 1\n",
    "nodegroups.yaml": "front: web-*\n",
  };
  expect(await settingsOf(files, undefined, { os: "Debian" })).toEqual(isMeant ? { a: 1 } : {});
});

test.each([
  ["compound", "'web-* and G@os:Debian'"],
  ["glob", "web-*"],
  ["list", "'web-1.example.com,db-1'"],
  ["pcre", "'web-.*'"],
  ["grain", "'os:Debian'"],
  ["grain_pcre", "'os:Deb'"],
  ["nodegroup", "front"],
])("match: %s reads the target as Salt does", async (way, target) => {
  const files = {
    "top.sls": top(`  ${target}:\n    - match: ${way}\n    - a\n`),
    "a.sls": "a: 1\n",
    "nodegroups.yaml": "front: web-*\n",
  };
  expect(await settingsOf(files, undefined, { os: "Debian" })).toEqual({ a: 1 });
});

test("included files are merged first, each once", async () => {
  const files = {
    "top.sls": top("  '*': [web, common]"),
    "common.sls": "level: common\nshared: 1\n",
    "web/init.sls": "include:\n  - common\n  - .tls\n  - web.extra\nlevel: web\n",
    "web/tls.sls": "include: [..common]\ntls: true\nlevel: tls\n",
    "web/extra.sls": "extra: 1\n",
  };
  // The common file was read first: requesting it again changes nothing.
  expect(await settingsOf(files)).toEqual({ level: "web", shared: 1, tls: true, extra: 1 });
});

test("templates see the facts and the real id of the peel", async () => {
  const files = {
    "top.sls": top("  '*': [a]"),
    "a.sls": [
      "{% from 'map.jinja' import port %}",
      "id: {{ id }}",
      "told: {{ grains.id }} {{ facts['id'] }}",
      "os: {{ grains.os }}",
      "port: {{ port }}",
      "mem: {{ salt['grains.get']('mem', 5) }}",
    ].join("\n"),
    "map.jinja": "{% set port = 80 if facts.os == 'Debian' else 443 %}",
  };
  expect(await settingsOf(files, undefined, { os: "Debian", id: "db-1.example.com" })).toEqual({
    id: "web-1.example.com",
    told: "web-1.example.com web-1.example.com",
    os: "Debian",
    port: 80,
    mem: 5,
  });
});

test("a word that is true or false in Salt stays a text, and each place is reported once", async () => {
  const reported: string[] = [];
  const compiler = createCompilers({
    warn: (at, message) => reported.push(`${at}: ${message.split(":")[0]}`),
  })(
    treeOf({
      "top.sls": top("  '*': [a, b]"),
      "a.sls": "x: no\ny: 'no'\nz: [on]\n",
      "b.sls": "{% if id %}\nb: Yes\n{% endif %}\nfact: {{ facts.word }}\n",
    }),
  );
  for (const peelId of ["web-1", "web-2"]) {
    const { settings } = await compiler.compile({ peelId, facts: { word: "yes" } }, new Set());
    expect(settings).toEqual({ x: "no", y: "no", z: ["on"], b: "Yes", fact: "yes" });
  }
  expect(reported).toEqual([
    "a.sls:1: no is a text here, and false in Salt",
    "a.sls:3: on is a text here, and true in Salt",
    "b.sls (rendered):2: Yes is a text here, and true in Salt",
  ]);
});

test("peels compiled at the same time never see each other's facts", async () => {
  const compiler = createCompilers()(
    treeOf({
      "top.sls": top("  '*': [a, b]"),
      "a.sls": "{% include 'c.sls' %}\n",
      "b.sls": "b: {{ facts.n }}-{{ id }}\n",
      "c.sls": "c: {{ facts.n }}\n",
    }),
  );
  const all = Array.from({ length: 50 }, async (_, n) => {
    const { settings } = await compiler.compile({ peelId: `p-${n}`, facts: { n } }, new Set());
    expect(settings).toEqual({ c: n, b: `${n}-p-${n}` });
  });
  await Promise.all(all);
});

test("the top file may be a template too", async () => {
  const files = {
    "top.sls": top("  '*':\n{% if facts.os == 'Debian' %}    - a\n{% endif %}"),
    "a.sls": "a: 1",
  };
  expect(await settingsOf(files, "web-1", { os: "Debian" })).toEqual({ a: 1 });
  expect(await settingsOf(files, "web-1", { os: "SUSE" })).toEqual({});
});

test("used paths are reported, including missing ones", async () => {
  const files = {
    "top.sls": top("  'web-*': [web]\n  N@none: [db]\n"),
    "nodegroups.yaml": "none: L@nobody\n",
    "web.sls": "{% include 'part.sls' %}\n",
    "part.sls": "include: [other]\n",
    "other.sls": "a: 1",
    "db.sls": "b: 1",
  };
  const { uses } = await compileTexts(files, "web-1");
  expect(uses).toEqual([
    "nodegroups.yaml",
    "other.sls",
    "other/init.sls",
    "part.sls",
    "top.sls",
    "web.sls",
    "web/init.sls",
  ]);
  const used = new Set<string>();
  const broken = createCompilers()(treeOf({ "top.sls": top("  '*': [gone]") }));
  await expect(broken.compile({ peelId: "web-1", facts: {} }, used)).rejects.toThrow();
  expect([...used]).toEqual(["top.sls", "gone.sls", "gone/init.sls"]);
});

test("a file included by an earlier template is reported for the next one too", async () => {
  const compiler = createCompilers()(
    treeOf({
      "top.sls": top("  '*': [a]"),
      "a.sls": "{% from 'm' ~ 'ap.jinja' import x %}\nx: {{ x }}\n",
      "map.jinja": "{% set x = 1 %}",
    }),
  );
  for (const peelId of ["web-1", "web-2"]) {
    const uses = new Set<string>();
    await compiler.compile({ peelId, facts: {} }, uses);
    expect(uses.has("map.jinja")).toBe(true);
  }
});

test("no top file, an empty one, and an empty file mean no settings", async () => {
  for (const files of [
    {},
    { "top.sls": "" },
    { "top.sls": "base:\n" },
    { "top.sls": top("  '*': [a]"), "a.sls": "# nothing\n" },
  ]) {
    expect(await settingsOf(files as Record<string, string>)).toEqual({});
  }
});

test.each<[string, Record<string, string>, string]>([
  [
    "no file",
    { "top.sls": top("  '*':\n    - web.tls\n") },
    'top.sls:3: settings file "web.tls" does not exist',
  ],
  [
    "no included file",
    { "top.sls": top("  '*': [a]"), "a.sls": "x: 1\ninclude:\n - b\n" },
    'a.sls:3: settings file "b" does not exist',
  ],
  [
    "undefined",
    { "top.sls": top("  '*': [a]"), "a.sls": "x: 1\ny: {{ facts.nope }}\n" },
    "a.sls:2: undefined: facts.nope",
  ],
  ["template", { "top.sls": top("  '*': [a]"), "a.sls": "\n{% if %}\n" }, "a.sls:2: syntax error"],
  ["yaml", { "top.sls": top("  '*': [a]"), "a.sls": "a: [s3cret\n" }, "a.sls:"],
  ["rendered yaml", { "top.sls": top("  '*': [a]"), "a.sls": "{{ '' }}\na: [s3cret\n" }, "a.sls (rendered):"],
  ["a list", { "top.sls": top("  '*': [a]"), "a.sls": "- s3cret\n" }, "a.sls:1: expected a map of settings"],
  [
    "include",
    { "top.sls": top("  '*': [a]"), "a.sls": "include: s3cret\n" },
    "a.sls:1: include: expected a list",
  ],
  [
    "include map",
    { "top.sls": top("  '*': [a]"), "a.sls": "include: [{b: s3cret}]\n" },
    "a.sls:1: include: expected the name",
  ],
  [
    "cycle",
    { "top.sls": top("  '*': [a]"), "a.sls": "include: [b]", "b.sls": "include: [a]" },
    "b.sls:1: circular include: a.sls -> b.sls -> a.sls",
  ],
  [
    "proto",
    { "top.sls": top("  '*': [a]"), "a.sls": "a:\n  __proto__: {x: 1}" },
    "a.sls:2: __proto__ is not a valid setting name",
  ],
  [
    "deep",
    { "top.sls": top("  '*': [a]"), "a.sls": `a: ${"[".repeat(30)}${"]".repeat(30)}` },
    "a.sls:1: nested more than 24 levels deep",
  ],
  [
    "large",
    { "top.sls": top("  '*': [a]"), "a.sls": `a: ${"x".repeat(300_000)}` },
    "the settings of web-1 take 30",
  ],
  [
    "out of the tree",
    { "top.sls": top("  '*': [a]"), "a.sls": "include: [...b]" },
    'a.sls:1: "...b" is outside the tree',
  ],
  ["a path", { "top.sls": top("  '*': [../a]") }, 'top.sls:2: "../a" is not a valid settings file name'],
  [
    "renderer",
    { "top.sls": top("  '*': [a]"), "a.sls": "#!py\n" },
    'a.sls:1: the renderer "py" is not supported',
  ],
  ["environment", { "top.sls": "dev:\n  '*': [a]\n" }, 'top.sls:1: the environment "dev" is unknown'],
  ["target", { "top.sls": top("  'web-* and': [a]") }, "top.sls:2: column 10: expected a matcher"],
  [
    "settings",
    { "top.sls": top("  'I@a:b': [a]") },
    'top.sls:2: "I@a:b": I@ cannot be used to assign settings',
  ],
  ["group", { "top.sls": top("  'N@front': [a]") }, "top.sls:2: column 1: unknown node group front"],
  ["way", { "top.sls": top("  'a':\n    - match: ipcidr\n") }, "top.sls:3: unknown match type"],
  ["names", { "top.sls": top("  'a': b\n") }, "top.sls:2: expected a list of settings files"],
])("%s: one line with the place, and no value", async (_, files, expected) => {
  const message = await failure(files);
  expect(message).toStartWith(expected);
  expect(message).not.toContain("s3cret");
  expect(message).not.toContain("\n");
});

test("a broken top file affects all peels; a broken file or top file template affects one", async () => {
  const kind = (files: Record<string, string>) =>
    compileTexts(files, "web-1").then(
      () => undefined,
      (thrown) => thrown.wholeTree,
    );
  expect(await kind({ "top.sls": "base: [" })).toBe(true);
  expect(await kind({ "top.sls": top("  '(': [a]") })).toBe(true);
  expect(await kind({ "top.sls": top("  N@a: [a]"), "nodegroups.yaml": "- x" })).toBe(true);
  expect(await kind({ "top.sls": top("  '*': [a]") })).toBe(false);
  expect(await kind({ "top.sls": top("  '*': [{{ facts.nope }}]") })).toBe(false);
});

test("labels are in templates and targets, and are sealed with the settings", async () => {
  const files = {
    "top.sls": top("  'T@env:prod and not T@rack:*': [a]"),
    "a.sls": "stage: {{ labels.env }}\nall: {{ labels|yaml }}\nrack: {{ labels.get('rack', 'none') }}\n",
  };
  const compiler = createCompilers()(treeOf(files));
  const compile = (labels?: Record<string, string>) =>
    compiler.compile({ peelId: "web-1", facts: { labels: { env: "prod" } }, labels }, new Set());
  const { settings, bytes } = await compile({ env: "prod" });
  expect(settings).toEqual({ stage: "prod", all: { env: "prod" }, rack: "none" });
  expect(separate(decode(bytes) as Settings)).toEqual({ settings, labels: { env: "prod" }, secrets: [] });
  expect((await compile({ env: "prod", rack: "7" })).settings).toEqual({});
  const none = await compile();
  expect([none.settings, Buffer.from(none.bytes)]).toEqual([{}, Buffer.from(encodeSettings({}))]);
  // Their order is that of their names, so that the same labels are the same bytes.
  expect(Buffer.from(encodeSettings({}, { labels: { b: "1", a: "2" } }))).toEqual(
    Buffer.from(encodeSettings({}, { labels: { a: "2", b: "1" } })),
  );
});

test("no setting can have the name under which labels are sealed", async () => {
  const files = { "top.sls": top("  '*': [a]"), "a.sls": "svc:labels: {env: prod}\n" };
  await expect(compileTexts(files, "web-1")).rejects.toThrow("svc:labels is not a valid setting name");
});

test("targets that use facts are reported, also inside node groups", () => {
  const targets = (files: Record<string, string>) =>
    createCompilers()(treeOf(files))
      .factTargets()
      .map(({ expression, at }) => `${at} ${expression}`);
  const groups = { "nodegroups.yaml": "deb: G@os:Debian\nfront: web-*\n" };
  expect(targets({ "top.sls": top("  'web-*': [a]\n  N@front: [b]\n"), ...groups })).toEqual([]);
  expect(targets({ "top.sls": top("  'a or P@os:x': [a]\n  N@deb: [b]\n"), ...groups })).toEqual([
    "top.sls:2 a or P@os:x",
    "top.sls:3 N@deb",
  ]);
  expect(targets({ "top.sls": "base: [" })).toEqual([]);
});

test("the places of secrets go with the settings where their names do not show it", async () => {
  const files = {
    "top.sls": top("  '*': [a, secret.b, c]"),
    "a.sls": "db: {host: db-1, password: x}\nlist: [1]\n",
    "secret/b.sls": "db: {user: app}\nwhole: {one: 1, two: {three: 3}}\nlist: [2]\napi_token: t\n",
    "c.sls": "{% import_yaml 'secret/b.sls' as b %}\nmade: {{ b.list[0] }}\n",
  };
  const compiled = await createCompilers()(treeOf(files)).compile({ peelId: "web-1", facts: {} }, new Set());
  expect(compiled.secrets).toEqual([["db", "user"], ["list"], ["whole"], ["made"]]);
  expect(separate(decode(compiled.bytes) as Settings).secrets).toEqual(compiled.secrets as string[][]);
});
