import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { SvcError } from "../errors.ts";
import { readDocument } from "./read.ts";
import {
  duration,
  fields,
  formOf,
  integer,
  list,
  mapOf,
  oneOf,
  oneOrMore,
  readBy,
  refuse,
  text,
} from "./schemas.ts";

const one = v.pipe(
  text(3),
  v.transform((name) => ({ name })),
);
const full = fields({ name: text(3), wait: v.exactOptional(duration(0, 90_000)) });
const schema = v.nullable(
  fields({
    people: mapOf(
      formOf([one, full], (value) => (value instanceof Map ? full : one)),
      v.pipe(v.string(), v.regex(/^[a-z]/, "expected a small letter")),
    ),
    count: v.exactOptional(integer(1, 9)),
    color: v.exactOptional(oneOf(["red", "green"])),
    tags: v.exactOptional(oneOrMore(text(5), 2, "an empty list names nothing")),
    rates: v.exactOptional(list(mapOf(v.boolean()))),
    target: v.exactOptional(
      v.pipe(
        text(9),
        readBy((word) => {
          if (word !== "no") return word.length;
          throw new SvcError("bad_request", "not this one");
        }),
      ),
    ),
    pair: v.exactOptional(
      v.pipe(
        fields({ a: v.number(), b: v.number() }),
        refuse(({ a, b }) => (a > b ? { at: ["b"], message: "is less than a" } : undefined)),
      ),
    ),
  }),
);
const read = (written: string) => readDocument(written, "f.yaml", schema);

test("values keep their order and their places", () => {
  const document = read("people:\n  zoe: zoe\n  '1':\n    name: one\n".replace("'1'", "constructor"));
  expect([...(document.value?.people ?? [])]).toEqual([
    ["zoe", { name: "zoe" }],
    ["constructor", { name: "one" }],
  ]);
  expect(document.at(["people", "constructor", "name"])).toEqual({ line: 4, column: 11 });
  expect(document.keyAt(["people", "constructor"])).toEqual({ line: 3, column: 3 });
  expect(document.digits(["people"])).toBeUndefined();
  expect(read("# nothing").value).toBeNull();
});

describe("what is wrong is said with its place, its name and what was found", () => {
  test.each([
    ["[]", "f.yaml:1:1: expected a map, found a list"],
    ["5", "f.yaml:1:1: expected a map, found a number"],
    ["count: 1", "f.yaml:1:1: people is required"],
    [
      "poeple: {}",
      'f.yaml:1:1: unknown key "poeple" (did you mean people?); known are people, count, color, tags',
    ],
    ["people: {}\nconstructor: 1", 'f.yaml:2:1: unknown key "constructor"; known are'],
    ["people: {__proto__: a}", "f.yaml:1:10: people: expected a small letter"],
    ["people: [a]", "f.yaml:1:9: people: expected a map, found a list"],
    ["people:", "f.yaml:1:8: people: expected a map, found nothing"],
    ["people: {a: 5}", "f.yaml:1:13: people: a: expected a string, found a number"],
    ["people: {a: abcd}", "f.yaml:1:13: people: a: expected 1 to 3 characters"],
    ["people: {a: {name: a, wait: 2h}}", "f.yaml:1:29: people: a: wait: expected 0 to 1m30s"],
    ["people: {a: {name: a, wait: 5x}}", 'f.yaml:1:29: people: a: wait: "5x" is not a duration'],
    [
      "people: {a: {name: a, wait: []}}",
      "f.yaml:1:29: people: a: wait: expected a duration such as 90s or 1h30m, found a list",
    ],
    ["people: {}\ncount: 10", "f.yaml:2:8: count: expected a whole number from 1 to 9, not 10"],
    ["people: {}\ncount: '1'", "f.yaml:2:8: count: expected a whole number from 1 to 9, found a string"],
    [
      "people: {}\ncolor: gren",
      'f.yaml:2:8: color: expected one of red, green, not "gren" (did you mean green?)',
    ],
    ["people: {}\ncolor: 1", "f.yaml:2:8: color: expected a string, found a number"],
    ["people: {}\ntags: []", "f.yaml:2:7: tags: an empty list names nothing"],
    ["people: {}\ntags: [a, b, c]", "f.yaml:2:7: tags: more than 2 items"],
    ["people: {}\ntags: [a, '']", "f.yaml:2:11: tags: expected 1 to 5 characters"],
    ["people: {}\nrates:\n  - a: yes\n", "f.yaml:3:8: rates: a: expected true or false, found a string"],
    ["people: {}\ntarget: no", "f.yaml:2:9: target: not this one"],
    ["people: {}\npair: {a: 2, b: 1}", "f.yaml:2:17: pair: b: is less than a"],
  ])("%j: %s", (written, problem) => {
    expect(() => read(written)).toThrow(problem);
  });
});
