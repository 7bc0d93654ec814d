import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { streamEnds } from "../../bus/streams/position.ts";
import { readRange } from "../../bus/streams/read-range.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createAuditWriter } from "./append.ts";
import { createChainCheck } from "./chain.ts";
import { readEntry } from "./entry.ts";
import { openAuditMemory } from "./memory.ts";

let server: TestBus;
let bus: Bus;
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, { replicas: 1, onlyRaise: true }, recordingLog());
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

const key = newKeyPair("user", systemRandom);
const log = recordingLog();
const writer = (master: string, over = bus) =>
  createAuditWriter({ bus: over, master, signer: key, keys: () => [key.publicKey], clock: systemClock, log });
const draft = (requestId: string) => ({
  ...{ operator: "ann", key: "", via: "bus" as const, action: "things.rename", subjects: {} },
  ...{ outcome: "begun" as const, requestId, requestDigest: new Uint8Array(32) },
});

async function stored() {
  const messages = await readRange(bus, "audit", { from: 1, count: 10_000 });
  const checking = createChainCheck([key.publicKey], 1);
  for (const { sequence, data } of messages) checking.take({ sequence, bytes: data });
  return { messages, checking };
}

test("three masters that write at the same moment make one chain, and each entry is in it once", async () => {
  const other = await connectTo(server, "master");
  const writers = [writer("one"), writer("two", other), writer("three")];
  const wanted = writers.flatMap((_, index) => Array.from({ length: 300 }, (__, at) => `${index}-${at}`));
  const links = await Promise.all(wanted.map((id) => writers[Number(id[0])]?.append(draft(id))));
  const { messages, checking } = await stored();
  expect(checking.problems).toEqual([]);
  const ids = messages.map(({ data }) => readEntry(data).requestId);
  expect(ids.toSorted()).toEqual(wanted.toSorted());
  // What was answered is where it stands.
  expect(links.map((link) => ids[(link?.seq ?? 0) - 1])).toEqual(wanted);
  await Promise.all(writers.map(async (one) => one.refresh(await streamEnds(bus, "audit"), undefined)));
  for (const one of writers) expect(one.head?.seq).toBe(wanted.length);
  await other.drain();
});

test("nobody removes or replaces an entry, not even a master", async () => {
  const { sequence } = (await stored()).messages[0] ?? { sequence: 0 };
  const manager = await bus.nats.jetstreamManager();
  await expect(manager.streams.deleteMessage("audit", sequence)).rejects.toThrow(
    "message delete not permitted",
  );
  await expect(manager.streams.purge("audit")).rejects.toThrow("purge not permitted");
});

test("an entry after a restart of the bus continues the chain", async () => {
  const one = writer("one");
  await one.append(draft("before"));
  await server.restart("SIGKILL");
  const again = await connectTo(server, "master");
  const two = writer("two", again);
  await Promise.all([two.append(draft("a")), two.append(draft("b"))]);
  await again.drain();
  await until(() => bus.connected);
  expect((await stored()).checking.problems).toEqual([]);
});

test("a full store refuses, and the chain continues when there is room again", async () => {
  const manager = await bus.nats.jetstreamManager();
  const { config, state } = await manager.streams.info("audit");
  const one = writer("one");
  await manager.streams.update("audit", { ...config, max_bytes: state.bytes + 1_000 });
  const ends = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => one.append(draft(`full-${at}`))),
  );
  const refused = ends.filter((end) => end.status === "rejected");
  expect(refused.length).toBeGreaterThan(15);
  for (const { reason } of refused) {
    expect(reason).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("refuses to store more"),
    });
  }
  await manager.streams.update("audit", config);
  await one.append(draft("room"));
  const { messages, checking } = await stored();
  expect(checking.problems).toEqual([]);
  const ids = messages.map(({ data }) => readEntry(data).requestId).filter((id) => id.startsWith("full-"));
  // What was refused is missing, and what was answered is stored.
  expect(ids).toHaveLength(20 - refused.length);
});

/** The errors that `run` logs. */
async function complaints(run: () => Promise<unknown>): Promise<string[]> {
  const before = log.records.length;
  await run();
  return log.records.slice(before).flatMap(({ level, event }) => (level === "error" ? [event] : []));
}

test("what is written while the ends of the audit are under way is not missing from them", async () => {
  const one = writer("one");
  await one.append(draft("first"));
  const known = one.head;
  const ends = await streamEnds(bus, "audit");
  await one.append(draft("under-way"));
  expect(await complaints(() => one.refresh(ends, known))).toEqual([]);
  const isCut = "the audit ends before an entry that this master knows";
  expect(await complaints(() => one.refresh(ends, one.head))).toEqual([isCut]);

  // The same for what a master remembers: it writes before it has read the answer.
  using dir = temporaryDirectory("audit-memory");
  const request = async (...args: Parameters<Bus["nats"]["request"]>) => {
    const answer = await bus.nats.request(...args);
    if (args[0] === "$JS.API.STREAM.INFO.audit") await one.append(draft("under-way"));
    return answer;
  };
  const nats = new Proxy(bus.nats, {
    get: (target, name) => (name === "request" ? request : Reflect.get(target, name)),
  });
  const memory = openAuditMemory({
    ...{ bus: { ...bus, nats }, path: join(dir.path, "audit"), keys: () => [key.publicKey], log },
    ...{ head: () => one.head, retentionMs: 3600_000, clock: systemClock },
  });
  expect(await complaints(() => memory.refresh())).toEqual([]);
  expect(await complaints(() => memory.refresh())).toEqual([]);
});

test("a frozen bus fails an append within 5 s, also of those that wait behind", async () => {
  const one = writer("one");
  await one.refresh(await streamEnds(bus, "audit"), undefined);
  const { pid } = server.server();
  process.kill(pid, "SIGSTOP");
  await until(() => readFileSync(`/proc/${pid}/stat`, "utf8").includes(") T "));
  const began = systemClock.monotonic();
  try {
    const appends = Array.from({ length: 200 }, (_, at) => one.append(draft(`frozen-${at}`)));
    const ends = await Promise.allSettled(appends);
    expect(ends.every((end) => end.status === "rejected" && end.reason.kind === "unavailable")).toBe(true);
    // One after the other, they would take 16 s; on a busy machine, timers are late.
    expect(systemClock.monotonic() - began).toBeLessThan(10_000);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await one.append(draft("thawed"));
  expect((await stored()).checking.problems).toEqual([]);
}, 60_000);
