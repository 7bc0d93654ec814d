import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { streamEnds } from "../../bus/streams/position.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createAuditWriter } from "./append.ts";
import type { EntryOutcome } from "./entry.ts";
import { createVersionFloors } from "./versions.ts";

let server: TestBus;
let bus: Bus;
const key = newKeyPair("user", systemRandom);
const keys = () => [key.publicKey];
const log = recordingLog();
const ends = () => streamEnds(bus, "audit");
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, { replicas: 1, onlyRaise: true }, log);
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

function changed(operator: string, version: number, outcome: EntryOutcome = "done", signer = key) {
  const writer = createAuditWriter({ bus, master: "one", signer, keys, clock: systemClock, log });
  return writer.append({
    ...{ operator: "ann", key: "", via: "bus", action: "operators.roles", outcome, requestId: "" },
    ...{ subjects: { operator, version }, requestDigest: new Uint8Array(32) },
  });
}

test("the greatest version of each name counts, and survives a restart without the bus", async () => {
  using dir = temporaryDirectory("versions");
  const path = join(dir.path, "decisions.log.versions");
  const open = () => createVersionFloors({ bus, path, keys, log });
  await changed("bob", 1);
  await changed("bob", 4);
  await changed("bob", 2);
  await changed("eve", 9, "failed");
  await changed("eve", 8, "begun");
  await changed("eve", 7, "done", newKeyPair("user", systemRandom));
  const first = open();
  expect(first.of("bob")).toBe(0);
  await first.refresh(await ends());
  expect([first.of("bob"), first.of("eve"), first.of("nobody")]).toEqual([4, 0, 0]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(open().of("bob")).toBe(4);
  const { seq } = JSON.parse(readFileSync(path, "utf8")) as { seq: number };
  expect(seq).toBe(6);

  await changed("bob", 5);
  const second = open();
  second.note("zoe", 3);
  second.note("zoe", 2);
  await Promise.all([second.refresh(await ends()), second.refresh(await ends())]);
  expect([second.of("bob"), second.of("zoe")]).toEqual([5, 3]);
  expect(open().of("zoe")).toBe(3);

  writeFileSync(path, "{");
  const again = open();
  expect(again.of("bob")).toBe(0);
  await again.refresh(await ends());
  expect(again.of("bob")).toBe(5);
});

test("a stream that was replaced takes no version back", async () => {
  using dir = temporaryDirectory("versions");
  const path = join(dir.path, "decisions.log.versions");
  const floors = createVersionFloors({ bus, path, keys, log });
  await changed("kim", 12);
  await floors.refresh(await ends());
  const manager = await bus.nats.jetstreamManager();
  const { config } = await manager.streams.info("audit");
  await manager.streams.delete("audit");
  await manager.streams.add(config);
  await changed("kim", 3);
  await floors.refresh(await ends());
  expect(floors.of("kim")).toBe(12);
});
