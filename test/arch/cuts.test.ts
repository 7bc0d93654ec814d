import { expect, test } from "bun:test";
import { checkCuts } from "./cuts.ts";
import { lines, readRepository } from "./source.ts";

test("no text that may leave a peel is cut without a mark", () => {
  expect(lines(checkCuts(readRepository()))).toEqual([]);
});

test("a cut is found in code, in messages and with a constant; lists, digests and other parts are left", () => {
  const found = (text: string, path = "internal/host/modules/cmd.ts") => checkCuts([{ path, text }]).length;
  expect(found("export const a = (text: string) => text.slice(0, 80);")).toBe(1);
  expect(found(`export const a = (text: string) => \`it is \${text.trim().slice(-400)}.\`;`)).toBe(1);
  expect(
    found("export const a = (text: string) => text.substring(0, 4_000) + text.slice(0, maxCharacters);"),
  ).toBe(2);
  expect(found(`export const a = (text: string) => \`\${text.slice(0, limits.maxReason)}\`;`)).toBe(1);
  expect(
    found("export const a = (list: string[]) => list.slice(0, 5).concat(list.slice(0, maxNames));"),
  ).toBe(0);
  expect(found("export const a = (text: string) => sha256Hex(text).slice(0, 32) + text.slice(at, 80);")).toBe(
    0,
  );
  expect(found("export const a = (text: string) => text.slice(0, 80);", "internal/cli/limit.ts")).toBe(0);
});
