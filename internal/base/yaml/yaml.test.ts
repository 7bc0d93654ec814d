import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SvcError } from "../errors.ts";
import { formatYaml, parseYaml, plainValue } from "./yaml.ts";

const refusals: [string, string][] = [
  ["a: 1\na: 2", 'f:2:1: the key "a" appears twice'],
  ["a: 1\n---\nb: 2", "f:2:1: only one document is allowed"],
  ["a: !!binary aGk=", "f:1:4: tags are not allowed"],
  ["!!set {a}", "f:1:1: tags are not allowed"],
  ["a: *x", "f:1:4: an alias must come after its anchor"],
  ["a: &x [*x]", "f:1:8: an alias must come after its anchor"],
  ["1: a", "f:1:1: a key must be a string: put it in quotes"],
  ["? [a]\n: b", "f:1:3: a key must be a string: put it in quotes"],
  ["a: .nan", "f:1:4: not a string, finite number, boolean, list or map"],
  ["\ta: b", "f:1:1: tabs are not allowed as indentation"],
  ["a: @x", "f:1:4: a value that starts with this character needs quotes"],
  ["a: b: c", "f:1:5: a map cannot start here: a value with a colon needs quotes"],
  ["a: 1\n  b: 2", "f:2:4: a map cannot start here: a value with a colon needs quotes"],
  ["a: 1\nb", "f:2:2: a key must end with a colon"],
  ["a: [1, 2", "f:1:4: the bracket [ is not closed"],
  ["a: 'x", "f:1:4: the quote ' is not closed"],
  ["a: [1, 2\nb: 3", "f:1:4: the bracket [ is not closed"],
  ["a: [1, 2}", "f:1:4: the bracket [ is not closed"],
  ["a: {b: [1, 2\nc: 3}", "f:1:8: the bracket [ is not closed"],
  ["a: [1, 2\n  b: 3\nc: [4]", "f:1:4: the bracket [ is not closed"],
  ["a: [1, {b: 2], 3}", "f:1:8: the bracket { is not closed"],
  ["- a:\n  - [b # ]\n  - c", "f:2:5: the bracket [ is not closed"],
  ["a: |\n  [x\n- b: {c: [1", "f:3:1: the indentation does not fit"],
  ["a: |\n  [x\nb: &b [1\nc: 1", "f:3:7: the bracket [ is not closed"],
  ["a: it's [x\nb: {1", "f:2:4: the bracket { is not closed"],
  ["a: [1\r\nb: 2", "f:1:4: the bracket [ is not closed"],
  ["a: ['x, y]\nb: 1", "f:1:5: the quote ' is not closed"],
  ['a: "x\\" y\nb: 1', 'f:1:4: the quote " is not closed'],
  ['a: "x\n  b: "y"', "f:1:4: this quote is closed in a later line, and more text follows there"],
  ["a: 'x\nb: 'y'", "f:1:4: the quote ' is closed after a line that is not further in"],
  ["a: {\n  b: 1\n}", "f:1:4: the bracket { is closed after a line that is not further in"],
  ["a: {x: 1 y: 2}", "f:1:11: a comma is missing"],
  ["a: [1,\n  {x: 1\n   y: 2}]", "f:3:5: a comma is missing"],
  ["a: [1]]", "f:1:7: this bracket closes none"],
  ["a: ]", "f:1:4: this bracket closes none"],
  ["a: 'it's'", "f:1:8: text follows a quote that closes: write it inside"],
  ["a: {x}/y", "f:1:7: text follows a bracket that closes: put the value in quotes"],
  ["a:\n  b: 1\n c: 2", "f:3:2: the indentation does not fit"],
  ["[".repeat(100) + "]".repeat(100), "f:1:64: nested too deeply"],
  ["[".repeat(20_000), "nested too deeply"],
  ["# x\n".repeat(300_000), "f: larger than 1 MiB"],
];

describe("parseYaml", () => {
  test.each(refusals)("refuses %#", (text, message) => {
    expect(() => parseYaml(text, "f")).toThrow(message);
  });

  test("names the bracket whose end is missing, wherever it stands", () => {
    const value = fc.oneof(
      fc.array(fc.jsonValue(), { minLength: 1 }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    );
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, 3), fc.boolean(), (data, space, isLast) => {
        const json = JSON.stringify(data, undefined, space).replaceAll("\n", "\n  ").slice(0, -1);
        const at = `f:3:6: the bracket ${json[0]} is not closed`;
        expect(() => parseYaml(`x: [a]\ny:\n  z: ${json}\n${isLast ? "" : "w: [1]\n"}`, "f")).toThrow(at);
      }),
    );
  });

  test("refuses an alias bomb without expanding it", () => {
    let text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (let i = 1; i < 12; i++)
      text += `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(", ")}]\n`;
    expect(() => parseYaml(text, "f")).toThrow("more than 50000 values");
  });

  test("uses YAML 1.2 despite other directives", () => {
    expect(plainValue(parseYaml("%YAML 1.1\n---\na: yes", "f"))).toEqual({ a: "yes" });
  });

  test("expands a small alias and keeps positions", () => {
    const root = parseYaml("a: &x [1]\nb: *x\nc:", "f");
    expect(plainValue(root)).toEqual({ a: [1], b: [1], c: null });
    expect(root.kind === "map" && root.entries[2]?.keyAt).toEqual({ line: 3, column: 1 });
  });

  test("an own key __proto__ stays data", () => {
    const value = plainValue(parseYaml("__proto__: {a: 1}", "f"));
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
  });

  test("tells where quoted, multi-line and empty values start", () => {
    const root = parseYaml("a: 'x'\nb:\n  - |\n    y\n  - {c: , d: 0644}\ne: ", "f");
    expect(JSON.parse(JSON.stringify(root))).toMatchObject({
      entries: [
        { value: { value: "x", at: { line: 1, column: 4 } } },
        {
          value: {
            at: { line: 3, column: 3 },
            items: [
              { value: "y\n", at: { line: 4, column: 1 } },
              {
                at: { line: 5, column: 5 },
                entries: [
                  { value: { value: null, at: { line: 5, column: 8 } } },
                  { value: { value: 644, digits: "0644", at: { line: 5, column: 14 } } },
                ],
              },
            ],
          },
        },
        { value: { value: null, at: { line: 6, column: 3 } } },
      ],
    });
  });

  test("an empty text is null", () => {
    expect(plainValue(parseYaml("# nothing\n", "f"))).toBeNull();
  });

  test("reads back what formatYaml writes", () => {
    // It writes these without quotes.
    const large = { "1E310": "-1e400", list: [{ "1e310": "" }] };
    expect(plainValue(parseYaml(formatYaml(large), "f"))).toEqual(large);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(plainValue(parseYaml(formatYaml(plain), "f"))).toEqual(plain);
      }),
    );
  });

  test("throws nothing but SvcError, in one line", () => {
    const pieces = fc.constantFrom(
      "a",
      ":",
      " ",
      "\n",
      "-",
      "[",
      "]",
      "{",
      "}",
      "&x",
      "*x",
      '"',
      "!",
      "|",
      "%",
      "?",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(text, (input) => {
        try {
          parseYaml(input, "f");
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SvcError);
          expect((thrown as SvcError).message).not.toContain("\n");
        }
      }),
      { numRuns: 2000 },
    );
  });
});
