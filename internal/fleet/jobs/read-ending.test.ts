import { expect, test } from "bun:test";
import fc from "fast-check";
import { encode } from "../../base/msgpack.ts";
import { decodeReturn, type Ending, endings } from "../../wire/return.ts";
import { readEnding } from "./read-ending.ts";

const scalar = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
);
const fields = fc.record(
  {
    success: fc.boolean(),
    retcode: fc.integer({ min: -1000, max: 100_000 }),
    return: fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(fc.string(), scalar)),
    error: fc.string({ maxLength: 300 }),
    started_at: fc.string({ maxLength: 40 }),
    duration_ms: fc.nat(),
    outcome: fc.constantFrom(...endings),
  },
  { requiredKeys: ["success", "retcode", "started_at", "duration_ms"] },
);
/** In any order, with fields of other versions. */
const returned = fc
  .tuple(fields, fc.dictionary(fc.string({ maxLength: 5 }), scalar, { maxKeys: 1 }), fc.boolean())
  .map(([known, unknown, isTurned]) => {
    const all = Object.entries({ ...unknown, ...known });
    return encode(Object.fromEntries(isTurned ? all.toReversed() : all));
  });

/** What the whole return says of its end; `undefined` when it is malformed. */
function wholly(bytes: Uint8Array): Ending | undefined {
  try {
    const { success, outcome } = decodeReturn(bytes);
    return outcome === undefined ? { success } : { success, outcome };
  } catch {
    return undefined;
  }
}

test("of what it judges it says the same as the whole return", () => {
  fc.assert(
    fc.property(returned, (bytes) => {
      const ending = readEnding(bytes);
      if (ending !== undefined) expect(ending).toEqual(wholly(bytes) as Ending);
    }),
    { numRuns: 2_000 },
  );
});

test("the same when bytes of it are others, are missing or follow", () => {
  const change = fc.record({
    at: fc.nat(),
    to: fc.nat(255),
    cut: fc.option(fc.nat(40)),
    more: fc.uint8Array({ maxLength: 2 }),
  });
  fc.assert(
    fc.property(returned, change, (bytes, { at, to, cut, more }) => {
      const changed = Uint8Array.from([...bytes.subarray(0, bytes.length - (cut ?? 0)), ...more]);
      if (changed.length > 0) changed[at % changed.length] = to;
      const ending = readEnding(changed);
      if (ending !== undefined) expect(ending).toEqual(wholly(changed) as Ending);
    }),
    { numRuns: 5_000 },
  );
});

test("the return of a ping is judged, and so is a failure with an outcome", () => {
  const ping = {
    success: true,
    retcode: 0,
    return: true,
    started_at: "2026-01-01T00:00:00.000Z",
    duration_ms: 0,
  };
  expect(readEnding(encode(ping))).toEqual({ success: true });
  expect(readEnding(encode({ ...ping, return: "x".repeat(300) }))).toEqual({ success: true });
  const { return: _, ...rest } = ping;
  const failed = { ...rest, success: false, retcode: 1, error: "no", outcome: "busy" };
  expect(readEnding(encode(failed))).toEqual({ success: false, outcome: "busy" });
});

test("what contains other values, is unknown, missing or there twice is left to the whole reader", () => {
  const ping = { success: true, retcode: 0, started_at: "", duration_ms: 0 };
  for (const more of [
    { return: [1] },
    { return: {} },
    { constructor: 1 },
    { outcome: "other" },
    { error: null },
  ]) {
    expect(readEnding(encode({ ...ping, ...more }))).toBeUndefined();
  }
  const { duration_ms: _, ...short } = ping;
  expect(readEnding(encode(short))).toBeUndefined();
  const twice = Buffer.concat([
    Buffer.of(0x85),
    encode(ping).subarray(1),
    encode({ success: false }).subarray(1),
  ]);
  expect(readEnding(twice)).toBeUndefined();
  expect(readEnding(new Uint8Array())).toBeUndefined();
});
