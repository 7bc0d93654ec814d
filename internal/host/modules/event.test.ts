import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import type { Plain } from "../../base/msgpack.ts";
import { checkCall } from "./registry.ts";

test("an event is passed to the peel with its tag and its data; the default is empty data", async () => {
  const sent: unknown[] = [];
  const sendEvent = (tag: string, data: unknown) => {
    sent.push([tag, data]);
    return { onDisk: true };
  };
  const answer = await callFunction("event.send", { tag: "disk/full", data: { percent: 91 } }, { sendEvent });
  expect(answer).toEqual({ tag: "disk/full", kept_on_disk: true });
  await callFunction("event.send", { tag: "up" }, { sendEvent });
  expect(sent).toEqual([
    ["disk/full", { percent: 91 }],
    ["up", {}],
  ]);
});

test("without a running peel, the error says how to send events", async () => {
  await expect(callFunction("event.send", { tag: "disk/full" })).rejects.toThrow(
    "in a job or in the schedule",
  );
});

test.each<[string, Record<string, Plain>, string]>([
  ["no tag", { tag: "" }, "tag"],
  ["an empty segment", { tag: "disk//full" }, "disk//full"],
  ["an empty first segment", { tag: "/disk" }, "segments"],
  ["a dot", { tag: "disk.full" }, "segments"],
  ["a wildcard", { tag: "disk/*" }, "segments"],
  ["a blank", { tag: "disk full" }, "segments"],
  ["a long tag", { tag: "x".repeat(256) }, "at most 255"],
  ["the tags of the service", { tag: "svc" }, "reserved for masters"],
  ["a tag of the service", { tag: "svc/peel/web/lost" }, "reserved for masters"],
  ["much data", { tag: "disk/full", data: { text: "x".repeat(61 * 1024) } }, "exceed the limit"],
  ["data that is not a map", { tag: "disk/full", data: [1] }, "data"],
])("%s is refused before it is a job", (_, args, message) => {
  expect(() => checkCall("event.send", args)).toThrow(message);
});
