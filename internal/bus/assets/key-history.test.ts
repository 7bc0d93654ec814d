import { expect, test } from "bun:test";
import { connectTo, startBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { openBucket } from "../storage/bucket.ts";
import { provision } from "./assets.ts";
import { readFullness } from "./fullness.ts";
import { fittingHistory, keepFewerRevisions } from "./key-history.ts";

test.each([
  ["an empty bucket keeps all", 0, 1, 10],
  ["one that has room again keeps all again", 34, 2, 10],
  ["one that is half full keeps what it keeps", 50, 10, 10],
  ["and no more", 50, 3, 3],
  ["one that fills up keeps half", 70, 10, 5],
  ["and half again", 75, 5, 2],
  ["but the latest in any case", 89, 1, 1],
  ["one that is nearly full keeps the latest alone", 90, 10, 1],
])("%s", (_, bytes, retains, expected) => {
  expect(fittingHistory({ bytes, maxBytes: 100 }, { wanted: 10, retains })).toBe(expected);
});

test("a bucket without a limit has room", () => {
  expect(fittingHistory({ bytes: 5, maxBytes: -1 }, { wanted: 10, retains: 1 })).toBe(10);
});

test("facts get a history when there is room, lose nothing, and give it up where room is short", async () => {
  await using server = await startBus();
  const bus = await connectTo(server, "master");
  const log = recordingLog();
  const provisionAll = () => provision(bus, { replicas: 1, onlyRaise: true }, log);
  const manager = await bus.nats.jetstreamManager();
  await provisionAll();
  const { config } = await manager.streams.info("KV_facts");
  await manager.streams.delete("KV_facts");
  await manager.streams.add({ ...config, max_msgs_per_subject: 1 });
  const facts = await openBucket(bus, "facts");
  const held = async (key: string) =>
    (await facts.history(key)).map(({ value }) => Buffer.from(value).toString());
  for (const text of ["0", "1"]) await facts.put("web-1", Buffer.from(text));
  await facts.put("web-2", Buffer.from("kept"));
  await provisionAll();
  expect((await manager.streams.info("KV_facts")).config).toEqual(config);
  expect(await held("web-1")).toEqual(["1"]);
  for (let at = 2; at < 14; at++) await facts.put("web-1", Buffer.from(`${at}`));
  expect(await held("web-1")).toEqual(Array.from({ length: 10 }, (_, at) => `${at + 4}`));
  expect(await held("web-2")).toEqual(["kept"]);
  const revisions = async () =>
    Object.fromEntries((await readFullness(bus)).map(({ asset, revisions: retains }) => [asset, retains]));
  expect(await revisions()).toMatchObject({ facts: 10, enrollments: undefined, jobs: undefined });

  await keepFewerRevisions(bus, "KV_facts", 2);
  await keepFewerRevisions(bus, "KV_facts", 5);
  expect(await held("web-1")).toEqual(["12", "13"]);
  expect(await held("web-2")).toEqual(["kept"]);
  expect((await facts.get("web-1"))?.value).toEqual(Buffer.from("13"));
  expect(await revisions()).toMatchObject({ facts: 2 });
  await provisionAll();
  expect((await manager.streams.info("KV_facts")).config.max_msgs_per_subject).toBe(10);
  await bus.nats.close();
});
