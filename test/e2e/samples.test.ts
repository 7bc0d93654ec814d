import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { until } from "../harness/until.ts";

// The master that writes the samples is killed, and another one continues them. It takes as long as a minute of a fleet.

setDefaultTimeout(240_000);
/** Until the next minute begins, a lease expires, and the next check. */
const nextSampleMs = 180_000;

let bus: TestBus;
const masters: MasterDaemon[] = [];

beforeAll(async () => {
  bus = await startBus();
  for (let at = 0; at < 2; at++) masters.push(await startMasterBinary(bus));
});
afterAll(async () => {
  for (const master of masters) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Samples {
  at: string[];
  alive: (number | null)[];
  stored_bytes: (number | null)[];
  jobs_completed: number[];
}

async function samplesOf({ url, token }: MasterDaemon): Promise<Samples> {
  const headers = { authorization: `Bearer ${token}` };
  const reply = await send(url, bus.caPem, { path: "/api/v1/samples", headers, from: freshAddress() });
  // Until the samples that are stored are read, and where this asks too often.
  if (reply.status === 503 || reply.status === 429)
    return { at: [], alive: [], stored_bytes: [], jobs_completed: [] };
  expect(reply.status).toBe(200);
  return reply.json as Samples;
}

async function writerOf(all: readonly MasterDaemon[]): Promise<MasterDaemon> {
  const acquired = ({ program }: MasterDaemon) => program.waitFor(/lease acquired.*publisher/);
  return Promise.race(all.map((master) => acquired(master).then(() => master)));
}

test("after a kill of the master that writes them, the other one continues the samples, and a new one reads them", async () => {
  const writer = await writerOf(masters);
  const [other = writer] = masters.filter((master) => master !== writer);
  const first = await until(
    () => samplesOf(other),
    ({ at }) => at.length > 0,
  );
  expect([first.alive[0], first.jobs_completed[0]]).toEqual([0, 0]);
  writer.program.kill("SIGKILL");
  const { at: times } = await until(
    () => samplesOf(other),
    ({ at }) => at.length > first.at.length,
    nextSampleMs,
  );
  expect(times.slice(0, first.at.length)).toEqual(first.at);
  expect(times.toSorted()).toEqual(times);
  const minutes = times.map((time) => time.slice(0, "2026-01-01T00:00".length));
  expect(new Set(minutes).size).toBe(minutes.length);
  const started = await startMasterBinary(bus);
  masters.push(started);
  const read = await until(
    () => samplesOf(started),
    ({ at }) => at.length >= times.length,
  );
  expect(read.at.slice(0, times.length)).toEqual(times);
});
