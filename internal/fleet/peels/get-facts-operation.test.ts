import { expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import { type Call, invoke } from "../operation/mod.ts";
import { getFacts } from "./get-facts-operation.ts";

const directory = {
  caughtUp: async () => {},
  members: () => ["web-1_example", "web-2"],
  memberOf: (peelId: string) =>
    directory.members().includes(peelId) ? ({ id: "enr-1", state: "active" } as const) : undefined,
  stateOf: () => undefined,
};
const facts = memoryBucket();
const call: Call = {
  ...{ caller: { kind: "operator", name: "ann", door: "bus" }, log: recordingLog(), clock: manualClock() },
};
const get = (id: string, name?: string) =>
  invoke(getFacts, { directory, facts }, { fields: name === undefined ? { id } : { id, name } }, call);

test("facts of a member are shown as it stored them, whole or one", async () => {
  const all = { os: "Debian", mounts: { "/": { fstype: "ext4" } }, text: "x".repeat(5_000), none: null };
  await facts.put("web-1_example", encode(all));
  expect(await get("web-1.example")).toMatchObject({ value: all, stored_at: expect.stringMatching(/Z$/) });
  expect(await get("web-1_example", "mounts:/:fstype")).toMatchObject({ value: "ext4" });
  expect(await get("web-1.example", "none")).toMatchObject({ value: null });
});

test.each([
  ["a fact that nobody has", "web-1.example", "mount", /has no fact "mount" \(did you mean mounts\?\)/],
  ["the name of an inherited property", "web-1.example", "constructor", /has no fact "constructor"/],
  [
    "a host outside the fleet",
    "web-3",
    undefined,
    /the peel "web-3" does not exist \(did you mean web-2\?\)/,
  ],
  ["a peel without facts", "web-2", undefined, /web-2 has stored no facts yet/],
])("%s is not found", async (_, id, name, message) => {
  await expect(get(id, name)).rejects.toThrow(message);
});

test.each([
  ["not MessagePack", new Uint8Array([0xc1])],
  ["a list", encode(["os"])],
  ["bytes", encode(new Uint8Array(4))],
])("facts that are %s are reported as unreadable", async (_, stored) => {
  await facts.put("web-2", stored);
  await expect(get("web-2")).rejects.toThrow("the stored facts of web-2 cannot be read");
});
