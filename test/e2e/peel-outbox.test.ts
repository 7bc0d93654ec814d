import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Local } from "../../internal/agent/daemon/local.ts";
import { startSession } from "../../internal/agent/daemon/session.ts";
import type { Connection } from "../../internal/agent/link/connection.ts";
import { createSpread } from "../../internal/agent/link/spread.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { dispatchSubject, keySubject, returnSubject } from "../../internal/bus/subjects/subjects.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { connectionOver } from "../harness/connection.ts";
import { fixedFacts } from "../harness/facts.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, observedLog } from "../harness/peel-connection.ts";
import { fixedSettings } from "../harness/settings.ts";
import { noStateFiles } from "../harness/state-files.ts";

// The messages of a peel reach the real stream in spite of failures.

const peelId = "web-1";
let bus: TestBus;
let master: TestMaster;
let masters: Bus;
let peel: EnrolledPeel;
let dataDir: string;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  masters = await connectTo(bus, "master");
  peel = await enrollPeel(master, peelId);
  dataDir = join(bus.dir, "peel");
  makeDirectory(dataDir, 0o700);
});
afterAll(async () => {
  await masters?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Everything the stream holds under a subject, oldest first. */
async function storedUnder(subject: string): Promise<unknown[]> {
  const manager = await masters.nats.jetstreamManager({ checkAPI: false });
  const { messages } = (await manager.streams.info("job-events")).state;
  const found: unknown[] = [];
  for (let seq = 1; seq <= messages; seq++) {
    const message = await manager.streams.getMessage("job-events", { seq });
    if (message.subject === subject) found.push(decode(message.data));
  }
  return found;
}

/** A peel's session over a connection of its own; it ends as if it were killed. */
async function live(local: Local, log = observedLog(), through = (connection: Connection) => connection) {
  const connected = await connectPeel(bus, peel);
  const session = startSession({
    connection: through(connectionOver(connected.bus)),
    peelId,
    commandKeys: { current: peel.commandKeys },
    facts: fixedFacts({ id: peelId }),
    settings: fixedSettings(),
    stateFiles: noStateFiles(),
    onCluster: async () => {},
    local,
    clock: systemClock,
    random: systemRandom,
    spread: createSpread(() => 0),
    jitter: () => 0,
    log,
  });
  await connected.nats.flush();
  return {
    log,
    async [Symbol.asyncDispose]() {
      local.outbox.stop();
      local.dedup.stop();
      session.stop();
      await local.executor.stop();
      await connected[Symbol.asyncDispose]();
    },
  };
}

const put = (local: Local, jid: string, value: unknown) =>
  local.outbox.put({ subject: returnSubject(jid, peelId), payload: encode(value), durable: true });

test("a hundred returns reach the stream in their order, although the bus is killed on the way", async () => {
  const log = observedLog();
  const local = localIn(dataDir, peelId, log);
  await using _ = await live(local, log);
  const kept = Array.from({ length: 60 }, (_, i) => put(local, `job-${i % 3}`, i));
  await kept[0]?.stored;
  await bus.stop("SIGKILL");
  const later = Array.from({ length: 40 }, (_, i) => put(local, `job-${i % 3}`, 60 + i));
  expect(local.outbox.messages).toBeGreaterThanOrEqual(40);
  await bus.start();
  const stored = await Promise.all([...kept, ...later].map((message) => message.stored));
  expect(new Set(stored)).toEqual(new Set([true]));
  for (const rest of [0, 1, 2]) {
    // What was stored while its answer was lost is stored again, and no later than what follows it.
    const values = (await storedUnder(returnSubject(`job-${rest}`, peelId))) as number[];
    const once = values.filter((value, i) => value !== values[i - 1]);
    expect(once).toEqual(Array.from({ length: 100 }, (_, i) => i).filter((i) => i % 3 === rest));
  }
}, 60_000);

test("a return that meets a frozen master is sent again before its time is up", async () => {
  const log = observedLog();
  const local = localIn(dataDir, peelId, log);
  const subject = returnSubject("job-frozen", peelId);
  let taken = 0;
  const losesFirst = (connection: Connection): Connection => {
    const request: Connection["request"] = (to, ...rest) =>
      to === subject && taken++ === 0 ? new Promise(() => {}) : connection.request(to, ...rest);
    return Object.create(connection, { request: { value: request } });
  };
  await using _ = await live(local, log, losesFirst);
  expect(await put(local, "job-frozen", "done").stored).toBe(true);
  expect([taken, await storedUnder(subject)]).toEqual([2, ["done"]]);
});

test("a return the stream never takes is replaced by one that says so", async () => {
  const log = observedLog();
  const local = localIn(dataDir, peelId, log);
  await using _ = await live(local, log);
  const jid = "job-huge";
  expect(await put(local, jid, Buffer.alloc(2 * 1024 * 1024)).stored).toBe(true);
  expect(await storedUnder(returnSubject(jid, peelId))).toEqual([
    expect.objectContaining({ success: false, error: expect.stringContaining("its return was refused") }),
  ]);
  // The smallest limit of a stream that a peel writes to; nothing says what could take this one's place.
  const subject = keySubject("peel-heartbeat", peelId);
  const kept = local.outbox.put({ subject, payload: Buffer.alloc(5000), durable: true });
  expect(await kept.stored).toBe(false);
  expect(
    (await log.logged("too large for the bus", (fields) => fields.subject === subject)).fields,
  ).toMatchObject({
    reason: "the bus did not store it: message size exceeds maximum allowed",
    dropped: true,
  });
});

test("a job under way when the peel dies is lost, and never run again", async () => {
  const key = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  const jid = newId("job", systemClock.now(), systemRandom);
  const signed = signCommand(
    {
      kind: "dispatch",
      jid,
      peel: peelId,
      deadline: systemClock.now() + 3600_000,
      body: encodeCall({ function: "test.sleep", args: { length: "1h" } }),
    },
    key,
  );
  const send = () => masters.nats.publish(dispatchSubject(jid, peelId), signed);
  {
    const local = localIn(dataDir, peelId, observedLog());
    await using _ = await live(local);
    const acknowledged = masters.nats.subscribe(`svc.job.${jid}.ack.${peelId}`, { max: 1 });
    await masters.nats.flush();
    send();
    for await (const _message of acknowledged) expect(local.dedup.has(jid)).toBe(true);
  }
  const returns = masters.nats.subscribe(returnSubject(jid, peelId), { max: 1 });
  await masters.nats.flush();
  const log = observedLog();
  const local = localIn(dataDir, peelId, log);
  await using _ = await live(local, log);
  for await (const message of returns) {
    expect(decode(message.data)).toMatchObject({ success: false, outcome: "lost" });
  }
  send();
  await log.logged("command came again", (fields) => fields.jid === jid);
  expect([local.executor.queued, local.dedup.unfinished()]).toEqual([0, []]);
});
