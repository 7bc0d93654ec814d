import { describe, expect, test } from "bun:test";
import { peelCommands } from "../../internal/agent/command/mod.ts";
import { tree } from "../../internal/cli/tree.ts";
import { masterCommands } from "../../internal/master/command/mod.ts";
import { type CommandDef, childrenOf, metaOf } from "../../internal/program/command-line/command.ts";
import { formatUsage } from "../../internal/program/command-line/usage.ts";

// What --help shows fits the terminal, and lists the commands by what people do.

async function placesOf(command: CommandDef, path: string[]): Promise<[path: string, command: CommandDef][]> {
  const children = (await childrenOf(command)) ?? [];
  const below = await Promise.all(children.map((child) => placesOf(child, [...path, metaOf(child).name])));
  return [[path.join(" "), command], ...below.flat()];
}

const programs = [tree, masterCommands, peelCommands];
const places = (await Promise.all(programs.map((one) => placesOf(one, [metaOf(one).name])))).flat();

describe.each([60, 80, 120])("in %d cells", (width) => {
  test.each(places)("%s", async (path, command) => {
    const text = await formatUsage({ command, path: path.split(" ") }, width);
    const [before = "", after = ""] = text.split(/\n\nExamples:\n(?: {2}.*\n)*/);
    // A label alone on its line is copied whole.
    const isLong = (line: string) => line.length > width && !/^ {2}(?:-h, )?--[a-z-]+ <\S+>$/.test(line);
    expect(`${before}\n${after}`.split("\n").filter(isLong)).toEqual([]);
    expect(text.split("\n").filter((line) => line.endsWith(" "))).toEqual([]);
  });
});

test("every command of svc stands under one heading", async () => {
  const names = ((await childrenOf(tree)) ?? []).map((child) => metaOf(child).name);
  const { sections = [] } = metaOf(tree);
  expect(sections.flatMap(([, below]) => below).sort()).toEqual(names.sort());
});

test("a list has no more than two lines for a command, and the options of every command no more than three", async () => {
  for (const [path, command] of places) {
    const text = await formatUsage({ command, path: path.split(" ") });
    const list = text.split("\n\n").filter((part) => !/^(?:Usage|Arguments|Options|Examples)/.test(part));
    for (const part of list.slice(1)) expect(part).not.toMatch(/\n {6,}\S.*\n {6,}\S.*\n {6,}\S/);
    if (path.includes(" "))
      expect(text.slice(text.indexOf("Options of every command,")).split("\n").length).toBeLessThan(4);
  }
});

test.each([
  ["svc", true],
  ["svc-peel", false],
  ["svc-master", false],
])("%s takes --context: %p", async (program, takes) => {
  const command = programs.find((one) => metaOf(one).name === program) ?? tree;
  expect((await formatUsage({ command, path: [program] })).includes("--context")).toBe(takes);
});
