import { describe, expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { compileOptions, memoryFiles } from "../../../test/harness/states.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { compileStates } from "../language/mod.ts";
import { createCompilers } from "../settings/mod.ts";
import { comparePeel, type Outcome } from "./compare-peel.ts";
import { createOrders } from "./compile-orders.ts";
import { createGrouping } from "./groups.ts";
import { createInterning } from "./interning.ts";
import { bytesOf, bytesOfStates } from "./order.ts";
import { createViews, type Subject } from "./subject.ts";
import type { Ground } from "./why.ts";

type Texts = Readonly<Record<string, string>>;

const subject = (peelId: string, more: Partial<Subject> = {}): Subject => ({
  ...{ peelId, facts: { id: peelId, os: "Debian", uptime: 7 }, labels: {} },
  ...{ settings: {}, shownSettings: {}, ...more },
});

const withSettings = (peelId: string, settings: Subject["settings"], more: Partial<Subject> = {}): Subject =>
  subject(peelId, { settings, shownSettings: settings, ...more });

const nowhere = async () => undefined;

async function groundOf(
  texts: Texts,
  peel: Subject,
  {
    placeOf = nowhere,
    interning = createInterning(),
  }: Partial<Pick<Ground, "placeOf">> & {
    interning?: ReturnType<typeof createInterning>;
  } = {},
): Promise<Ground> {
  const order = await createOrders({ files: memoryFiles(texts), compat: "strict", interning }).of(peel);
  return { order, subject: peel, placeOf, textOf: async (path) => texts[path] };
}

async function compared(before: Texts, after: Texts, peel = subject("web-1")): Promise<Outcome> {
  const interning = createInterning();
  const [old, now] = [
    await groundOf(before, peel, { interning }),
    await groundOf(after, peel, { interning }),
  ];
  return comparePeel(old, now, (value) => value);
}

const top = "base:\n  '*':\n    - web\n";
const web = (body: string): Texts => ({ "top.sls": top, "web.sls": body });

describe("an order is compiled once for peels that give equal answers", () => {
  const files = (web_: string) => memoryFiles(web(web_));
  const count = async (text: string, peels: readonly Subject[]) => {
    const orders = createOrders({ files: files(text), compat: "strict" });
    for (const each of peels) await orders.of(each);
    return orders.compiled;
  };
  const plain = "x:\n  test.nop: []\n";

  test.each<[what: string, text: string, peels: Subject[], compiled: number]>([
    ["ids and facts that nothing reads", plain, [subject("a"), subject("b", { facts: { uptime: 9 } })], 1],
    [
      "a fact that a template reads",
      "{% if facts.os == 'Debian' %}\nx:\n  test.nop: []\n{% endif %}\n",
      [subject("a"), subject("b"), subject("c", { facts: { os: "Alpine" } })],
      2,
    ],
    [
      "one setting of a map",
      "x-{{ settings.app.port }}:\n  test.nop: []\n",
      [
        withSettings("a", { app: { port: 1, host: "a" } }),
        withSettings("b", { app: { port: 1, host: "b" } }),
        withSettings("c", { app: { port: 2, host: "b" } }),
      ],
      2,
    ],
    [
      "whether there is a setting, and the names in a map",
      "{% if 'a' in settings and settings.m | length > 1 %}\nx:\n  test.nop: []\n{% endif %}\n",
      [
        withSettings("a", { a: 1, m: { x: 1, y: 2 } }),
        withSettings("b", { a: 2, m: { x: 3, y: 4 } }),
        withSettings("c", { m: { x: 1 } }),
      ],
      2,
    ],
    [
      "values of a map that is gone over",
      "{% for k, v in settings.m.items() %}\n{{ k }}-{{ v }}:\n  test.nop: []\n{% endfor %}\n",
      [
        withSettings("a", { m: { x: 1 } }),
        withSettings("b", { m: { x: 1 } }),
        withSettings("c", { m: { x: 2 } }),
      ],
      2,
    ],
    [
      "labels, and a target in a template",
      "{% if salt['match.compound']('web-* and G@os:Debian') and labels.env == 'test' %}\nx:\n  test.nop: []\n{% endif %}\n",
      [
        subject("web-1", { labels: { env: "test", more: "1" } }),
        subject("web-2", { labels: { env: "test", more: "2" } }),
        subject("db-1", { labels: { env: "test" } }),
        subject("web-3", { labels: { env: "prod" } }),
      ],
      3,
    ],
  ])("%s", async (_, text, peels, compiled) => {
    expect(await count(text, peels)).toBe(compiled);
  });

  test("what a top file means by a target, and not the ids that it means", async () => {
    const texts = { "top.sls": "base:\n  'web-*':\n    - web\n", "web.sls": plain };
    const orders = createOrders({ files: memoryFiles(texts), compat: "strict" });
    const found = [];
    for (const id of ["web-1", "web-2", "db-1", "web-3"]) found.push(await orders.of(subject(id)));
    expect(found.map(({ states }) => states.length)).toEqual([1, 1, 0, 1]);
    expect(orders.compiled).toBe(2);
  });

  test("the order is the one that is compiled without anybody noticing what is read", async () => {
    const text =
      "{% set m = settings.app %}{% do m.update({'extra': 1}) %}\n{{ m | json | yaml_dquote }}:\n  test.nop:\n    - require:\n      - test: y\ny:\n  test.nop:\n    - name: {{ facts.os }}-{{ settings.app.deep.er }}-{{ m.extra }}\n";
    const settings = { app: { z: [1, { k: "v" }], deep: { er: 5 }, a: null } };
    const { order } = await groundOf(web(text), withSettings("a", settings));
    const options = compileOptions(web(text), { settings, facts: { id: "a", os: "Debian" } });
    const { states } = await compileStates(options, "highstate");
    expect(order.problems).toEqual([]);
    expect(sha256Hex(bytesOf(order))).toBe(sha256Hex(bytesOfStates(states)));
    expect(order.states).toHaveLength(2);
  });
});

describe("what is read is named", () => {
  test("facts, labels and settings by their places", async () => {
    const text =
      "{% if salt['grains.get']('uptime') > 5 and not labels.get('env') and settings.a.b == 1 %}\nx:\n  test.nop: []\n{% endif %}\n";
    const { order } = await groundOf(web(text), withSettings("a", { a: { b: 1 } }));
    expect([...order.reads.facts]).toEqual(["uptime"]);
    expect([...order.reads.labels]).toEqual(["env"]);
    expect([...order.reads.settings]).toEqual(["a", "a:b"]);
  });

  test("facts of targets", async () => {
    const texts = {
      "top.sls": "base:\n  'G@os:Debian and T@env:x':\n    - match: compound\n    - web\n",
      "web.sls": "x:\n  test.nop: []\n",
    };
    const { order } = await groundOf(texts, subject("a", { labels: { env: "x" } }));
    expect(order.problems).toEqual([]);
    expect([...order.reads.facts]).toEqual(["os"]);
    expect([...order.reads.labels]).toEqual(["env"]);
  });
});

describe("what is unknown until it runs", () => {
  const inspecting = "{% if salt['file.file_exists']('/etc/x') %}\nx:\n  test.nop: []\n{% endif %}\n";

  test("is named, with the function", async () => {
    const { order } = await groundOf(web(inspecting), subject("a"));
    expect(order.unknown).toEqual(["web.sls: file.file_exists is known only on the host"]);
    expect(order.problems).toEqual([]);
  });

  test("changes nothing where nothing that it rests on does", async () => {
    expect(await compared(web(inspecting), { ...web(inspecting), "README.md": "x" })).toEqual({
      changes: [],
      restarts: [],
    });
    const { unknown } = await compared(web(inspecting), web(`${inspecting}# more\n`));
    expect(unknown).toEqual(["web.sls: file.file_exists is known only on the host"]);
  });

  const isSecret = (path: readonly string[]) => path.at(-1) === "password";
  const db = withSettings("a", { db: { user: "u", password: "token-1" } }, { isSecret });

  test.each([
    ["a condition", "{% if settings.db.password == 'x' %}\nx:\n  test.nop: []\n{% endif %}\n"],
    ["a choice", "x:\n  test.nop:\n    - name: {{ 'a' if settings.db.password else 'b' }}\n"],
    [
      "a variable",
      "{% set p = settings.db.password %}{% if p | length > 3 %}\nx:\n  test.nop: []\n{% endif %}\n",
    ],
    [
      "a text that is written before",
      "{% set p %}-{{ settings.db.password }}-{% endset %}{% if 'x' in p %}\nx:\n  test.nop: []\n{% endif %}\n",
    ],
    [
      "a macro",
      "{% macro m() %}{{ settings.db.password }}{% endmacro %}{% if m() == 'x' %}\nx:\n  test.nop: []\n{% endif %}\n",
    ],
    ["a comparison that is written", "x:\n  test.nop:\n    - name: {{ settings.db.password > 'm' }}\n"],
  ])("%s that a secret decides", async (_, text) => {
    const { order } = await groundOf(web(text), db);
    expect(order.unknown).toEqual(["web.sls depends on a secret"]);
  });

  test("a secret that is written, and one whose presence decides, are known", async () => {
    const text =
      "{% if settings.db.password is defined and 'password' in settings.db %}\nx:\n  test.nop:\n    - name: {{ settings.db.password }}\n{% endif %}\n{% if settings.db.user == 'u' %}\ny:\n  test.nop: []\n{% endif %}\n";
    const { order } = await groundOf(web(text), db);
    expect(order.unknown).toEqual([]);
    expect(order.states.map(({ name }) => name)).toEqual(["token-1", "y"]);
  });
});

describe("how an order differs, and why", () => {
  const service = (more = "") =>
    `nginx:\n  service.running:\n    - enable: true${more}\n\n/etc/nginx.conf:\n  file.managed:\n    - contents: a\n`;

  test("nothing, also where lines and comments differ", async () => {
    expect(await compared(web(service()), web(`# a comment\n\n${service()}`))).toEqual({
      changes: [],
      restarts: [],
    });
  });

  test("an argument and a requisite, with the line", async () => {
    const { changes, restarts } = await compared(
      web(service()),
      web(service("\n    - watch:\n      - file: /etc/nginx.conf").replace("contents: a", "contents: b")),
    );
    expect(changes).toEqual([
      {
        ...{ op: "~", function: "file.managed", id: "/etc/nginx.conf", name: "/etc/nginx.conf" },
        before: { name: "/etc/nginx.conf", contents: ["a"] },
        after: { name: "/etc/nginx.conf", contents: ["b"] },
        why: [{ file: "web.sls", line: 9 }],
      },
      {
        ...{ op: "~", function: "service.running", id: "nginx", name: "nginx" },
        before: { name: "nginx", enable: true },
        after: { name: "nginx", enable: true, watch: ["file: /etc/nginx.conf"] },
        why: [{ file: "web.sls", line: 4 }],
      },
    ]);
    expect(restarts).toEqual(["nginx"]);
  });

  test("states that come and go, and those that run in another order", async () => {
    const state = (id: string) => `${id}:\n  test.nop: []\n`;
    const { changes } = await compared(
      web(["a", "b", "c", "d"].map(state).join("")),
      web(["a", "c", "b", "e"].map(state).join("")),
    );
    expect(changes.map(({ op, id }) => `${op} ${id}`)).toEqual(["- d", "~ c", "+ e"]);
    expect(changes[1]).toMatchObject({
      before: { order: "after test.nop b" },
      after: { order: "after test.nop a" },
    });
  });

  test("a setting, where it is written", async () => {
    const text = web("x:\n  test.nop:\n    - name: port-{{ settings.app.port }}\n");
    const compiler = (port: number) =>
      createCompilers()(
        treeOf({ "top.sls": "base:\n  '*': [app]\n", "app.sls": `app:\n  host: h\n  port: ${port}\n` }),
      );
    const sides: Ground[] = [];
    for (const port of [80, 8080]) {
      const { settings, merged } = await compiler(port).compile({ peelId: "a", facts: {} }, new Set());
      const peel = withSettings("a", { ...settings });
      sides.push(
        await groundOf(text, peel, {
          async placeOf(path) {
            let at: typeof merged | undefined = merged;
            for (const name of path) at = at?.entries?.get(name);
            const set = at?.sets.at(-1);
            return set?.layer.source(set.at);
          },
        }),
      );
    }
    const [before, after] = sides;
    if (before === undefined || after === undefined) throw new Error("two sides");
    const { changes } = await comparePeel(before, after, (value) => value);
    expect(changes).toEqual([
      {
        ...{ op: "~", function: "test.nop", id: "x", name: "port-8080" },
        ...{ before: { name: "port-80" }, after: { name: "port-8080" } },
        why: [{ file: "app.sls", line: 3, setting: "app:port", before: 80, after: 8080 }],
      },
    ]);
  });

  test("content: another file, another setting in its template, another template that it loads", async () => {
    const files = {
      ...web(
        "/etc/a:\n  file.managed:\n    - source: svc://a.txt\n/etc/b:\n  file.managed:\n    - source: svc://b.jinja\n    - template: jinja\n",
      ),
      ...{ "a.txt": "one\ntwo\n", "b.jinja": "{% import 'lib.jinja' as lib %}{{ facts.id }} {{ lib.x }}\n" },
      "lib.jinja": "{% set x = 1 %}\n",
    };
    const { changes } = await compared(files, { ...files, "a.txt": "one\n2\n" });
    expect(changes.map(({ op, name, why }) => ({ op, name, why }))).toEqual([
      { op: "~", name: "/etc/a", why: [{ file: "a.txt", line: 2 }] },
    ]);
    const loaded = await compared(files, { ...files, "lib.jinja": "{% set x = 2 %}\n" });
    expect(loaded.changes.map(({ op, name, why }) => ({ op, name, why }))).toEqual([
      { op: "~", name: "/etc/b", why: [{ file: "lib.jinja", line: 1 }] },
    ]);
    const orders = createOrders({ files: memoryFiles(files), compat: "strict" });
    for (const id of ["a", "b", "c"]) await orders.of(subject(id));
    expect(orders.compiled).toBe(1);
  });

  test("what a top file assigns", async () => {
    const more = { ...web("x:\n  test.nop: []\n"), "db.sls": "y:\n  test.nop: []\n" };
    const { changes } = await compared(more, { ...more, "top.sls": `${top}    - db\n` });
    expect(changes.map(({ op, id, why }) => ({ op, id, why }))).toEqual([
      { op: "+", id: "y", why: [{ file: "top.sls", line: 4 }] },
    ]);
  });

  test("an error is one, also where there was one before", async () => {
    const broken = web("x:\n  test.nop:\n    - require:\n      - pkg: gone\n");
    const { error } = await compared(web("x:\n  test.nop: []\n"), broken);
    expect(error).toEqual([expect.stringContaining("gone")]);
    const { errorBefore, changes } = await compared(broken, web("x:\n  test.nop: []\n"));
    expect(errorBefore).toEqual([expect.stringContaining("gone")]);
    expect(changes.map(({ op, id }) => `${op} ${id}`)).toEqual(["+ x"]);
  });
});

test("groups are peels with the same outcome: errors first, removals, restarts, and then the largest", () => {
  const change = (op: "+" | "-", called = "test.nop") => ({
    ...{ op, function: called, id: "x", name: "x", why: [] },
  });
  const grouping = createGrouping();
  const outcomes: [string, Outcome][] = [
    ["small", { changes: [change("+")], restarts: [] }],
    ["unknown", { changes: [], restarts: [], unknown: ["a"] }],
    ["large-1", { changes: [change("+", "a.b")], restarts: [] }],
    ["large-2", { changes: [change("+", "a.b")], restarts: [] }],
    ["restart", { changes: [change("+")], restarts: ["nginx"] }],
    ["absent", { changes: [change("+", "file.absent")], restarts: [] }],
    ["error", { changes: [], restarts: [], error: ["e"] }],
    ["nothing", { changes: [], restarts: [] }],
  ];
  for (const [peel, outcome] of outcomes) grouping.add(peel, outcome);
  expect(grouping.groups().map(({ peels }) => peels)).toEqual([
    ["error"],
    ["absent"],
    ["restart"],
    ["large-1", "large-2"],
    ["small"],
    ["unknown"],
  ]);
  expect(grouping.unchanged).toBe(1);
});

test("an answer is the same text for the same value", () => {
  const view = createViews()(withSettings("a", { m: { a: 1, b: { c: 2 } }, l: [1] }));
  const answer = (path: string[], how: "value" | "presence" | "names" | "entries") =>
    view.answer({ key: "", kind: "read", table: "settings", path, how });
  expect(answer(["m"], "value")).toBe("a map");
  expect(answer(["m"], "names")).toBe('["a","b"]');
  expect(answer(["m"], "entries")).toBe('[["a",1],["b",{}]]');
  expect(answer(["l"], "value")).toBe("[1]");
  expect(answer(["gone"], "value")).toBe("none");
  expect(answer(["m", "b"], "presence")).toBe("true");
});
