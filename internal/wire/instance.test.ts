import { expect, test } from "bun:test";
import { encode } from "../base/msgpack.ts";
import { encodeHeartbeat, readHeartbeat } from "./heartbeat.ts";
import { decodeHello, encodeHello } from "./hello.ts";
import { createInstance } from "./instance.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const beat = { peel_id: "web-1", version: "1.0.0", started_at: "2026-01-01T00:00:00.000Z" };
const hello = { version: "1.0.0", sentAt: now, settingsVersion: 0, commandKeys: [] };

test("hellos and heartbeats of one process count together", () => {
  const next = createInstance((bytes) => new Uint8Array(bytes).fill(7), now);
  const read = [
    readHeartbeat(encodeHeartbeat({ ...beat, instance: next() }))?.instance,
    decodeHello(encodeHello({ ...hello, instance: next() })).instance,
    readHeartbeat(encodeHeartbeat({ ...beat, instance: next() }))?.instance,
  ];
  const one = { id: new Uint8Array(16).fill(7), startedAt: "2026-01-01T00:00:00.000Z" };
  expect(read).toEqual([1, 2, 3].map((seq) => ({ ...one, seq })));
});

test.each<[string, unknown]>([
  ["absent", undefined],
  ["a text", "x"],
  ["a short id", { id: new Uint8Array(15), started_at: beat.started_at, seq: 1 }],
  ["no number", { id: new Uint8Array(16), started_at: beat.started_at, seq: 0 }],
  ["no time", { id: new Uint8Array(16), started_at: "x", seq: 1 }],
])("an instance that is %s refuses no message", (_, instance) => {
  const bytes = encode({ ...beat, ...(instance === undefined ? {} : { instance: instance as string }) });
  expect(readHeartbeat(bytes)).toMatchObject({ version: "1.0.0" });
  expect(readHeartbeat(bytes)?.instance).toBeUndefined();
});
