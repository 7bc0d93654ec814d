import { expect, test } from "bun:test";
import fc from "fast-check";
import { matchGlob } from "./glob.ts";
import { resolveTarget } from "./resolve.ts";

const members = ["db-1_example", "web-1_example", "web-2_example"];

test("an expression is a glob on the id people read or the one on the wire", () => {
  expect(resolveTarget({ expression: "web-*" }, members)).toEqual(["web-1_example", "web-2_example"]);
  expect(resolveTarget({ expression: "web-1.example" }, members)).toEqual(["web-1_example"]);
  expect(resolveTarget({ expression: "web-[!1]*" }, members)).toEqual(["web-2_example"]);
  expect(resolveTarget({ expression: "mail-*" }, members)).toEqual([]);
});

test("a list names each member once and nobody else", () => {
  expect(resolveTarget({ peels: ["web-2.example", "web-2_example", "gone"] }, members)).toEqual([
    "web-2_example",
  ]);
});

test("a malformed target is refused", () => {
  for (const expression of ["", " ", "G@os:linux", "a and b", "(a)"]) {
    expect(() => resolveTarget({ expression }, members)).toThrow(
      expect.objectContaining({ kind: "bad_request" }),
    );
  }
  expect(() => resolveTarget({ peels: ["a b"] }, members)).toThrow(
    expect.objectContaining({ kind: "bad_request" }),
  );
});

test("a pattern without wildcards matches itself alone, and * everything", () => {
  const word = fc.stringMatching(/^[a-z0-9_-]{1,12}$/);
  fc.assert(
    fc.property(word, word, (pattern, text) => {
      expect(matchGlob(pattern, text)).toBe(pattern === text);
      expect(matchGlob("*", text)).toBe(true);
      expect(matchGlob(`${pattern}*`, pattern + text)).toBe(true);
      expect(matchGlob(`*${text}`, pattern + text)).toBe(true);
      expect(matchGlob("?".repeat(text.length), text)).toBe(true);
      expect(matchGlob("?".repeat(text.length + 1), text)).toBe(false);
    }),
  );
});

test("a hostile pattern takes no longer than a plain one", () => {
  expect(matchGlob(`${"*a".repeat(200)}b`, "a".repeat(255))).toBe(false);
});
