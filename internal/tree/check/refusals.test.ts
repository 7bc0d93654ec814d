import { expect, test } from "bun:test";
import { seeded } from "../../../test/harness/seeded.ts";
import { compileOptions, memoryFiles } from "../../../test/harness/states.ts";
import { StateErrors } from "../function/mod.ts";
import { compileStates } from "../language/mod.ts";
import type { Compat } from "../template/mod.ts";
import { headlineOf } from "./finding.ts";
import { createStateCheck } from "./states.ts";

/** Parts of state files: what a check can be wrong about, and mistakes of each kind. */
const parts: readonly string[] = [
  "x@: {test.nop: []}\n",
  "{{ pillar.name }}-@:\n  test.nop: []\n",
  "{% if facts.os == 'Debian' %}\nd@:\n  test.nop: []\n{% else %}\ne@:\n  test.nop: []\n{% endif %}\n",
  "{% for u in pillar.users %}\nu@-{{ u.name }}:\n  test.nop:\n    - comment: {{ u.shell | default('sh') }}\n{% endfor %}\n",
  "{% set m@ = salt['grains.filter_by']({'Debian': {'p': 'nop'}, 'RedHat': {'p': 'succeed_with_changes'}}) %}\nf@:\n  test.{{ m@.p }}: []\n",
  "{% set c@ = pillar.get('conf', {}) %}\n{% do c@.update({'port': 1}) %}\nc@:\n  test.nop:\n    - comment: {{ c@.port + 1 }}\n",
  "{% macro one(name) %}\n{{ name }}-@:\n  test.nop: []\n{% endmacro %}\n{{ one('m' ~ facts.os) }}\n",
  "{% from 'm.jinja' import v with context %}\ni@:\n  test.nop:\n    - comment: {{ v }}\n",
  "{% if facts.os not in ['Debian', 'RedHat'] %}{{ raise('unknown system') }}{% endif %}\n",
  "n@:\n  test.nop:\n    - comment: {{ (facts.num_cpus * 2) // pillar.per }}\n",
  "{% if pillar.broken is defined %}\n\tx: [\n{% endif %}\n",
  "{% if facts.os == 'Debian' %}\nb@: [\n{% endif %}\n",
  "{% if pillar.users | length > 5 %}\nb@:\n  test.nap: []\n{% endif %}\n",
  "y@:\n  test.nop:\n    - comment: {{ pillar.conf | json }}\n",
  "{{ pillar.block | yaml }}\n",
  "t@:\n  test.nop:\n    - comment: |\n        {{ pillar.text | indent(8) }}\n",
  "z@:\n  test.nop:\n    - watch_in: [test: z@b]\nz@b: {test.nop: []}\n",
];
const mistakes: readonly string[] = [
  ...[
    "w@: [\n",
    "w@:\n\ttest.nop: []\n",
    "w@:\n  test.nap: []\n",
    "w@: {{ facts.os }\n",
    "{% if %}\n",
    "w@: []\n",
  ],
  ...[
    "{{ 'a' | nothing }}\n",
    "w@: {test.nop: [{require: [{test: [a]}]}]}\n",
    "include: [gone]\n",
    "{% import 'gone' as g %}\n",
  ],
  ...[
    "w@: {test.nop: [{requires: [{test: a}]}]}\n",
    "{{ facts.os | nothing }}\n",
    "w@:\n  {{ 'test' }}.nap: []\n",
  ],
];

const hosts = ["Debian", "RedHat", "Plan9"].flatMap((os) =>
  [0, 1, 7].map((users) => ({
    facts: { os, os_family: os, num_cpus: 2 },
    settings: {
      ...{ name: "web", per: 2, conf: { a: 1 }, text: "one\ntwo", block: { "k-1": { "test.nop": [] } } },
      users: Array.from({ length: users }, (_, at) => ({ name: `u${at}` })),
    },
  })),
);

/** Whether a tree compiles for a host. */
async function compiles(files: Record<string, string>, host: (typeof hosts)[number], compat: Compat) {
  try {
    await compileStates({ ...compileOptions(files, host), compat }, "highstate");
    return true;
  } catch (thrown) {
    if (thrown instanceof StateErrors) return false;
    throw thrown;
  }
}

test.each<Compat>(["strict", "salt"])("what a check refuses compiles for no host (%s)", async (compat) => {
  const draw = seeded(34);
  const random = (below: number) => Math.floor(draw() * below);
  const check = createStateCheck({ pause: async () => {}, now: () => 0 });
  const counts = { refused: 0, fine: 0 };
  for (let turn = 0; turn < 400; turn++) {
    let isWrong = false;
    const some = (from: readonly string[]) => from[random(from.length)] ?? "";
    const file = (name: string) => {
      const chosen = Array.from({ length: 1 + random(4) }, () => some(parts));
      if (random(4) === 0) {
        // Where another part is not YAML for some hosts, or nobody knows, the check cannot read the rest.
        isWrong ||= !chosen.some((part) => part.includes("[\n") || part.includes("pillar.block"));
        chosen.splice(random(chosen.length + 1), 0, some(mistakes));
      }
      return chosen.map((part, at) => part.replaceAll("@", `${name}${at}`)).join("\n");
    };
    const files = {
      "top.sls": "base:\n  '*': [a, b]\n",
      "a.sls": file("a"),
      "b.sls": file("b"),
      "m.jinja": "{% set v = pillar.name ~ facts.os %}",
    };
    const { problems } = await check.check(memoryFiles(files), { compat });
    // Functions that nobody knows here may be known to Salt.
    if (isWrong && compat === "strict") expect({ files, problems }).not.toEqual({ files, problems: [] });
    const fine: string[] = [];
    for (const host of hosts) if (await compiles(files, host, compat)) fine.push(JSON.stringify(host));
    if (problems.length > 0) counts.refused++;
    else counts.fine++;
    expect({ files, problems: problems.map(headlineOf), fine: problems.length > 0 ? fine : [] }).toEqual({
      ...{ files, problems: problems.map(headlineOf), fine: [] },
    });
  }
  expect(counts.refused).toBeGreaterThan(60);
  expect(counts.fine).toBeGreaterThan(60);
});
