import { describe, expect, test } from "bun:test";
import { command, group } from "./command.ts";
import { findCommand, parseValues } from "./parse.ts";
import { formatUsage } from "./usage.ts";

const tree = group({
  name: "svc",
  description: "Test.",
  commands: () => [
    command({
      name: "go",
      description: "Take words.",
      examples: [],
      args: {
        where: { type: "positional", required: true, description: "Where" },
        words: { type: "positional", rest: true, description: "Words" },
        fast: { type: "boolean", description: "Fast" },
        limit: { type: "string", valueHint: "n", description: "Limit" },
      },
      run: async () => {},
    }),
  ],
});

const nouns = group({
  name: "svc",
  description: "Test.",
  commands: () => [
    command({ name: "events", description: "A.", examples: [], lists: true, args: {}, run: async () => {} }),
    command({ name: "status", description: "A.", examples: [], args: {}, run: async () => {} }),
    group({
      name: "roles",
      description: "B.",
      commands: () => [
        command({ name: "lint", description: "A.", examples: [], args: {}, run: async () => {} }),
        command({
          name: "show",
          description: "A.",
          examples: [],
          lists: true,
          args: {},
          run: async () => {},
        }),
      ],
    }),
    group({
      name: "settings",
      description: "B.",
      commands: () => [
        command({ name: "lint", description: "A.", examples: [], args: {}, run: async () => {} }),
      ],
    }),
  ],
});

describe("the word list", () => {
  test.each([
    [
      ["roles", "list"],
      ["svc", "roles", "show"],
    ],
    [
      ["roles", "show"],
      ["svc", "roles", "show"],
    ],
    [
      ["events", "list"],
      ["svc", "events"],
    ],
    [["events"], ["svc", "events"]],
  ])("%p is %p", async (argv, path) => {
    const found = await findCommand(nouns, argv);
    expect([found.path, found.rest]).toEqual([path, []]);
    expect(parseValues(found)).toMatchObject({ output: "table" });
  });

  test.each([
    [["settings", "list"], 'svc settings has no command "list" (there is lint); see svc settings --help'],
    [["show"], 'svc has no command "show" (did you mean svc roles show?); see svc --help'],
    [
      ["lint"],
      'svc has no command "lint" (did you mean svc roles lint or svc settings lint?); see svc --help',
    ],
    [["status", "list"], 'unexpected argument "list"; see svc status --help'],
    [["events", "list", "list"], 'unexpected argument "list"; see svc events --help'],
  ])("%p is a mistake", async (argv, message) => {
    expect(findCommand(nouns, argv).then(parseValues)).rejects.toThrow(message);
  });
});

const parse = async (...argv: string[]) => parseValues(await findCommand(tree, argv));

test("options of a command may stand before its name", async () => {
  expect(await parse("--fast", "--limit", "3", "go", "here")).toMatchObject({ fast: true, limit: "3" });
  await expect(parse("--fasd", "go", "here")).rejects.toThrow(
    'unknown option "--fasd" (did you mean --fast?)',
  );
  await expect(parse("--where", "x", "go")).rejects.toThrow('unknown option "--where"');
});

describe("a positional that takes the rest", () => {
  test.each([
    [["go", "here"], { words: [], literal: [] }],
    [["go", "here", "a", "b=1", "a"], { words: ["a", "b=1", "a"], literal: [] }],
    [["go", "here", "a", "--fast", "b", "--limit", "3", "c"], { words: ["a", "b", "c"], literal: [] }],
    [["go", "here", "--", "ls", "-l", "--fast"], { words: [], literal: ["ls", "-l", "--fast"] }],
    [["go", "here", "a=1", "--", "b=2", "--", "c"], { words: ["a=1"], literal: ["b=2", "--", "c"] }],
    [["go", "--", "-here", "-l"], { words: [], literal: ["-l"] }],
    [["go", "here", "-", ""], { words: ["-", ""], literal: [] }],
  ])("%p", async (argv, words) => {
    expect((await parse(...argv)).words).toEqual(words);
  });

  test("leaves the positionals before it, and options anywhere, as they are", async () => {
    expect(await parse("go", "--limit", "3", "here", "a", "--fast")).toMatchObject({
      where: "here",
      fast: true,
      limit: "3",
    });
    await expect(parse("go")).rejects.toThrow("<where> is required");
  });

  test("tells where a word belongs that looks like an option", async () => {
    await expect(parse("go", "here", "-l")).rejects.toThrow(
      'unknown option "-l"; put words that are not options of svc after "--"; see svc go --help',
    );
    await expect(parse("go", "here", "a", "--fasd")).rejects.toThrow(
      'unknown option "--fasd" (did you mean --fast?); see',
    );
    await expect(parse("go", "-l", "here")).rejects.toThrow('unknown option "-l"; see svc go --help');
  });

  test("is shown with dots", async () => {
    const text = await formatUsage(await findCommand(tree, ["go"]));
    expect(text).toContain("Usage: svc go <where> [words...] [options]");
    expect(text).toContain("\n  <words...>  Words");
  });
});
