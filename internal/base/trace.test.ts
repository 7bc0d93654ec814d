import { expect, test } from "bun:test";
import fc from "fast-check";
import { traceparentOf, untraced } from "./trace.ts";

const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test.each([
  ["the form of W3C", valid, valid],
  ["a trace that is not kept", valid.replace(/1$/, "0"), valid.replace(/1$/, "0")],
  ["a later version", valid.replace("00", "cc"), valid],
  ["a later version with more", `${valid.replace("00", "cc")}-more`, valid],
  ["more behind this version", `${valid}-more`, undefined],
  ["more without a separator", `${valid.replace("00", "cc")}more`, undefined],
  ["the version that is not allowed", valid.replace("00", "ff"), undefined],
  ["no trace", valid.replace(/-0af[0-9a-f]+/, `-${"0".repeat(32)}`), undefined],
  ["no span", valid.replace(/-b7a[0-9a-f]+/, `-${"0".repeat(16)}`), undefined],
  ["capitals", valid.toUpperCase(), undefined],
  ["a line end", `${valid}\n`, undefined],
  ["a huge text", `${valid.replace("00", "cc")}-${"x".repeat(1_000)}`, undefined],
  ["a number", 5, undefined],
  ["nothing", undefined, undefined],
])("%s", (_, value, read) => expect(traceparentOf(value)).toBe(read as string));

test("what is read is always 55 characters of the form, or absent", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)),
      (text) => {
        const read = traceparentOf(text);
        if (read !== undefined) expect(read).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
      },
    ),
  );
});

test("without tracing the trace of others passes through", () => {
  const span = untraced.begin("a", { parent: valid });
  expect([span.traceparent, span.begin("b").traceparent]).toEqual([valid, valid]);
  expect(untraced.begin("a").traceparent).toBeUndefined();
});
