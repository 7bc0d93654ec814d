import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileOptions } from "../../../test/harness/states.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { createDirectorySource } from "../files/mod.ts";
import { StateErrors } from "../function/mod.ts";
import { compileStates } from "../language/mod.ts";
import { createCompilers, readTree, SettingsFault } from "../settings/mod.ts";
import type { Compat } from "../template/mod.ts";
import { createSettingsCheck } from "./settings.ts";
import { createStateCheck } from "./states.ts";

const turns = { pause: async () => {}, now: () => 0 };
const state = "x: {test.nop: []}\n";
const setting = "x: 1\n";
const nested = (depth: number) => `x: ${"[".repeat(depth)}${"]".repeat(depth)}\n`;

/** A text of a state file, and of a settings file where that is another one. */
type Case = readonly [what: string, state: string | Buffer, setting?: string | Buffer];

/** Begins or ends both texts. */
const around = (what: string, before: string, after = ""): Case => [
  what,
  `${before}${state}${after}`,
  `${before}${setting}${after}`,
];

const broken: readonly Case[] = [
  ["a bracket", "x: [\n"],
  ["a brace over lines", "x: {a: 1\ny: 2\n"],
  ["a bracket, with CRLF", "x: [\r\ny: 1\r\n"],
  ["another bracket", "x: [a}\n"],
  ["a bracket that closes none", "x: a]]\ny: ]\n"],
  ["a quote", "x: 'a\n"],
  ["a double quote", 'x: "a\ny: 1\n'],
  ["a quote that the next one closes", 'x: "a\n  y: "b"\n'],
  ["a tab", "x:\n\ttest.nop: []\n"],
  ["a later tab", "x:\n  a: 1\n\tb: 2\n"],
  ["a tab between brackets", "x: [\n\ta,\n ]\n"],
  ["a key twice", `${state}${state}`, `${setting}${setting}`],
  ["a key twice, once in quotes", `${state}'x': []\n`, `${setting}'x': 1\n`],
  ["a key twice, deeper", "x: {test.nop: [{name: a, name: b}]}\n"],
  ["no anchor", "x: *a\n"],
  ["an anchor of itself", "x: &a [*a]\n"],
  ["an anchor after its alias", "x: *a\ny: &a 1\n"],
  ["an anchor without a name", "x: & 1\n"],
  ["a null byte", "x: a\0b\n"],
  around("a null byte at the end", "", "\0"),
  ["a control character", "x: a\u0001\n"],
  ["Latin-1", Buffer.from("x: \xe4\n", "latin1")],
  ["Latin-1 in a comment", Buffer.from(`# \xe4\n${state}`, "latin1"), Buffer.from("# \xe4\n", "latin1")],
  ["UTF-16", Buffer.from(`\ufeff${state}`, "utf16le")],
  ["half a surrogate", Buffer.from([0x78, 0x3a, 0x20, 0xed, 0xa0, 0x80, 0x0a])],
  ["70 levels", nested(70)],
  ["5000 levels", nested(5000)],
  ["levels of lines", `${Array.from({ length: 100 }, (_, at) => `${" ".repeat(at)}a:`).join("\n")}\n`],
  ["two documents", `${state}---\n${state}`],
  ["another version", `%YAML 2.0\n---\n${state}`],
  ["a tag of a program", "x: !!python/object/apply:os.system [id]\n"],
  ["an unknown tag", "{% iff x %}\n"],
  ["no endif", `{% if x %}\n${state}`],
  ["an endif too many", `{% if x %}{% endif %}{% endif %}\n${state}`],
  ["the end of another block", "{% if x %}{% endfor %}\n"],
  ["no endmacro", `{% macro m() %}\n${state}`],
  ["no end of an expression", "x: {{ 1\n"],
  ["no end of a comment", `{# x\n${state}`],
  ["no endraw", `{% raw %}\n${state}`],
  ["no end of a text", "x: {{ 'a }}\n"],
  ["an unknown filter", "x: {{ 1 | nothing }}\n"],
  ["an unknown test", `{% if 1 is nothing %}{% endif %}\n${state}`],
  ["a template that includes itself", "{% include 'a.sls' %}\n"],
  ["a template that imports itself", `{% import 'a.sls' as a %}\n${state}`],
  ["a macro of itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}\n"],
  ["a template that is missing", "{% include 'gone' %}\n"],
  ["a file that is missing", `include: [gone]\n${state}`],
  ["more than 1 MiB", `# ${"x".repeat(1_100_000)}\n${state}`],
  ["a list", "- a\n"],
  ["a value that needs quotes", "x: @a\n"],
  ["a second colon", "x: a: b\n"],
];

const fine: readonly Case[] = [
  around("a byte order mark", "\ufeff"),
  around("a byte order mark before the renderer", "\ufeff#!jinja|yaml\n"),
  ["CRLF", "x:\r\n  test.nop:\r\n    - require: []\r\n", "x:\r\n  y: |\r\n    a\r\n"],
  around("CRLF after the renderer", "#!jinja|yaml\r\n"),
  ["CR", "x:\r  test.nop: []\r", "x:\r  y: 1\r"],
  ["an anchor twice", "x: &a {test.nop: []}\ny: &a {test.nop: []}\n", "x: &a 1\ny: &a 2\nz: *a\n"],
  around("marks of a document", "---\n", "...\n"),
  around("a directive", "%YAML 1.1\n---\n"),
  around("an unknown filter where nothing is rendered", "{% if false %}{{ 1 | nothing }}{% endif %}\n"),
  around("a template that may be missing", "{% include 'gone' ignore missing %}\n"),
  ["nothing", ""],
  ["a comment", "# a\n"],
];

/** Whether a peel compiles the states. */
async function isRun(directory: string, compat: Compat): Promise<boolean> {
  try {
    const files = createDirectorySource(directory);
    await compileStates({ ...compileOptions({}), files, compat }, "highstate");
    return true;
  } catch (thrown) {
    if (thrown instanceof StateErrors) return false;
    throw thrown;
  }
}

/** Whether a master compiles the settings. */
async function isCompiled(directory: string): Promise<boolean> {
  try {
    const compiler = createCompilers({ strictFacts: false })(readTree(directory));
    await compiler.compile({ peelId: "web-1", facts: {}, labels: {} }, new Set());
    return true;
  } catch (thrown) {
    if (thrown instanceof SettingsFault) return false;
    throw thrown;
  }
}

test.each([
  ...broken.map(([what, ...texts]) => [what, false, ...texts] as const),
  ...fine.map(([what, ...texts]) => [what, true, ...texts] as const),
])("what is checked, published and run is one: %s", async (_, isFine, text, other = text) => {
  using directory = temporaryDirectory("agreement");
  const dir = directory.path;
  for (const [name, content] of [
    ["states", text],
    ["settings", other],
  ] as const) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "top.sls"), "base:\n  '*': [a]\n");
    writeFileSync(join(dir, name, "a.sls"), content);
  }
  for (const compat of ["strict", "salt"] as const) {
    const files = createDirectorySource(join(dir, "states"));
    const { problems } = await createStateCheck(turns).check(files, { compat, all: true });
    const found = { problems: problems.length === 0, run: await isRun(join(dir, "states"), compat) };
    expect({ compat, ...found }).toEqual({ compat, problems: isFine, run: isFine });
  }
  const tree = readTree(join(dir, "settings"));
  const { problems } = await createSettingsCheck(turns).check(tree, { strictFacts: false, all: true });
  const found = { problems: problems.length === 0, compiled: await isCompiled(join(dir, "settings")) };
  expect(found).toEqual({ problems: isFine, compiled: isFine });
});
