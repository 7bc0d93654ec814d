import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { createCompilers } from "../../tree/settings/compile.ts";
import { type Call, invoke } from "../operation/mod.ts";
import { findSetting } from "./find-setting.ts";
import { shownValue } from "./mask.ts";
import {
  explainSettings,
  revealExplained,
  revealSettings,
  type SettingsDeps,
  showSettings,
} from "./operations.ts";
import { createSettingsReader } from "./read-settings.ts";

type Files = Record<string, string>;
const call: Call = {
  ...{ caller: { kind: "operator", name: "ann", door: "bus" }, log: recordingLog(), clock: manualClock() },
};

/** A master with these files, and web-1, which reports these facts. */
function masterOf(files: Files, facts: Record<string, Plain> = { os: "Debian" }) {
  const compilers = createCompilers();
  const tree = treeOf(files);
  const compiler = compilers(tree);
  const deps: SettingsDeps = {
    directory: {
      caughtUp: async () => {},
      members: () => ["web-1", "new-1"],
      memberOf: (peel) =>
        peel === "new-1" || peel === "web-1" ? { id: "enr-1", state: "active" } : undefined,
      stateOf: () => undefined,
    },
    settings: createSettingsReader({
      tree: { tree, problem: undefined },
      peels: {
        facts: async (peel) => (peel === "web-1" ? encode(facts) : undefined),
        labelsOf: () => ({ env: "prod" }),
      },
      compilerOf: () => compiler,
    }),
  };
  const fieldsOf = (name?: string, id = "web-1") => ({ fields: name === undefined ? { id } : { id, name } });
  return {
    compiler,
    deps,
    show: async (name?: string, id?: string) =>
      (await invoke(showSettings, deps, fieldsOf(name, id), call)).value,
    reveal: async (name?: string) => (await invoke(revealSettings, deps, fieldsOf(name), call)).value,
    explain: async (name: string) => (await invoke(explainSettings, deps, fieldsOf(name), call)).settings,
    revealExplained: async (name: string) =>
      (await invoke(revealExplained, deps, fieldsOf(name), call)).settings,
  };
}

const secret = "hunter2-of-the-database";
const everywhere = (...files: string[]) => `base:\n  '*': [${files.join(", ")}]\n`;
const files: Files = {
  "top.sls": everywhere("common", "secret.db", "web"),
  "common.sls": `app:\n  port: 80\n  admin_password: ${secret}-1\nusers:\n  - name: ann\n    token: ${secret}-2\nplain: [a, b]\n`,
  "secret/db.sls": `db:\n  host: ${secret}-3\n  replicas: [${secret}-4, {deep: ${secret}-5}]\napp:\n  greeting: ${secret}-6\nplain: ${secret}-7\n`,
  // A password in a URL, and a key.
  "web.sls": `url: postgres://svc:${secret}@db/app\napp:\n  port: 8080\n  greeting: hello\nplain: [c]\npasswords:\n  root: ${secret}-8\nkeys_text: "-----BEGIN PRIVATE KEY-----${secret}-----END PRIVATE KEY-----"\n`,
};
const hidden = "********";

describe("what is secret", () => {
  test("is hidden by its name, by its file and by its form, also in lists", async () => {
    const { show } = masterOf(files);
    expect(await show()).toEqual({
      app: { port: 8080, admin_password: hidden, greeting: "hello" },
      users: [{ name: "ann", token: hidden }],
      plain: ["c"],
      db: { host: hidden, replicas: hidden },
      passwords: hidden,
      keys_text: hidden,
      url: hidden,
    });
  });

  test("is shown to operators who may see it", async () => {
    const { reveal } = masterOf(files);
    expect(await reveal("db:replicas:1:deep")).toBe(`${secret}-5`);
    expect(await reveal("passwords")).toEqual({ root: `${secret}-8` });
  });

  test.each(["app", "users", "users:0:token", "plain", "db", "db:replicas", "passwords", "keys_text"])(
    "is in no answer about %s that is not a revelation, nor in what it covered",
    async (name) => {
      const { show, explain } = masterOf(files);
      const reported = JSON.stringify([await show(name), await explain(name)]);
      expect(reported).not.toContain("hunter2");
      expect(reported).not.toContain("root");
    },
  );

  test("is not found by trying what could be in it", async () => {
    const { show, explain } = masterOf(files);
    for (const name of ["passwords:root", "passwords:nobody", "passwords", "users:0:token:x"]) {
      expect([name, await show(name)]).toEqual([name, hidden]);
      expect(JSON.stringify(await explain(name))).toContain(hidden);
    }
    await expect(show("passwodrs")).rejects.toThrow("did you mean passwords?");
  });

  test.each([
    ["includes", "x: {% include 'secret/word' %}\nopen: 1\n"],
    ["imports", "{% import_text 'secret/word' as word %}\nx: {{ word }}\nopen: 1\n"],
    ["reads data of", "{% import_yaml 'secret/map.yaml' as data %}\nx: {{ data.a }}\nopen: 1\n"],
    ["chooses", "{% set name = 'secret/word' %}x: {% include name %}\nopen: 1\n"],
  ])("is all that a template writes that %s a file below secret/", async (_, text) => {
    const tree = {
      "top.sls": everywhere("a", "b"),
      "a.sls": text,
      "b.sls": "y: {{ id }}\n",
      "secret/word": secret,
      "secret/map.yaml": `a: ${secret}\n`,
    };
    expect(await masterOf(tree).show()).toEqual({ x: hidden, open: hidden, y: "web-1" });
    expect(await masterOf(tree).reveal()).toMatchObject({ x: secret, open: 1 });
  });

  test("is nothing that a template writes without such a file, though it looks at what it writes", async () => {
    const conditional = "{% set x %}web{% endset %}{% if x == 'web' %}a: 1\n{% endif %}b: 2\n";
    const tree = { "top.sls": everywhere("a"), "a.sls": conditional, "secret/x.sls": "c: 3\n" };
    expect(await masterOf(tree).show()).toEqual({ a: 1, b: 2 });
    const including = { ...tree, "a.sls": `{% import_yaml 'secret/x.sls' as x %}${conditional}` };
    expect(await masterOf(including).show()).toEqual({ a: hidden, b: hidden });
  });
});

describe("an explanation", () => {
  const from = (file: string, line: number, because: string, value: Plain) => ({
    file,
    line,
    because,
    value,
  });

  test("names file and line, the target that assigns the file, and the overridden values in the order of merging", async () => {
    const { explain, revealExplained } = masterOf(files);
    expect(await explain("app:port")).toEqual([
      {
        ...{ name: "app:port", ...from("web.sls", 3, "top.sls:2", 8080) },
        covered: [from("common.sls", 2, "top.sls:2", 80)],
      },
    ]);
    expect(await explain("app:greeting")).toMatchObject([
      { covered: [from("secret/db.sls", 5, "top.sls:2", hidden)] },
    ]);
    expect(await revealExplained("app:greeting")).toMatchObject([
      { value: "hello", covered: [{ value: `${secret}-6` }] },
    ]);
    expect(await explain("plain")).toMatchObject([
      { value: ["c"], line: 5, covered: [{ value: ["a", "b"] }, { value: hidden }] },
    ]);
  });

  test("of a map has a row for each setting in it, of a list one, with the line of the item", async () => {
    const { explain } = masterOf(files);
    expect((await explain("app")).map(({ name, file, line }) => [name, file, line])).toEqual([
      ["app:admin_password", "common.sls", 3],
      ["app:greeting", "web.sls", 4],
      ["app:port", "web.sls", 3],
    ]);
    const { explain: of } = masterOf({
      "top.sls": everywhere("a"),
      "a.sls": "l:\n  - x\n  - n: 1\n    m: 2\n",
    });
    expect(await of("l")).toMatchObject([{ name: "l", line: 1 }]);
    expect(await of("l:1:m")).toMatchObject([{ name: "l:1:m", line: 4, value: 2 }]);
    expect(await of("l:0")).toMatchObject([{ name: "l:0", line: 2, value: "x" }]);
  });

  test("knows what a value around it covered", async () => {
    const { explain } = masterOf({
      "top.sls": everywhere("a", "b", "c"),
      ...{ "a.sls": "x:\n  y: 1\n", "b.sls": "z: 0\nx: 5\n", "c.sls": "x: {y: 2}\n" },
    });
    expect(await explain("x:y")).toEqual([
      {
        ...{ name: "x:y", ...from("c.sls", 1, "top.sls:2", 2) },
        covered: [
          { name: "x", ...from("a.sls", 1, "top.sls:2", { y: 1 }) },
          { name: "x", ...from("b.sls", 2, "top.sls:2", 5) },
        ],
      },
    ]);
  });

  test("follows includes: the line that asked is that of the including file", async () => {
    const { explain } = masterOf({
      "top.sls": "base:\n  'web-*':\n    - web\n",
      "web/init.sls": "include:\n  - .limits\na: 1\n",
      "web/limits.sls": "b: 2\na: 0\n",
    });
    expect(await explain("b")).toMatchObject([from("web/limits.sls", 1, "web/init.sls:2", 2)]);
    expect(await explain("a")).toMatchObject([
      {
        ...from("web/init.sls", 3, "top.sls:3", 1),
        covered: [from("web/limits.sls", 2, "web/init.sls:2", 0)],
      },
    ]);
  });

  test("has the line of the file also where a template writes it, however it does", async () => {
    const text = [
      "{% from 'macros.jinja' import pair %}",
      "{# a comment",
      "   of two lines #}",
      "{% for n in ['one', 'two'] %}",
      "{{ n }}:",
      "  port: {{ 80 if facts.os == 'Debian' else 443 }}",
      "  {%- if true %}",
      "  deep: {{ facts.os }}",
      "  {%- endif %}",
      "{% endfor %}",
      "{{ pair('m') }}",
      "{%- include 'part.yaml' %}",
      "text: |",
      "  {{ id }}",
      "  more",
      "last: '{% raw %}{{ x }}{% endraw %}'",
    ].join("\n");
    const { explain, show } = masterOf({
      "top.sls": everywhere("a"),
      "a.sls": text,
      "macros.jinja": "{% macro pair(n) %}\n{{ n }}1: 1\n{{ n }}2: 2\n{% endmacro %}",
      "part.yaml": "\n\np: 1\nq: {{ 1 + 1 }}\n",
    });
    expect(await show()).toMatchObject({ one: { port: 80, deep: "Debian" }, m2: 2, q: 2, last: "{{ x }}" });
    const placeOf = async (name: string) => {
      const [found] = await explain(name);
      return `${found?.file}:${found?.line}`;
    };
    const places = ["one:port", "two:port", "two:deep", "m1", "m2", "p", "q", "text", "last"];
    expect(await Promise.all(places.map(placeOf))).toEqual([
      ...["a.sls:6", "a.sls:6", "a.sls:8", "macros.jinja:2", "macros.jinja:3"],
      ...["part.yaml:3", "part.yaml:4", "a.sls:13", "a.sls:16"],
    ]);
  });

  test("has the line also where a template looks at what it writes", async () => {
    const { explain } = masterOf({
      "top.sls": everywhere("a"),
      "a.sls": "{% set x %}web{% endset %}\n\n{% if x == 'web' %}a: 1\n{% endif %}\n",
    });
    expect(await explain("a")).toMatchObject([{ file: "a.sls", line: 3, value: 1 }]);
  });
});

test.each([
  ["app:prot", 'web-1 has no setting "app:prot" (did you mean app:port?)'],
  ["ap:port", 'web-1 has no setting "ap:port" (did you mean app:port?)'],
  ["ap:prot", 'web-1 has no setting "ap:prot" (did you mean app:port?)'],
  ["ap:none", 'web-1 has no setting "ap:none" (did you mean app?)'],
  ["ap", 'web-1 has no setting "ap" (did you mean app?)'],
  ["app:port:x", 'web-1 has no setting "app:port:x"'],
  ["plain:7", 'web-1 has no setting "plain:7"'],
  ["constructor", 'web-1 has no setting "constructor"'],
])("the unknown setting %s is named with the nearest one", async (name, message) => {
  await expect(masterOf(files).show(name)).rejects.toThrow(message);
});

test("what cannot be compiled, an unknown peel and missing files are said with the next step", async () => {
  await expect(masterOf(files).show("app", "web-2")).rejects.toThrow(
    'the peel "web-2" does not exist (did you mean web-1?)',
  );
  await expect(masterOf(files).show("app", "new-1")).rejects.toThrow("it has stored no facts");
  const broken = masterOf({ "top.sls": everywhere("a"), "a.sls": `password: [${secret}\n` }).show();
  await expect(broken).rejects.toMatchObject({
    kind: "conflict",
    message: expect.stringMatching(/a\.sls:\d/),
  });
  await expect(broken).rejects.not.toThrow(/hunter2/);
  await expect(masterOf({}).show()).rejects.toMatchObject({ kind: "unavailable" });
});

test("an answer that would be too large has what fits", async () => {
  const { deps } = masterOf(files);
  const fields = { id: "web-1", name: "app" };
  const { settings, more } = await invoke(explainSettings, deps, { fields }, { ...call, answerBytes: 200 });
  expect([settings.length, more]).toEqual([1, true]);
});

test("the settings that are shown are those that are compiled, whatever the files are", async () => {
  const value = fc.letrec<{ any: Plain; map: Record<string, Plain> }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      ...[fc.constant(null), fc.boolean(), fc.nat(9), fc.constantFrom("x", "y z", "")],
      fc.array(tie("any"), { maxLength: 2 }),
      tie("map") as fc.Arbitrary<Plain>,
    ),
    map: fc.dictionary(fc.constantFrom("a", "b", "c:d"), tie("any"), { maxKeys: 3, noNullPrototype: true }),
  })).map;
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 4 }), async (maps) => {
      const names = maps.map((_, at) => `f${at}`);
      const tree = Object.fromEntries(maps.map((map, at) => [`f${at}.sls`, formatYaml(map)]));
      const { compiler } = masterOf({ "top.sls": everywhere(...names), ...tree });
      const subject = { peelId: "web-1", facts: {} };
      const traced = await compiler.trace(subject);
      expect(shownValue(traced, "reveal")).toEqual(
        (await compiler.compile(subject, new Set())).settings as Plain,
      );
      for (const name of ["a", "b:a", "c:d", "c:d:b"]) findSetting(traced, name, "mask");
    }),
    { numRuns: 60 },
  );
});
