import { describe, expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { memoryFiles } from "../../../test/harness/states.ts";
import { compileSettingsForKinds } from "./compile-settings.ts";
import { compileForKinds } from "./compile-states.ts";
import { headlineOf } from "./finding.ts";
import { hideSettings } from "./hide-settings.ts";
import type { Kind } from "./kind.ts";

const turns = { pause: async () => {}, now: () => 0 };
const top = { "top.sls": "base:\n  '*': [a]\n" };
const kind = (peelId: string, more: Partial<Kind> = {}): Kind => ({
  ...{ peelId, peels: 2, facts: { os: "Debian" }, labels: {}, settings: {} },
  ...more,
});

const { settings: _, ...unsettled } = kind("a");

async function found(
  files: Record<string, string>,
  kinds: readonly Kind[],
  {
    compat = "strict",
    left = 0,
    now = turns.now,
  }: { compat?: "strict" | "salt"; left?: number; now?(): number } = {},
) {
  const { problems, hints } = await compileForKinds(
    memoryFiles({ ...top, ...files }),
    { kinds, left },
    { compat, turns: { ...turns, now } },
  );
  return { problems: problems.map(headlineOf), hints: hints.map(headlineOf) };
}

const unmet = "x:\n  test.nop:\n    - require:\n      - pkg: gone\n";
const needs = (setting: string) => `x:\n  test.nop:\n    - name: {{ settings.${setting} }}\n`;

describe("what is a problem, and what a hint", () => {
  test.each<
    [what: string, text: string, kinds: Kind[], problems: (string | RegExp)[], hints: (string | RegExp)[]]
  >([
    ["nothing", "x:\n  test.nop: []\n", [kind("a"), kind("b", { peels: 1 })], [], []],
    [
      "a kind of several peels",
      `{% if facts.os == 'Debian' and labels.role == 'db' %}\n${unmet}{% endif %}`,
      [kind("web-1", { labels: { role: "web" } }), kind("db-1", { labels: { role: "db" }, peels: 12 })],
      [/^a\.sls:\d+:1: for 12 peels such as db-1: .*gone/],
      [],
    ],
    [
      "kinds of one peel",
      unmet,
      [kind("a", { peels: 1 }), kind("b", { peels: 1, facts: { os: "Alpine" } })],
      [],
      [/^a\.sls:\d+:1: for 2 peels such as a: .*gone/],
    ],
    [
      "a kind of one peel, for which it is the same as for many",
      unmet,
      [kind("a", { peels: 1 }), kind("b")],
      [/for 3 peels such as a: .*gone/],
      [],
    ],
    [
      "a setting that is missing",
      needs("app.port"),
      [kind("a")],
      [/^a\.sls:3:\d+: for 2 peels such as a: /],
      [],
    ],
    ["a kind whose settings are not known", needs("app.port"), [unsettled], [], []],
    [
      "what only a host knows",
      "{% if salt['file.file_exists']('/etc/x') %}\nx:\n  test.nop: []\n{% endif %}\n",
      [kind("a")],
      [],
      [/not known before it runs/],
    ],
  ])("%s", async (_, text, kinds, problems, hints) => {
    const { problems: wrong, hints: doubtful } = await found({ "a.sls": text }, kinds);
    expect(wrong).toEqual(problems.map((each) => expect.stringMatching(each)));
    expect(doubtful).toEqual(hints.map((each) => expect.stringMatching(each)));
  });

  test("unknown functions where files are read as Salt's, and a tree without a top file", async () => {
    const unknown = { "a.sls": "x:\n  boto.present: []\n" };
    expect((await found(unknown, [kind("a")])).problems).toHaveLength(1);
    expect((await found(unknown, [kind("a")], { compat: "salt" })).problems).toEqual([]);
    const bare = memoryFiles({ "a.sls": unmet });
    expect(await compileForKinds(bare, { kinds: [kind("a")], left: 0 }, { compat: "strict", turns })).toEqual(
      {
        problems: [],
        hints: [],
      },
    );
  });
});

test("kinds that are too many, or too late, are counted in a hint", async () => {
  const many = Array.from({ length: 203 }, (_, at) => kind(`p${at}`));
  const { problems, hints } = await found({ "a.sls": unmet }, many, { left: 5 });
  expect(problems).toEqual([expect.stringContaining("for 400 peels such as p0: ")]);
  expect(hints).toEqual(["top.sls:1:1: not compiled for 11 peels: at most 200 kinds are, within 60 s"]);
  let now = 0;
  const late = await found({ "a.sls": unmet }, many.slice(0, 9), { now: () => (now += 10_000) });
  expect(late.hints).toEqual([expect.stringMatching(/not compiled for 1\d peels/)]);
});

describe("a reason holds no text of a setting", () => {
  test.each<[what: string, text: string, settings: Kind["settings"], hidden: RegExp]>([
    ["as a function", "x:\n  {{ settings.v }}.nop: []\n", { v: "Xhunter" }, /hunter/i],
    [
      "as an id",
      "x:\n  test.nop:\n    - require:\n      - pkg: {{ settings.v }}\n",
      { v: "hunter22" },
      /hunter/,
    ],
    ["changed", "x:\n  {{ settings.v | upper }}.nop: []\n", { v: "hunter22" }, /hunter/i],
    ["cut", "x:\n  '{{ settings.v }}': []\n", { v: "hunter22 ".repeat(40) }, /hunter/],
    ["short", "x:\n  {{ settings.v }}.nop: []\n", { v: "pw1" }, /pw1/],
    ["a number", "x:\n  f{{ settings.v }}.nop: []\n", { v: 3141592 }, /31415/],
    ["deep", "x:\n  {{ settings.a.b[0] }}.nop: []\n", { a: { b: ["hunter22"] } }, /hunter/],
  ])("%s", async (_, text, settings, hidden) => {
    const { problems } = await found({ "a.sls": text }, [kind("a", { settings: settings ?? {} })]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("…");
    expect(problems[0]).not.toMatch(hidden);
  });

  test("what the file says itself stays", () => {
    const hide = hideSettings({ a: "nginx-full", b: [80, "x"], c: "İ" });
    expect(hide("no package nginx-full", "pkg: nginx-full")).toBe("no package nginx-full");
    expect(hide("no package nginx-full on 80", "")).toBe("no package … on …");
    expect(hide("x İ nginx-full", "")).not.toContain("nginx");
  });
});

test("settings are compiled for one peel of each kind", async () => {
  const tree = treeOf({
    ...top,
    "a.sls": "{% if labels.role == 'db' %}\nport: {{ facts.nothing.x }}\n{% endif %}\n",
  });
  const kinds = [kind("web-1", { labels: { role: "web" } }), kind("db-1", { labels: { role: "db" } })];
  const check = (peels: readonly Kind[]) =>
    compileSettingsForKinds(tree, { kinds: peels, left: 0 }, { strictFacts: false, turns });
  expect((await check(kinds)).problems.map(headlineOf)).toEqual([
    expect.stringMatching(/^a\.sls:2:\d+: for 2 peels such as db-1: /),
  ]);
  const single = await check(kinds.map((each) => ({ ...each, peels: 1 })));
  expect([single.problems.length, single.hints.length]).toEqual([0, 1]);
});
