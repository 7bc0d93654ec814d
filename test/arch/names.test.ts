import { expect, test } from "bun:test";
import { checkVocabulary, given } from "./names.ts";
import { lines, readRepository } from "./source.ts";

test("names are the words of the field", () => {
  expect(lines(checkVocabulary(readRepository(), given))).toEqual([]);
});

test.each([
  ["const ask = 1;", "ask"],
  ["function f(isAsked: boolean) {}", "isAsked"],
  ["const f = ({ asker }: { asker: string }) => asker;", "asker"],
  ["interface Asked {}", "Asked"],
  ["one.look();", "look"],
  ["const one = { lookUp() {} };", "lookUp"],
  ["class One { #looks = 1; }", "looks"],
  ["type Keeper = string;", "Keeper"],
  ["log.keep(1);", "keep"],
  ["const tellPeels = 1;", "tellPeels"],
  ["const isTold = true;", "isTold"],
  ["let heardAt = 0;", "heardAt"],
  ["const mostBytes = 5;", "mostBytes"],
  ["const atLeast = 5;", "atLeast"],
])("a planted name is found in %s", (text, name) => {
  const found = lines(checkVocabulary([{ path: "internal/jobs/a.ts", text }], []));
  expect(found).toEqual([expect.stringContaining(`internal/jobs/a.ts: has the name ${name}; use `)]);
});

test("a planted name is found in a page of the console and in the name of a file", () => {
  const page = { path: "internal/console/pages/a.tsx", text: "export const a = <Ask look={1} />;" };
  const file = { path: "internal/jobs/look-up.test.ts", text: "const a = 1;" };
  expect(lines(checkVocabulary([page, file], []))).toEqual([
    expect.stringContaining("has the name Ask;"),
    expect.stringContaining("has the name look;"),
    expect.stringContaining("has the name look-up;"),
  ]);
});

test("verbs before a noun, longer words, fields of formats, texts and comments are no such names", () => {
  const text = `
    const { asked_by, keepAlive, lookbehind, lookup, task, almost, tellurium } = one; // ask
    const text = "look" + keepHistory(mask, outlook);
  `;
  expect(checkVocabulary([{ path: "internal/jobs/a.ts", text }], [])).toEqual([]);
});

test("a name that is given counts where it is, and an exception that nobody needs is found", () => {
  const source = { path: "internal/bus/purge.ts", text: "const query = { keep: 1 };" };
  const exception = { name: "keep", where: /purge/, by: "JetStream" };
  expect(checkVocabulary([source], [exception])).toEqual([]);
  expect(checkVocabulary([{ ...source, path: "internal/bus/b.ts" }], [exception])).toHaveLength(2);
});
