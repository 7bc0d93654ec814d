import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import { checkArguments, readCommandLine, signatureOf } from "./arguments.ts";
import type { ArgSpec, ModuleFunction } from "./function.ts";

const doc = "For the test.";

function made(args: Record<string, ArgSpec>, refuse?: ModuleFunction["refuse"]): ModuleFunction {
  return { name: "x.y", doc, args, ...(refuse === undefined ? {} : { refuse }), run: () => null };
}

const every = made({
  text: { type: "string", doc },
  count: { type: "integer", min: 1, max: 5, doc },
  ratio: { type: "number", doc },
  on: { type: "boolean", doc },
  wait: { type: "duration", doc },
  file: { type: "path", doc },
  bits: { type: "mode", doc },
  list: { type: "strings", doc },
  map: { type: "map", doc },
  any: { type: "any", doc },
  kind: { type: "string", values: ["one", "two"], doc },
});

describe("valid values", () => {
  test.each<[string, Plain[]]>([
    ["text", ["", "x", "1", "a\nb"]],
    ["count", [1, 5]],
    ["ratio", [0, -1.5, 1e300]],
    ["on", [true, false]],
    ["wait", ["0", "90s", "1h30m", "500ms"]],
    ["file", ["/", "/a", "/a/b/", "/a b/…", "/.hidden", "/a..b"]],
    ["bits", ["644", "0644", "4755"]],
    ["list", [[], ["a", ""]]],
    ["map", [{}, { a: { b: [1] } }]],
    ["any", [null, 1, "x", [], {}]],
    ["kind", ["one", "two"]],
  ])("%s", (name, values) => {
    for (const value of values) expect(() => checkArguments(every, { [name]: value })).not.toThrow();
  });
});

describe("an invalid value is rejected with the expected type", () => {
  test.each<[string, unknown[], string]>([
    ["text", [1, true, null, [], {}], "expected a string"],
    ["count", [0, 6, 1.5, "1", null, Number.NaN], "expected an integer from 1 to 5"],
    ["ratio", ["1", Number.NaN, Number.POSITIVE_INFINITY, null], "expected a number"],
    ["on", ["true", 1, null], "expected true or false"],
    ["wait", ["90", "soon", "", 90, null], "expected a duration"],
    ["file", ["", "a", "./a", "/a/../b", "/a/.", "/a//b", "/a\0b", "~", 1], "expected an absolute path"],
    ["bits", ["0o644", "888", "64", "00644", 644, 420], "expected three or four octal digits"],
    ["list", ["a", [1], [["a"]], {}, null], "expected a list of strings"],
    ["map", [[], "a", null, new Uint8Array(1)], "expected a map"],
    ["kind", ["three", "", 1, null], "expected one of one, two"],
  ])("%s", (name, values, message) => {
    for (const value of values) {
      expect(() => checkArguments(every, { [name]: value })).toThrow(
        expect.objectContaining({ kind: "bad_request", message: expect.stringContaining(message) }),
      );
      expect(() => checkArguments(every, { [name]: value })).toThrow(`x.y: ${name}: `);
    }
  });
});

test("an unknown argument is rejected with a suggestion, also for property names of JavaScript", () => {
  expect(() => checkArguments(every, { txt: "a" })).toThrow(
    'x.y: unknown argument "txt" (did you mean text?)',
  );
  for (const name of ["__proto__", "constructor", "toString", ""]) {
    const args = JSON.parse(`{${JSON.stringify(name)}: "a"}`);
    expect(() => checkArguments(every, args)).toThrow(`x.y: unknown argument ${JSON.stringify(name)}`);
  }
});

test("a missing argument and an invalid combination are reported", () => {
  const called = made(
    { a: { type: "string", required: true, doc }, b: { type: "string", doc } },
    ({ a, b }) => (a === b ? "a and b have to differ" : undefined),
  );
  expect(() => checkArguments(called, {})).toThrow("x.y: a: missing; expected a string");
  expect(() => checkArguments(called, { a: "1", b: "1" })).toThrow("x.y: a and b have to differ");
  expect(() => checkArguments(called, { a: "1", b: "2" })).not.toThrow();
  expect(signatureOf(called)).toBe("x.y a [b]");
});

describe("words of the command line", () => {
  test.each<[string[], Record<string, Plain>]>([
    [[], {}],
    [["hello"], { text: "hello" }],
    [["123"], { text: "123" }],
    [["true", "3"], { text: "true", count: 3 }],
    [["count=3", "hello", "2.5"], { count: 3, text: "hello", ratio: 2.5 }],
    [["a=b"], { text: "a=b" }],
    [["=x"], { text: "=x" }],
    [["text=a=b=c"], { text: "a=b=c" }],
    [["text="], { text: "" }],
    [["on=true", "ratio=-1e3", "wait=90s"], { on: true, ratio: -1000, wait: "90s" }],
    [["list=a,b,c d"], { list: ["a", "b", "c d"] }],
    [["list="], { list: [] }],
    [['list=["a,b", c]'], { list: ["a,b", "c"] }],
    [["list=[]"], { list: [] }],
    [["map={a: 1, b: [x, y]}"], { map: { a: 1, b: ["x", "y"] } }],
    [['map={"a": null}'], { map: { a: null } }],
    [["any=5"], { any: 5 }],
    [["any=five"], { any: "five" }],
    [['any="5"'], { any: "5" }],
    [["bits=0644", "kind=two"], { bits: "0644", kind: "two" }],
    [["/etc=passwd"], { text: "/etc=passwd" }],
  ])("%p", (line, args) => {
    expect(readCommandLine(every, line)).toEqual(args);
  });

  test.each<[string[], string]>([
    [["count=x"], "x.y: count: expected an integer"],
    [["count=1.0"], "x.y: count: expected an integer"],
    [["count=9"], "x.y: count: expected an integer from 1 to 5"],
    [["ratio=0x10"], "x.y: ratio: expected a number"],
    [["ratio="], "x.y: ratio: expected a number"],
    [["on=yes"], "x.y: on: expected true or false"],
    [["wait=5"], "x.y: wait: expected a duration"],
    [["list=[1]"], "x.y: list: expected a list of strings"],
    [["list=[a"], "x.y: list:1:"],
    [["map=a"], "x.y: map: expected a map"],
    [["map={a: 1"], "x.y: map:1:"],
    [["map={a: 1, a: 2}"], "appears twice"],
    [["count=1", "count=2"], "x.y: count: given twice"],
    [["bits=9"], "x.y: bits: expected three or four octal digits"],
  ])("%p are refused", (line, message) => {
    expect(() => readCommandLine(every, line)).toThrow(message);
  });

  test("excess words are rejected", () => {
    const two = made({ a: { type: "string", doc }, b: { type: "string", doc } });
    expect(() => readCommandLine(two, ["1", "b=2", "3"])).toThrow('x.y: unexpected argument "3"');
    expect(() => readCommandLine(made({}), ["1"])).toThrow('x.y: expected no arguments, got "1"');
  });

  test("any input gives valid arguments or a readable error", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 }), { maxLength: 4 }), (words) => {
        const names = Object.keys(every.args);
        const line = words.map((word, i) =>
          i % 2 === 0 ? word : `${names[word.length % names.length]}=${word}`,
        );
        let args: Record<string, Plain>;
        try {
          args = readCommandLine(every, line);
        } catch (thrown) {
          expect(thrown).toMatchObject({ kind: "bad_request" });
          return;
        }
        checkArguments(every, args);
      }),
    );
  });
});
