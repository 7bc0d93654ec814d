// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of rules are written this way
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { lintRules } from "./lint.ts";

const rule = (name: string, argv: string, more = "") =>
  `  - name: ${name}\n    match: a\n${more}    do: [job: {target: "*", function: cmd.run, args: {argv: ${argv}}}]\n`;
const open = '[ls, "${data.a}"]';
const unsafe = "    unsafe: true\n";
const ways =
  "pass the value whole, on stdin or in a variable EVENT_*, or set unsafe: true in the rule to trust the events";
const reason =
  "do: job: args: argv: item 2 (${data.a}): the program would read it as an option: write -- before it";

test("each rule that is refused or unsafe, and each error of a file, is one line with its place", () => {
  using directory = temporaryDirectory("rules");
  const write = (name: string, text: string) => writeFileSync(join(directory.path, name), text);
  write("a.yaml", `rules:\n${rule("open", open)}${rule("allowed", open, unsafe)}${rule("fine", "[ls]")}`);
  write("b.yaml", `rules:\n${rule("calm", "[ls]", unsafe)}`);
  write("c.yaml", "rules: [{}]\n");
  write("d.yaml", `rules:\n${rule("fine", "[ls]")}`);
  expect(lintRules(directory.path)).toEqual({
    checked: 4,
    problems: [
      `a.yaml:4: rule open: ${reason}: ${ways}`,
      `a.yaml:8: rule allowed: ${reason} (allowed by unsafe: true)`,
      "b.yaml:2: rule calm: unsafe: true is not needed: remove it",
      "c.yaml:1: rule 1: name is missing",
    ],
  });
  write("c.yaml", "");
  expect(lintRules(directory.path).problems.at(-1)).toBe(
    "d.yaml:2: the name fine is already used by the rule at a.yaml:9",
  );
});

test("a directory without rule files is refused", () => {
  using directory = temporaryDirectory("rules");
  expect(() => lintRules(directory.path)).toThrow(
    `${directory.path}: does not exist or contains no rule files`,
  );
});
