import { expect, test } from "bun:test";
import * as v from "valibot";
import { parse } from "./parse.ts";

const schema = v.strictObject({
  id: v.string(),
  dry_run: v.optional(v.boolean()),
  mode: v.optional(v.picklist(["soft", "hard"]), "soft"),
  limit: v.optional(v.pipe(v.number(), v.maxValue(5, "must be 1 to 5"))),
  check: v.optional(v.strictObject({ function: v.string(), timeout: v.optional(v.string()) })),
  targets: v.optional(v.array(v.string())),
});

test("known fields of the right types pass, and defaults are filled in", () => {
  const fields = { id: "a", check: { function: "f" }, targets: ["x"] };
  expect(parse(schema, { fields })).toEqual({ ...fields, mode: "soft" });
  expect(parse(schema, { fields: {}, given: { id: "b" } })).toEqual({ id: "b", mode: "soft" });
});

test.each<[unknown, string]>([
  [
    { id: "a", dry_rn: true },
    'unknown key "dry_rn" (did you mean dry_run?); known are id, dry_run, mode, limit',
  ],
  [{ id: 5, constructor: 1 }, 'unknown key "constructor"; known are id'],
  [JSON.parse('{"id": "a", "__proto__": {}}'), 'unknown key "__proto__"; known are id'],
  [
    { id: "a", check: { function: "f", timeot: "1s" } },
    'unknown key "check.timeot" (did you mean timeout?); known are function, timeout',
  ],
  [{}, "id is required"],
  [{ id: undefined }, "id is required"],
  [{ id: "a", check: {} }, "check.function is required"],
  [{ id: ["secret"] }, "id: expected string"],
  [{ id: "a", mode: "secret" }, "mode: expected one of soft, hard"],
  [{ id: "a", limit: 9 }, "limit must be 1 to 5"],
  [{ id: "a", targets: ["x", 5] }, "targets.1: expected string"],
  [{ id: "a", check: [] }, "check.function is required"],
  [[], "the body must be an object"],
  [null, "the body must be an object"],
  ["secret", "the body must be an object"],
  [Buffer.from("secret"), "the body must be an object"],
])("%j: %s", (fields, message) => {
  const refused = (() => {
    try {
      return parse(schema, { fields, within: "the body" });
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(refused).toMatchObject({ kind: "bad_request", message: expect.stringContaining(message) });
  expect(String(refused)).not.toContain("secret");
});

test("fields that the door takes from elsewhere are refused, and not suggested", () => {
  expect(() => parse(schema, { fields: { id: "b" }, given: { id: "a" } })).toThrow(
    'unknown key "id"; known are dry_run, mode, limit, check, targets',
  );
  expect(() => parse(v.strictObject({ id: v.string() }), { fields: { x: 1 }, given: { id: "a" } })).toThrow(
    'unknown key "x"; none is known here',
  );
});
