import { expect, test } from "bun:test";
import { nextStep } from "./next-step.ts";
import { formatProblems, Problems } from "./problem.ts";

test.each([
  ["undefined: pillar['a']", "add it to the settings of this host"],
  ["undefined: salt['pillar.get'](…)[0]", "add it to the settings of this host"],
  ["undefined: grains.ipv4[(…)]", "svc-peel call facts.items"],
  ["undefined: map", "set it before this place"],
  ["salt['a.b'] does not exist in templates", "docs/template-reference.md"],
  ['template not found: tried to import non-existing template "a"', "paths begin at the directory"],
  ["state file node does not exist", "add the file or the formula"],
  ['unknown state function "foo.bar"', "svc-peel call sys.list_state_functions"],
  ["require: no state matches file: /x", "include the file that declares it"],
  ['the key "a" appears twice', "join the two entries"],
  ["the indentation does not fit", "svc state render"],
])("about %s there is a next step", (message, step) => {
  expect(nextStep(message)).toStartWith(step);
});

test("a message that names the nearest word needs none", () => {
  expect(nextStep('unknown state function "pkg.instaled" (did you mean pkg.installed?)')).toBeUndefined();
  expect(nextStep("anything else")).toBeUndefined();
});

test("the next step stands below the excerpt, once for several problems", () => {
  const problems = new Problems({});
  problems.setText("a.sls", "include:\n  - b\n  - c\n", "");
  problems.add("state file b does not exist", { file: "a.sls", line: 2 });
  problems.add("state file c does not exist", { file: "a.sls", line: 3 });
  const formatted = formatProblems(problems.errors().problems);
  expect(formatted).toContain("a.sls:2: state file b does not exist\n      1 | include:\n>     2 |   - b\n");
  expect(formatted.match(/^ +next: add the file or the formula .*$/gm)).toHaveLength(1);
});
