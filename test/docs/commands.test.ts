import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findCommand, parseValues } from "../../internal/cli/parse.ts";
import { tree } from "../../internal/cli/tree.ts";

// A command that a page shows must be one that svc takes.

const root = join(import.meta.dir, "../..");
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];

/** The `svc` command lines of a page's shell blocks, and those that stand in code within a sentence. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.split("\n"));
  const inline = [...text.matchAll(/`(svc [a-z][^`]*)`/g)].map(([, command = ""]) => command);
  return [...blocks.map((line) => line.trim().replace(/\s+#.*$/, "")), ...inline].filter((line) =>
    line.startsWith("svc "),
  );
}

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  );

async function check(line: string): Promise<void> {
  const found = await findCommand(tree, [
    ...wordsOf(line).slice(1),
    ...(/^svc [a-z-]+$/.test(line) ? ["--help"] : []),
  ]);
  if (!found.help) parseValues(found);
}

test("every svc command in README and docs is one that svc takes", async () => {
  const commands = pages.flatMap((page) =>
    commandsOf(readFileSync(join(root, page), "utf8")).map((line) => ({ page, line })),
  );
  expect(commands.length).toBeGreaterThan(5);
  const refused: string[] = [];
  for (const { page, line } of commands) {
    await check(line).catch((error) => refused.push(`${page}: ${line}: ${error.message}`));
  }
  expect(refused).toEqual([]);
});

test("a command that does not exist is found", async () => {
  expect(commandsOf("```sh\nsvc enroll aprove x # no\n```")).toEqual(["svc enroll aprove x"]);
  await expect(check("svc enroll aprove x")).rejects.toThrow("approve");
  await expect(check('svc enroll approve "a b" --forse')).rejects.toThrow("--force");
});
