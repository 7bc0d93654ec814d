import { join } from "node:path";
import { gibibyte } from "../../../internal/base/byte-size.ts";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { mapBounded } from "../../../internal/base/map-bounded.ts";
import { decode, encode } from "../../../internal/base/msgpack.ts";
import { provision } from "../../../internal/bus/assets/assets.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { jobDoors } from "../../../internal/fleet/jobs/doors.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { storeJob } from "../store-job.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

// What a page of the job list costs with many jobs in store. See docs/bench.md.

const flags = readFlags({
  jobs: ["1000,100000", "50,100"],
  peels: ["10000", "20"],
  asks: ["50", "2"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const peels = Array.from({ length: flags.count("peels") }, (_, at) => `web-${at}_example_com`);
const requests = flags.count("asks");
const atOnce = 64;

await using bus = await startBus();
const command = flags.text("master").split(" ");
const requester = await connectTo(bus, "master");
await provision(
  requester,
  { replicas: 1, onlyRaise: true, offer: { storage: 8 * gibibyte, memory: gibibyte } },
  requester.log,
);
const bucket = await openBucket(requester, "jobs");
const floorSubject = "svc.bench.page";
let floorReply: Uint8Array = new Uint8Array();
const floor = await connectTo(bus, "master");
floor.nats.subscribe(floorSubject, { callback: (_, message) => void message.respond(floorReply) });
await floor.nats.flush();

const rows: string[][] = [];
let stored = 0;
for (const size of flags.counts("jobs")) {
  await store(size);
  const started = systemClock.monotonic();
  await using master = await startBenchMaster(bus, command);
  await untilServed();
  const startMs = systemClock.monotonic() - started;
  const lines = {
    "first page": { limit: 20 },
    "first page, schedules folded": { limit: 20, fold: "schedules" },
    "of one peel": { limit: 20, target: peels[7] ?? "" },
    "failed, of one function": { limit: 20, status: "failed", function: "pkg.*" },
    "that nothing matches": { limit: 20, by: "nobody", fold: "schedules" },
  };
  for (const [name, query] of Object.entries(lines)) {
    const times = await timesOf(() => page(query));
    floorReply = await page(query);
    const floorTimes = await timesOf(() => request(floorSubject, {}));
    rows.push([
      name,
      `${size}`,
      milliseconds(median(times)),
      milliseconds(Math.max(...times)),
      milliseconds(median(floorTimes)),
      ratio(median(times) / median(floorTimes)),
      milliseconds(startMs),
      mebibytes(memoryOf(master.pid).privateMib),
    ]);
  }
}
await Promise.all([requester.nats.close(), floor.nats.close()]);
const heads = ["", "jobs", "p50 ms", "most ms", "floor p50", "of the floor", "start ms", "master MiB"];
process.stdout.write(`
A page of the job list over the bus, asked ${requests} times; the floor is a reply of the same bytes from another client:

${table(heads, rows)}
`);

async function request(subject: string, query: Record<string, unknown>): Promise<Uint8Array> {
  return (
    await requester.nats.request(subject, encode({ operator: "bench", ...query } as never), {
      timeout: 60_000,
    })
  ).data;
}

/** A master listens before it has read the jobs, and answers after that. */
async function untilServed(): Promise<void> {
  const pauseMs = 20;
  for (let left = 3_000; left > 0; left--) {
    try {
      await page({ limit: 1 });
      return;
    } catch {
      await sleep(systemClock, pauseMs);
    }
  }
  throw new Error("the master does not answer");
}

async function page(query: Record<string, unknown>): Promise<Uint8Array> {
  const reply = await request(jobDoors.listJobs.bus.subject, query);
  const { ok } = decode(reply) as { ok?: boolean };
  if (ok === false) throw new Error(JSON.stringify(decode(reply)));
  return reply;
}

async function timesOf(run: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let time = 0; time < requests; time++) {
    const started = systemClock.monotonic();
    await run();
    times.push(systemClock.monotonic() - started);
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Stores jobs until there are so many. */
async function store(size: number): Promise<void> {
  const numbers = Array.from({ length: Math.max(0, size - stored) }, (_, at) => stored + at);
  await mapBounded(numbers, { atOnce }, (number) => storeJob(bucket, peels, number));
  stored = Math.max(stored, size);
}
