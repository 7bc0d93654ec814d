import { expect, test } from "bun:test";
import { ErrorCode, NatsError } from "nats";
import { storageError } from "../../bus/jetstream/mod.ts";
import { ApiError, refusalOf } from "./error.ts";

const now = Date.UTC(2026, 0, 31, 9, 0, 0);
const refused = (status: number, error: unknown, headers: Record<string, string> = {}) =>
  refusalOf(new Response(null, { status, headers }), { error }, now);

test.each([
  ["a bus that does not answer in time", new NatsError("TIMEOUT", ErrorCode.Timeout)],
  ["a bus without the bucket", new NatsError("503", ErrorCode.NoResponders)],
  ["a bus to which the connection is lost", new NatsError("CONNECTION_CLOSED", ErrorCode.ConnectionClosed)],
])("%s is said in words for people, whatever was read", (_, thrown) => {
  const { message } = storageError("the bucket sessions", thrown);
  const { message: said, isOutage } = refused(503, message);
  expect([said, isOutage]).toEqual([
    "The bus of the fleet does not answer, so this cannot be read or done now. svc doctor, on the host of a master, says what is wrong and what to do.",
    true,
  ]);
});

test("a limit says until when", () => {
  const { message } = refused(429, "rate limit exceeded", { "Retry-After": "10" });
  expect(message).toMatch(/Try again at \d\d:\d\d:10, in 10 s\.$/);
});

test.each([
  [503, "this master stops: ask another one"],
  [503, "the bucket jobs refuses to store more (no space left): make room on the disk of the bus"],
  [429, "too many readers of events: end some, or ask another master"],
  [403, "ann may not revoke"],
])("another refusal keeps its words: %d %s", (status, error) => {
  expect(refused(status, error).message).toBe(error);
});

test("an answer without words says its status", () => {
  expect(refused(502, undefined)).toEqual(new ApiError(502, "the master answered 502"));
});
