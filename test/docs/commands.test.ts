import { expect, test } from "bun:test";
import { peelCommands } from "../../internal/agent/command/call.ts";
import { tree } from "../../internal/cli/tree.ts";
import { masterCommands } from "../../internal/master/command/command.ts";
import { findCommand, parseValues } from "../../internal/program/command-line/parse.ts";
import { pages, readPage } from "./pages.ts";

// A command that a page shows must be one that svc, or a daemon, takes.

/**
 * The `svc` command lines and those of daemons of a page's shell blocks, and those that stand in code within a
 * sentence.
 */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh(?: host| fails)?\n([\s\S]*?)```/g)].flatMap(([, block = ""]) =>
    block.split("\n"),
  );
  const inline = [...text.matchAll(/`(svc(?:-peel|-master)? [a-z][^`]*)`/g)].map(
    ([, command = ""]) => command,
  );
  const isCommand = (line: string) => /^svc |^svc-peel (?:call|check)|^svc-master check/.test(line);
  return [...blocks.map((line) => line.trim().replace(/\s+#.*$/, "")), ...inline].filter(isCommand);
}

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  );

const treeOf = (program: string | undefined) =>
  program === "svc" ? tree : program === "svc-peel" ? peelCommands : masterCommands;

async function check(line: string): Promise<void> {
  // The shell takes a redirection.
  const [program, ...words] = wordsOf(line.replace(/ > \S+$/, ""));
  const found = await findCommand(treeOf(program), [
    ...words,
    ...(/^svc(?:-peel|-master)?(?: [a-z-]+)+$/.test(line) ? ["--help"] : []),
  ]);
  if (!found.help) parseValues(found);
}

test("every svc command in README and docs is one that svc takes", async () => {
  const commands = pages.flatMap((page) => commandsOf(readPage(page)).map((line) => ({ page, line })));
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
  await expect(check("svc-peel call --locl test.ping")).rejects.toThrow("--local");
});
