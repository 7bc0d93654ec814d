import { expect, test } from "bun:test";
import type { CommandDef } from "citty";
import { childrenOf, Exit, metaOf } from "../../program/command-line/mod.ts";
import { tree } from "../tree.ts";
import { confirm } from "./confirm.ts";

test.each([
  ["yes", " Yes ", false, { done: true, said: ["Revoke web-1? [y/N] "] }],
  ["no answer", "", false, { done: false, said: ["Revoke web-1? [y/N] ", "nothing was done"] }],
  ["another word", "sure", false, { done: false, said: ["Revoke web-1? [y/N] ", "nothing was done"] }],
  ["--yes", "n", true, { done: true, said: [] }],
  ["nobody can answer", undefined, false, { done: true, said: [] }],
])("%s", async (_, answer, isConfirmed, expected) => {
  const said: string[] = [];
  const prompt = async (question: string) => {
    said.push(question);
    return answer ?? "";
  };
  const cli = { say: (line: string) => void said.push(line), ...(answer === undefined ? {} : { prompt }) };
  const done = await confirm(cli, "Revoke web-1", isConfirmed).then(
    () => true,
    (thrown) => {
      expect(thrown).toEqual(new Exit(1));
      return false;
    },
  );
  expect({ done, said }).toEqual(expected as never);
});

/** What takes something from others or gives it back, by the last word of the command, apart from `svc ca` on files. */
const deciding = new Set([
  ...[
    "abort",
    "approve",
    "cancel",
    "clear-clone",
    "deny",
    "disable",
    "discard",
    "enable",
    "reject",
    "release",
  ],
  ...["remove", "remove-site", "revoke", "roles", "suspend"],
]);

test("every command that decides about others takes --yes", async () => {
  const found: string[] = [];
  const without: string[] = [];
  const visit = async (place: CommandDef, path: readonly string[]): Promise<void> => {
    if (path[0] === "ca") return;
    const children = await childrenOf(place);
    for (const child of children ?? []) await visit(child, [...path, metaOf(child).name]);
    if (children !== undefined || !deciding.has(path.at(-1) ?? "")) return;
    found.push(path.join(" "));
    if (!Object.hasOwn(place.args ?? {}, "yes")) without.push(path.join(" "));
  };
  await visit(tree, []);
  expect(found).toContain("enroll token revoke");
  expect(found.length).toBeGreaterThan(15);
  expect(without).toEqual([]);
});
