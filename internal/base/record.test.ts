import { expect, test } from "bun:test";
import * as v from "valibot";
import { decode, encode } from "./msgpack.ts";
import { record } from "./record.ts";
import { bytes, count, hidden, id, list, optional, part, text, textOf, time } from "./record-kinds.ts";

const fields = {
  id: id("job"),
  sortOf: ["sort", v.picklist(["plain", "other"]), "Its sort"],
  secret: hidden(bytes(2)),
  madeAt: ["made_at", time],
  places: list(part({ name: text(3), sinceAt: ["since", optional(time)] }), 2),
  tries: count(1),
  endedAt: ["ended_at", optional(time)],
  note: optional(textOf((found) => found !== "no", "a note")),
  seal: hidden(optional(bytes())),
} as const;
const thing = record("thing", fields, { version: 1 });

const always = {
  ...{ id: `job-${"0".repeat(27)}`, sortOf: "plain" as const, secret: Uint8Array.of(1, 2), madeAt: 1_000 },
  ...{ places: [{ name: "a" }, { name: "b", sinceAt: 2_000 }], tries: 1 },
};
const all = { ...always, endedAt: 3_000, note: "yes", seal: Uint8Array.of(3) };

test.each([[always], [all]])("a record is read as it was written: %#", (one) => {
  expect(thing.decode(thing.encode(one))).toEqual(one);
});

test("fields are stored in the order of their declaration, whatever the order of the record", () => {
  const { id, ...rest } = all;
  expect(Object.keys(decode(thing.encode({ ...rest, id })) as object)).toEqual([
    ...["v", "id", "sort", "secret", "made_at", "places", "tries", "ended_at", "note", "seal"],
  ]);
  expect(decode(thing.encode(all))).toMatchObject({
    made_at: "1970-01-01T00:00:01.000Z",
    places: [{ name: "a" }, { name: "b", since: "1970-01-01T00:00:02.000Z" }],
  });
});

test("what is read keeps no part of the message", () => {
  const message = thing.encode(all);
  expect(thing.decode(message).secret.buffer).not.toBe(message.buffer);
});

test("people see the stored form without what is hidden", () => {
  const shown = {
    ...{ id: always.id, sort: "plain", made_at: "1970-01-01T00:00:01.000Z" },
    ...{ places: [{ name: "a" }, { name: "b", since: "1970-01-01T00:00:02.000Z" }], tries: 1 },
  };
  expect<unknown>(thing.show(always)).toEqual(shown);
  expect<unknown>(thing.show(all)).toEqual({ ...shown, ended_at: "1970-01-01T00:00:03.000Z", note: "yes" });
  expect(Object.keys(thing.shownEntries)).toEqual([
    ...["id", "sort", "made_at", "places", "tries", "ended_at", "note"],
  ]);
  expect(v.getDescription(thing.shownEntries.sort)).toBe("Its sort");
  expect(v.is(thing.shownEntries.made_at, "1970-01-01T00:00:01.000Z")).toBe(true);
});

test.each([
  ["v", { v: 2 }, "Expected 1 but received 2"],
  ["id", { id: "job-1" }, "must be job- and a KSUID"],
  ["secret", { secret: Uint8Array.of(1) }, "must be 2 bytes"],
  ["made_at", { made_at: "soon" }, "Invalid timestamp"],
  ["places.1.name", { places: [{ name: "a" }, { name: "long" }] }, "Invalid length"],
  ["places.0.other", { places: [{ name: "a", other: 1 }] }, "Expected never"],
  ["tries", { tries: 0.5 }, "Invalid integer"],
  ["note", { note: "no" }, "must be a note"],
  ["note", { note: null }, "received null"],
  ["other", { other: 1 }, "Expected never"],
])("a malformed record is refused with the name of the field: %s", (field, change, problem) => {
  const stored = encode({ ...(decode(thing.encode(always)) as object), ...change });
  const refused = () => thing.decode(stored);
  expect(refused).toThrow(`a stored thing is malformed at ${field}: `);
  expect(refused).toThrow(problem);
});

test("an open record ignores what it does not know, and an error may be another one", () => {
  const open = record(
    "open",
    { name: text(9), inner: optional(part({ name: text(9) }, { isOpen: true })) },
    { isOpen: true, malformed: (field) => new RangeError(`what is ${field}?`) },
  );
  expect(open.parse({ name: "a", other: 1, inner: { name: "b", other: 1 } })).toEqual({
    name: "a",
    inner: { name: "b" },
  });
  expect(() => open.parse({})).toThrow(new RangeError("what is name?"));
});
