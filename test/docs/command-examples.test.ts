import { expect, test } from "bun:test";
import { peelCommands } from "../../internal/agent/command/mod.ts";
import { tree } from "../../internal/cli/tree.ts";
import { functionNames } from "../../internal/host/modules/mod.ts";
import { masterCommands } from "../../internal/master/command/mod.ts";
import {
  type CommandDef,
  childrenOf,
  examplesOf,
  metaOf,
} from "../../internal/program/command-line/command.ts";
import { findCommand, parseValues } from "../../internal/program/command-line/parse.ts";

// The examples of help and manual are command lines that the programs accept.

const programs = [tree, masterCommands, peelCommands];

/** Each command that runs, with its path. */
async function runnables(place: CommandDef, path: string[]): Promise<[path: string, command: CommandDef][]> {
  const children = await childrenOf(place);
  if (children === undefined) return [[path.join(" "), place]];
  return (await Promise.all(children.map((child) => runnables(child, [...path, metaOf(child).name])))).flat();
}

/** The words of a call inside a line as a shell reads them; no variables, no escapes. */
function wordsOf(line: string, path: string): string[] {
  const [call = ""] = line.slice(line.indexOf(path)).split(/ [<>|] /);
  return [...call.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

const all = (await Promise.all(programs.map((program) => runnables(program, [metaOf(program).name])))).flat();
const functions = new Set(functionNames);

test.each(all)("%s", async (path, command) => {
  const examples = await examplesOf(command);
  expect(examples.length).toBeGreaterThan(0);
  const [program = ""] = path.split(" ");
  const root = programs.find((one) => metaOf(one).name === program) ?? tree;
  for (const line of examples) {
    if (!line.includes(path)) throw new Error(`${line}: no example of ${path}`);
    const found = await findCommand(root, wordsOf(line, path).slice(1));
    expect(found.path.join(" ")).toBe(path);
    const { function: called } = parseValues(found);
    if (typeof called === "string" && !called.includes("*")) expect(functions).toContain(called);
  }
});
