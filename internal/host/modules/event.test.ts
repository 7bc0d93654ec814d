import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import type { Plain } from "../../base/msgpack.ts";
import { checkCall } from "./registry.ts";

test("an event is handed to the peel with its tag and its data, none being empty data", async () => {
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

test("where no peel runs it says from where events are sent", async () => {
  await expect(callFunction("event.send", { tag: "disk/full" })).rejects.toThrow(
    "by a job, or in its schedule",
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
  ["the tags of the service", { tag: "svc" }, "the masters' own"],
  ["a tag of the service", { tag: "svc/peel/web/lost" }, "the masters' own"],
  ["much data", { tag: "disk/full", data: { text: "x".repeat(61 * 1024) } }, "are more than"],
  ["data that is not a map", { tag: "disk/full", data: [1] }, "data"],
])("%s is refused before it is a job", (_, args, message) => {
  expect(() => checkCall("event.send", args)).toThrow(message);
});
