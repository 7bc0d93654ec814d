import { expect, test } from "bun:test";
import { encode } from "../base/msgpack.ts";
import { readRequestId } from "../base/request-id.ts";
import { decodeCall, encodeCall, encodeStop } from "./call.ts";

const call = { function: "test.ping", args: { n: 1 } };

test("a call is the same with and without the request that asked for it", () => {
  expect(decodeCall(encodeCall(call))).toEqual(call);
  expect(decodeCall(encodeCall(call, "r-1"))).toEqual(call);
});

test("a call names the key that what its return hides is sealed to, and a strange one is as none", () => {
  expect(decodeCall(encodeCall({ ...call, sealTo: "X" }))).toEqual({ ...call, sealTo: "X" });
  expect(decodeCall(encode({ ...call, seal_to: 7 }))).toEqual(call);
});

test("both commands have the request in their body", () => {
  expect(readRequestId(encodeCall(call, "r-1"))).toBe("r-1");
  expect(readRequestId(encodeCall(call))).toBeUndefined();
  expect(readRequestId(encodeStop("r-2"))).toBe("r-2");
  expect(encodeStop(undefined)).toHaveLength(0);
  expect(readRequestId(encodeStop(undefined))).toBeUndefined();
});

test.each([
  ["a number", 7],
  ["nothing", ""],
  ["129 characters", "a".repeat(129)],
  ["a line end", "a\nb"],
  ["a space", "a b"],
  ["a quote", 'a"b'],
  ["another script", "é"],
  ["a list", ["a"]],
])("a request ID that is %s is ignored", (_, hostile) => {
  expect(readRequestId(encode({ request_id: hostile }))).toBeUndefined();
});

test("junk, and anything that is not a map, has no request ID", () => {
  for (const bytes of [encode("r"), encode(null), encode([{ request_id: "r" }]), new Uint8Array([0xc1])]) {
    expect(readRequestId(bytes)).toBeUndefined();
  }
  expect(readRequestId(encode({ request_id: "a".repeat(128) }))).toHaveLength(128);
});
