import { afterAll, beforeAll, expect, test } from "bun:test";
import { ErrorCode, NatsError } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { assertStored } from "../../internal/bus/jetstream/stored.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { type KeyCheck, untilKey } from "../../internal/bus/storage/until-key.ts";
import { eventSubject, scheduleSubject } from "../../internal/bus/subjects/subjects.ts";
import { jobDoors } from "../../internal/fleet/jobs/doors.ts";
import { decodeJob } from "../../internal/fleet/jobs/records/record.ts";
import { encodeScheduledRun } from "../../internal/wire/scheduled-run.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { type FloodKind, floodKinds, startFlood } from "../harness/flooder.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { memoryOf } from "../harness/usage.ts";

// One peel after the other floods by each subject that its credentials allow, without a client library, until
// the bus has ended it. Another peel works meanwhile, and nothing of it is lost. The master has a process of
// its own: its memory is measured, and not that of the flood.

let bus: TestBus;
let daemon: MasterDaemon;
let masters: Bus;
let honest: ManualPeel;
const door = () => ({ url: daemon.url, ca: bus.caPem, token: daemon.token });
const resident = () => memoryOf(daemon.program.pid).residentMib;

beforeAll(async () => {
  bus = await startBus();
  daemon = await startMasterBinary(bus);
  masters = await connectTo(bus, "master");
  honest = await connectManualPeel(bus, await enrollPeel(door(), "honest"));
  await honest.beat();
}, 60_000);
afterAll(async () => {
  await honest?.[Symbol.asyncDispose]();
  await masters?.nats.close();
  await daemon?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const mebibyte = 1024 * 1024;
/** A list of a million empty maps: decoded, it takes more than 30 MB. */
const bomb = new Uint8Array(1_000_005).fill(0x80);
bomb.set([0xdd, 0x00, 0x0f, 0x42, 0x40]);
const kindOf = (name: string): FloodKind => {
  const kind = floodKinds.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`no flood with ${name}`);
  return kind;
};

const attacks: [string, FloodKind][] = [
  [
    "returns of a million empty maps for jobs that do not exist",
    { ...kindOf("large returns"), payload: bomb },
  ],
  ["hello", kindOf("hello")],
  ["requests for files", kindOf("fetch")],
  ["acks of 1 MB, which fill the stream", { ...kindOf("acks"), payloadBytes: 1_000_000 }],
  ["schedule results", kindOf("schedule results")],
  ["events", kindOf("events")],
  ["progress of jobs that do not exist", kindOf("progress")],
  ["facts of 85 KB", kindOf("large facts")],
];

let round = 0;

test.each(attacks)(
  "a flood of %s ends, and nothing of another peel is lost",
  async (_, kind) => {
    const peelId = `flood-${++round}`;
    const peel = await enrollPeel(door(), peelId);
    const before = resident();
    let max = before;
    using stack = new DisposableStack();
    const watching = systemClock.every(50, () => {
      max = Math.max(max, resident());
    });
    stack.defer(() => watching.cancel());
    await using flood = await startFlood(bus, peel, kind);
    let over = false;
    const ended = flood.ended().finally(() => {
      over = true;
    });
    const jids: string[] = [];
    do jids.push(...(await work()));
    while (!over);
    expect((await ended).sent).toBeGreaterThan(0);
    expect(max - before).toBeLessThan(200);

    for (const jid of jids) expect(await ending(jid)).toBe("completed");
    await daemon.program.waitFor(`"peel suspended","peel_id":"${peelId}"`);
    for (const stream of ["job-events", "events"]) {
      const { bytes, left } = await inStream(stream, peelId);
      expect(left).toEqual([]);
      expect(bytes).toBeLessThan(64 * mebibyte);
    }
  },
  60_000,
);

/** A job, an event and a schedule result of the honest peel. @returns the job, and the one of the schedule */
async function work(): Promise<string[]> {
  const { nats } = honest.connection;
  const request = encode({
    operator: "ci",
    target: "honest",
    function: "test.ping",
    args: {},
    timeout: "50s",
  });
  let jid: string | undefined;
  // Where the machine is quick, one after the other is more than an operator may send.
  while (jid === undefined) {
    const reply = await masters.nats.request(jobDoors.createJob.bus.subject, request, { timeout: 30_000 });
    ({ jid } = Object(decode(reply.data)) as { jid?: string });
  }
  // On a busy machine the one before may have been sent again.
  while ((await honest.next("dispatch")).jid !== jid);
  await honest.acknowledge(jid);
  await honest.answer(jid);
  const scheduled = newId("job", systemClock.now(), systemRandom);
  const result = {
    success: true,
    retcode: 0,
    return: true,
    started_at: "2026-01-01T00:00:00.000Z",
    duration_ms: 1,
  };
  const run = encodeScheduledRun({ schedule: "hourly", call: { function: "test.ping", args: {} }, result });
  for (const [subject, data] of [
    [scheduleSubject(scheduled, "honest"), run],
    [eventSubject("honest", "works"), encode({ data: { jid } })],
  ] as const) {
    assertStored(await takenFrom(nats, subject, data));
  }
  return [jid, scheduled];
}

/**
 * Sends until the bus takes it, as peels do: while a server reads the claims of an account again, such as those that
 * suspend the peel of the round before, nobody is there for what other peels send.
 */
async function takenFrom(
  nats: ManualPeel["connection"]["nats"],
  subject: string,
  data: Uint8Array,
): Promise<Uint8Array> {
  for (;;) {
    try {
      return (await nats.request(subject, data, { timeout: 30_000 })).data;
    } catch (thrown) {
      if (!(thrown instanceof NatsError) || thrown.code !== ErrorCode.NoResponders) throw thrown;
    }
  }
}

/** How a job ended, as soon as it has. */
async function ending(jid: string): Promise<string> {
  const jobs = await openBucket(masters, "jobs");
  const signal = AbortSignal.timeout(50_000);
  return untilKey(masters, { bucket: "jobs", key: jid, signal }, async (): Promise<KeyCheck<string>> => {
    const entry = await jobs.get(jid);
    const settled = entry === undefined ? undefined : decodeJob(entry.value).settled;
    return settled === undefined ? {} : { found: settled.status };
  }).catch(async (cause) => {
    const entry = await jobs.get(jid);
    const job = entry === undefined ? undefined : decodeJob(entry.value);
    throw new Error(`${jid} did not end: ${JSON.stringify(job)}`, { cause });
  });
}

/** The size of a stream, and the subjects of messages that a peel left in it. */
async function inStream(stream: string, peelId: string) {
  const manager = await masters.nats.jetstreamManager({ checkAPI: false });
  const { state } = await manager.streams.info(stream, { subjects_filter: ">" });
  const own = (subject: string) =>
    !subject.startsWith(eventSubject("_master", "")) && subject.includes(`.${peelId}`);
  const left = Object.keys(state.subjects ?? {}).filter(own);
  return { bytes: state.bytes, left };
}
