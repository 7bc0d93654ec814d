import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ArgsDef, CommandDef } from "citty";
import { tree } from "../../internal/cli/tree.ts";
import { childrenOf, metaOf } from "../../internal/program/command-line/command.ts";
import { masterProgram } from "../../internal/program/config/master.ts";
import { operatorOptions } from "../../internal/program/config/operator-options.ts";
import { flagOf } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";
import { manualOf } from "../../release/man/pages.ts";
import { type Page, page, paragraph, seeAlso, tagged } from "../../release/man/roff.ts";
import { runProgram } from "../harness/process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const files = temporaryDirectory("man");
afterAll(() => files[Symbol.dispose]());

const edition = { version: "1.2.3", date: "2026-01-31" };
const pages = new Map<string, Page>();
for (const make of Object.values(manualOf)) {
  for (const one of await make(edition)) pages.set(`${one.name}.${one.section}`, one);
}
const textOf = (name: string) => pages.get(name)?.text ?? "";
/** A term as a page has it. */
const term = (text: string) => text.replaceAll("-", "\\-");

test("every program has its pages, each with the head that manuals have", () => {
  const daemons = ["svc-master", "svc-peel"].flatMap((name) => [`${name}.8`, `${name}.yaml.5`]);
  expect([...pages.keys()]).toEqual(expect.arrayContaining(["svc.1", "svc.yaml.5", "svc-run.1", ...daemons]));
  for (const { name, section, text } of pages.values()) {
    expect(text).toStartWith(
      `.TH ${term(name.toUpperCase())} ${section} 2026-01-31 "svc 1.2.3" "svc manual"\n`,
    );
    expect(text).toContain(`\n.SH NAME\n${term(name)} \\- `);
  }
});

test("every command stands in a page of its own or its group's, with all that it takes", async () => {
  const walk = async (place: CommandDef, path: readonly string[]): Promise<void> => {
    const children = await childrenOf(place);
    for (const child of children ?? []) await walk(child, [...path, metaOf(child).name]);
    if (children !== undefined) return;
    const text = textOf(`svc-${path[0]}.1`);
    const line = ["svc", ...path].join(" ");
    expect(text).toContain(`.B "${term(line)} `);
    for (const [name, { type }] of Object.entries((place.args ?? {}) as ArgsDef)) {
      expect(text).toMatch(
        type === "positional" ? new RegExp(`[<[]${name.replaceAll("-", "\\\\-")}`) : term(`--${name}`),
      );
    }
    expect(textOf("svc.1")).toContain(`.BR ${term(`svc-${path[0]}`)} (1)`);
  };
  await walk(tree, []);
});

describe.each([masterProgram, peelProgram])("$name", (program) => {
  test("every flag and every key is in its pages, the commands too", () => {
    const daemon = textOf(`${program.name}.8`);
    const file = textOf(`${program.name}.yaml.5`);
    for (const [key, declared] of Object.entries(program.options)) {
      const flag = flagOf(key, declared);
      if (flag !== undefined)
        expect(daemon).toContain(term(`${declared.type.isSwitch ? "--[no-]" : "--"}${flag}`));
      expect(file).toContain(`.B "${key}"\n`);
    }
    for (const [word] of program.commands) {
      expect(daemon).toContain(`.SS "${program.name} ${word}"\n`);
      expect(daemon).toContain(`.B "${term(`${program.name} ${word}`)} `);
    }
  });
});

test("every key of the operator's command is in its page", () => {
  for (const key of Object.keys(operatorOptions)) expect(textOf("svc.yaml.5")).toContain(`.B "${key}"\n`);
});

test("text cannot become a request, and shows as it was written", () => {
  const made = page({ name: "a-b", section: 1, summary: "s" }, edition, [
    paragraph(".TH is 'text' \\fB with --long-option and a half-way … word"),
    tagged('--x <"y">', ".so /etc/passwd"),
    seeAlso([
      { name: "svc-run", section: 1 },
      { name: "svc", section: 1 },
    ]),
  ]);
  expect(made.text).toEndWith(
    [
      ".PP",
      "\\&.TH is \\(aqtext\\(aq \\efB with \\-\\-long\\-option and a half-way \\[u2026] word",
      ".TP",
      '.B "\\-\\-x <\\(dqy\\(dq>"',
      "\\&.so /etc/passwd",
      ".SH SEE ALSO",
      ".BR svc\\-run (1),",
      ".BR svc (1)",
      "",
    ].join("\n"),
  );
});

test("no line is a request but those of the language, and none is long", () => {
  for (const [name, { text }] of pages) {
    for (const line of text.trimEnd().split("\n")) {
      expect(`${name}: ${line}`).toMatch(/: (?:\.(?:TH|SH|SS|PP|TP|BR|B|br|nh|ad) ?|[^.'])/);
    }
  }
});

const checkers: Record<string, (file: string) => string[]> = {
  mandoc: (file) => ["mandoc", "-T", "lint", "-W", "warning", file],
  groff: (file) => ["groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", "-Z", file],
};
for (const [program, command] of Object.entries(checkers)) {
  if (Bun.which(program) === null) continue;
  test(`${program} has nothing to say about any page`, async () => {
    for (const [name, { text }] of pages) {
      const file = join(files.path, name);
      writeFileSync(file, text);
      const { code, stdout, stderr } = await runProgram(command(file), { env: { LC_ALL: "C" } });
      // A system may lack the file that changes groff's own settings.
      const said = `${program === "mandoc" ? stdout : ""}${stderr}`.replace(
        /.*can't find macro file.*\n/g,
        "",
      );
      expect(`${name} ${code} ${said}`).toBe(`${name} 0 `);
    }
  });
}
