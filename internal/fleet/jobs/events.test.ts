import { expect, test } from "bun:test";
import { encode } from "../../base/msgpack.ts";
import { readEvent } from "./events.ts";

const returned = (fields: Record<string, unknown>) =>
  encode({ success: true, retcode: 0, started_at: "", duration_ms: 1, ...fields });
const read = (kind: string, data: Uint8Array) =>
  readEvent({ subject: `svc.job.j.${kind}.web1`, data, storedAt: 1 });

test("an acknowledgement above 4 KiB is ignored", () => {
  expect(read("ack", new Uint8Array(4096))).toEqual({ jid: "j", peel: "web1", at: 1 });
  expect(read("ack", new Uint8Array(4097))).toBeUndefined();
});

test("a return with more than 1 MiB, or more values than a master decodes, has failed", () => {
  const failed = { success: false, error: "return too large" };
  expect(read("return", returned({ return: "x".repeat(1024 * 1024) }))).toMatchObject({ return: failed });
  const lists = Array.from({ length: 100_000 }, () => ({}));
  expect(read("return", returned({ return: lists }))).toMatchObject({ return: failed });
  expect(read("return", returned({ return: lists.slice(0, 90_000) }))).toMatchObject({
    return: { success: true },
  });
  expect(read("return", encode(["?"]))).toMatchObject({
    return: { success: false, error: "the peel sent a malformed return" },
  });
});
