import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { svc } from "../../test/harness/svc.ts";
import { systemRandom } from "../base/id.ts";
import { newKeyPair } from "../identity/mod.ts";
import { type CommandDef, childrenOf, examplesOf } from "../program/command-line/mod.ts";
import { tree } from "./tree.ts";

/** In place of the one that examples shorten. */
const { publicKey } = newKeyPair("user", systemRandom);

/** What no option with this placeholder takes. */
const wrong: Readonly<Record<string, readonly string[]>> = {
  duration: ["soon", "-1s"],
  "90d": ["soon"],
  time: ["yesterday"],
  n: ["many", "0"],
  "n|n%": ["many", "101%"],
  port: ["http", "0", "70000"],
  cidr: ["10.20.0.0/40"],
  ip: ["10.20.0"],
  json: ["{"],
  "U…": ["UAAA"],
  url: ["no url"],
  "name=value": ["=x"],
};

interface Tried {
  name: string;
  argv: string[];
}

/** Every option whose placeholder is in the table, with each wrong value, in the first example of its command. */
async function triesBelow(node: CommandDef, path: readonly string[]): Promise<Tried[]> {
  const children = (await childrenOf(node)) ?? [];
  if (children.length > 0) {
    const found = await Promise.all(
      children.map((child) => triesBelow(child, [...path, (child.meta as { name: string }).name])),
    );
    return found.flat();
  }
  const words = wordsOf((await examplesOf(node))[0] ?? "");
  return Object.entries((node.args ?? {}) as Record<string, { valueHint?: string }>).flatMap(
    ([name, { valueHint = "" }]) =>
      (wrong[valueHint] ?? []).map((bad) => ({
        name: `svc ${path.join(" ")} --${name}=${bad}`,
        argv: without(words, name).toSpliced(path.length, 0, `--${name}=${bad}`),
      })),
  );
}

/** The words of an example, behind `svc`. */
const wordsOf = (line: string): string[] =>
  [
    ...line
      .replace(/ [|>].*/, "")
      .replace(/\bU\w*…/, publicKey)
      .matchAll(/'([^']*)'|(\S+)/g),
  ]
    .map(([, quoted, word]) => quoted ?? word ?? "")
    .slice(1);

/** Without an option and its value. */
function without(words: readonly string[], name: string): string[] {
  const at = words.indexOf(`--${name}`);
  return at < 0 ? [...words] : words.toSpliced(at, 2);
}

const tries = await triesBelow(tree, []);

test("there are options of each kind", () => {
  const kinds = new Set(tries.map(({ name }) => /--[^=]+/.exec(name)?.[0]));
  expect(kinds.size).toBeGreaterThan(20);
});

test.each([
  ["svc enroll token create --ttl=721h", "--ttl: must be 1m to 30d"],
  ["svc enroll expect hosts --ttl=8785h", "--ttl: must be 1m to 366d"],
  ["svc token create --name=ci --role=viewer --expires=59s", "--expires: must be 1m to 366d"],
])("%s is out of bounds, which is exit code 2 as well", async (line, message) => {
  const { exit, stderr } = await svc(wordsOf(line));
  expect([exit, stderr]).toEqual([2, `svc: ${message}\n`]);
});

test("a line of a file that is wrong is not a wrong option", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "svc-flags-")), "hosts");
  writeFileSync(file, "web-1.example.com nokey\n");
  const { exit, stderr } = await svc(["enroll", "expect", file]);
  rmSync(dirname(file), { recursive: true });
  expect([exit, stderr]).toEqual([1, expect.stringContaining(`${file}:1: public_key:`)]);
});

test.each(tries)("$name is refused with exit code 2 before anything else is done", async ({ name, argv }) => {
  const { exit, stdout, stderr } = await svc(argv);
  expect([exit, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(/--[^=]+/.exec(name)?.[0] ?? name);
});
