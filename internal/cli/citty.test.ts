import { expect, test } from "bun:test";
import * as citty from "citty";

// citty declares the commands, and its types give each command its arguments. It neither parses, nor finds the
// command, nor writes the help, for reasons that stand here as tests: one that fails after a new version of
// citty is a part of parse.ts or usage.ts that citty can take over.

const args = {
  file: { type: "string" },
  force: { type: "boolean" },
  "no-color": { type: "boolean" },
  word: { type: "positional", required: false },
} as const;

const parse = (...argv: string[]) => citty.parseArgs<typeof args>(argv, args) as Record<string, unknown>;

test("an unknown option is taken in silence, and so is another spelling of a known one", () => {
  expect(parse("--fiel", "x")).toMatchObject({ fiel: true, word: "x" });
  expect(parse("--noColor")).toMatchObject({ "no-color": true });
});

test("an option that appears twice, or has no value, is not an error", () => {
  expect(parse("--file", "a", "--file", "b").file).toBe("b");
  expect(parse("--file").file).toBe("");
  expect(parse("--force=maybe").force).toBe(true);
});

test("an option whose name begins with no- cannot be given", () => {
  expect(parse("--no-color")["no-color"]).toBeUndefined();
});

test("words after -- cannot be distinguished from those before it", () => {
  expect(parse("a", "b", "--", "c")._).toEqual(["a", "b", "c"] as never);
});

test("commands below a command are not given what the program works with, nor the options before their name", async () => {
  const seen: unknown[] = [];
  const leaf = citty.defineCommand<citty.ArgsDef>({
    args,
    run: ({ data, args: given }) => void seen.push(data, given.file),
  });
  const root = citty.defineCommand<citty.ArgsDef>({ args, subCommands: { leaf } });
  await citty.runCommand(root, { rawArgs: ["--file", "x", "leaf"], data: "cli" });
  expect(seen).toEqual([undefined, undefined]);
  expect(citty).not.toHaveProperty("resolveSubCommand");
});

test("help names no options that every command takes", async () => {
  const leaf = citty.defineCommand<citty.ArgsDef>({
    meta: { name: "leaf", description: "A leaf." },
    args: {},
  });
  const root = citty.defineCommand<citty.ArgsDef>({ meta: { name: "root" }, args, subCommands: { leaf } });
  expect(await citty.renderUsage(leaf, root)).not.toContain("--file");
});
