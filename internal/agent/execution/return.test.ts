import { expect, test } from "bun:test";
import { encode } from "../../base/msgpack.ts";
import type { JobReturn } from "../../wire/return.ts";
import { fittingReturn } from "./return.ts";

const result: JobReturn = {
  success: true,
  retcode: 0,
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 7,
};
const kibibyte = 1024;

test("a return that fits is left alone", () => {
  const small = { ...result, return: "x".repeat(500 * kibibyte) };
  expect(fittingReturn(small)).toBe(small);
});

test.each([
  ["text", "é".repeat(300 * kibibyte)],
  ["a list of numbers, shorter as JSON than as MessagePack", Array.from({ length: 62_000 }, () => 0.1)],
  ["a list of maps", Array.from({ length: 20_000 }, (_, i) => ({ name: `file-${i}`, mode: "0644" }))],
  ["bytes", Buffer.alloc(600 * kibibyte)],
])("%s that is too large is truncated with a note, and keeps its outcome", (_, value) => {
  const cut = fittingReturn({ ...result, return: value });
  expect(encode(cut).length).toBeLessThan(512 * kibibyte);
  const { return: text, ...rest } = cut;
  expect(rest).toEqual(result);
  const whole = Buffer.byteLength(JSON.stringify(value));
  const kept = Math.min(256 * kibibyte, whole);
  expect(text).toEndWith(`\n[cut: the first ${kept} of ${whole} bytes]`);
  expect(JSON.stringify(value).startsWith(String(text).split("\n[cut")[0] ?? "?")).toBe(true);
});

test("a long error is cut as well", () => {
  const cut = fittingReturn({ ...result, success: false, return: 1, error: "e".repeat(600 * kibibyte) });
  expect(cut.error).toEndWith(`[cut: the first ${64 * kibibyte} of ${600 * kibibyte} bytes]`);
  expect(encode(cut).length).toBeLessThan(128 * kibibyte);
});
