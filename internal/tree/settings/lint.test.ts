import { expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { problemsOf, warningsOf } from "./lint.ts";

test("words that are true or false in Salt are warnings with their place", () => {
  const tree = treeOf({
    "top.sls": "base:\n  '*': [a]\n",
    "a.sls": "x: yes\ny: 'no'\n",
    "b.sls": "{% if id %}\nx: on # comment\nl:\n  - Off\n  - y: 'on'\nz: on the way\n{% endif %}\n# x: yes\n",
    "broken.sls": "a: [\n",
  });
  expect(warningsOf(tree).map((line) => line.split(" is ")[0])).toEqual([
    "a.sls:1: yes",
    "b.sls:2: on",
    "b.sls:4: Off",
  ]);
});

test("each place where a fact chooses is one line with its place", () => {
  const tree = treeOf({
    "top.sls":
      "base:\n  '*': [a]\n  'G@os:Debian': [b]\n  N@deb: [b]\n  'web-*':\n    - match: grain_pcre\n    - b\n".replace(
        "'web-*'",
        "'os:D.*'",
      ),
    "nodegroups.yaml": "deb: P@os:D.*\n",
    "a.sls": "x: 1\n{% if facts.os == 'Debian' %}\ny: {{ 1 if grains.x else 2 }}\n{% endif %}\n",
    "b.sls":
      "{% set os = facts.os %}\n{{ os }}: 1\nz: {{ {'a': 1}[os] }}\n{% for d in facts.disks %}{% endfor %}\n",
    "c.sls": "{% include facts.os %}\n",
  });
  expect(problemsOf(tree)).toEqual([
    "top.sls:3: the target uses facts: G@os:Debian",
    "top.sls:4: the target uses facts: N@deb",
    "top.sls:5: the target uses facts: os:D.*",
    "a.sls:2: a condition uses facts",
    "a.sls:3: a condition uses facts",
    "b.sls:2: the name of a setting may not depend on facts",
    "b.sls:3: a condition uses facts",
    "b.sls:4: a loop uses facts",
    "c.sls:1: include: the name of a file may not depend on facts",
  ]);
});

test("values of facts, and what the id chooses, are accepted", () => {
  const tree = treeOf({
    "top.sls": "base:\n  'web-*': [a]\n",
    "a.sls":
      "os: {{ facts.os }}\nb: '{{ facts.os }}: x'\n{% if id == 'web-1' %}c: 1{% endif %}\n{{ id }}: 1\n",
  });
  expect(problemsOf(tree)).toEqual([]);
});

test("a top file that is a template is checked line by line", () => {
  expect(
    problemsOf(treeOf({ "top.sls": "base:\n{% if id == 'a' %}\n  'G@os:x': [a]\n{% endif %}\n" })),
  ).toEqual(["top.sls:3: the target uses facts"]);
});
