import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { newId, systemRandom } from "../../../internal/base/id.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { streamState } from "../../../internal/bus/jetstream/stream-state.ts";
import { ackSubject, returnSubject } from "../../../internal/bus/subjects/subjects.ts";
import { followJob } from "../../../internal/cli/job/follow-job.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { dispatchBenchJob } from "../jobs/requests.ts";
import { quiet } from "../quiet.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

// What a job costs the bus after few and after many earlier ones. See docs/bench.md.

const flags = readFlags({
  returns: ["1000,100000,1000000", "10,20"],
  jobs: ["200", "2"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const sizes = flags.counts("returns");
const jobs = flags.count("jobs");
/** The stream stores in order: an answer to the last of these says that all of them are stored. */
const chunk = 500;

await using bus = await startBus();
await using master = await startBenchMaster(bus, flags.text("master").split(" "));
await using fleet = await startFleet(bus, { size: 1, processes: 1, ramp: 100 });
await fleet.greeted();
const requester = await connectTo(bus, "master");
const [peel = ""] = fleet.peels;

const rows: string[][] = [];
const first = new Map<string, number>();
let stored = 0;
for (const size of sizes) {
  await store(size);
  await quiet(bus.server().pid);
  const { bytes } = await streamState(requester, "job-events");
  let last = "";
  const lines = {
    "a job, followed to its end": async () => {
      last = await dispatchBenchJob(requester, { target: peel, function: "test.ping", args: {} });
      const { status } = await followJob(requester, last);
      if (status !== "completed") throw new Error(`the job ${last} is ${status}`);
    },
    "a job, shown": () => followJob(requester, last, { until: "now" }),
  };
  for (const [name, run] of Object.entries(lines)) {
    await run();
    const before = cpuSecondsOf(bus.server().pid);
    const started = systemClock.monotonic();
    for (let job = 0; job < jobs; job++) await run();
    const wallMs = (systemClock.monotonic() - started) / jobs;
    const cpuMs = ((cpuSecondsOf(bus.server().pid) - before) * 1000) / jobs;
    if (!first.has(name)) first.set(name, cpuMs);
    rows.push([
      name,
      `${size}`,
      mebibytes(bytes / 1024 ** 2),
      milliseconds(wallMs),
      cpuMs.toFixed(2),
      ratio(cpuMs / (first.get(name) ?? cpuMs)),
      ...[bus.server().pid, master.pid].map((pid) => mebibytes(memoryOf(pid).privateMib)),
    ]);
  }
}
const heads = [
  "",
  "returns stored",
  "MiB stored",
  "wall ms",
  "bus cpu ms",
  "of the first",
  "bus MiB",
  "master MiB",
];
await requester.nats.close();
process.stdout.write(`
What a job of one peel costs the bus, ${jobs} jobs one after the other:

${table(heads, rows)}
`);

/** Stores returns of earlier jobs until there are so many. */
async function store(size: number): Promise<void> {
  const { nats } = requester;
  const value = encode({
    success: true,
    retcode: 0,
    return: "x".repeat(100),
    started_at: "",
    duration_ms: 3,
  });
  while (stored < size) {
    const count = Math.min(chunk, size - stored);
    for (let at = 1; at <= count; at++) {
      const jid = newId("job", systemClock.now(), systemRandom);
      nats.publish(ackSubject(jid, peel));
      const subject = returnSubject(jid, peel);
      if (at < count) nats.publish(subject, value);
      else await nats.request(subject, value, { timeout: 30_000 });
    }
    stored += count;
  }
}
