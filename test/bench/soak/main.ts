import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { openBucket } from "../../../internal/bus/bucket.ts";
import { streamState } from "../../../internal/bus/jetstream/stream-state.ts";
import { followJob } from "../../../internal/fleet/jobs/follow.ts";
import { connectTo, natsServerPath, startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { dispatchBenchJob } from "../jobs/ask.ts";
import { quantile } from "../jobs/statistics.ts";
import { startMember } from "./member.ts";
import { formatSteps, type Role, type Step } from "./steps.ts";

// make soak: what a fleet costs after an hour of jobs, compared with its first minutes. See docs/bench.md.

const flags = readFlags({ hours: ["1", "0.001"], rate: ["5", "10"], peels: ["4", "1"] });
const hours = Number(flags.text("hours"));
const mostHours = 24;
if (!(hours > 0 && hours <= mostHours)) throw new Error(`--hours is a number up to ${mostHours}`);
const jobsPerSecond = flags.count("rate");
const steps = 10;
const stepMs = (hours * 3600_000) / steps;
/** The first answers of a program, and what it does once after its start, do not count. */
const warmUpJobs = 20;
/** One function is answered at once; the other is queued and noted on disk before it runs, as most are. */
const functions = ["test.ping", "test.true"];

await using bus = await startBus();
await using master = await startMasterBinary(bus);
await using stack = new AsyncDisposableStack();
const names = Array.from({ length: flags.count("peels") }, (_, at) => `peel-${at + 1}`);
const peels = [];
for (const name of names) peels.push(stack.use(await startMember(bus, master, name)));
const asker = await connectTo(bus, "master");
const follow = {
  bus: asker,
  jobs: await openBucket(asker, "jobs"),
  alive: () => new Set<string>(),
  clock: systemClock,
};
const pids: Readonly<Record<Role, readonly number[]>> = {
  bus: [bus.server().pid],
  master: [master.program.pid],
  peel: peels.map(({ program }) => program.pid),
};

for (let number = 0; number < warmUpJobs; number++) await runJob(number);
const server = Bun.spawnSync([natsServerPath(), "--version"]).stdout.toString().trim();
process.stdout.write(`${server}, ${names.length} peels, ${jobsPerSecond} jobs a second, ${hours} hours\n`);
const begun = systemClock.monotonic();
const done: Step[] = [];
const running = new Set<Promise<void>>();
let times: number[] = [];
let asked = 0;
let ended = 0;
for (let at = 1; at <= steps; at++) {
  const before = { ended, cpu: cpuOf() };
  times = [];
  while (systemClock.monotonic() < begun + at * stepMs) {
    const number = asked++;
    const job = runJob(number).then(
      (ms) => {
        ended++;
        times.push(ms);
      },
      (error) => void process.stdout.write(`job ${number}: ${String(error)}\n`),
    );
    running.add(job);
    void job.finally(() => running.delete(job));
    await sleep(systemClock, Math.max(0, begun + (asked * 1000) / jobsPerSecond - systemClock.monotonic()));
  }
  const cpu = cpuOf();
  const { messages } = await streamState(asker, "job-events");
  const step: Step = {
    hours: (systemClock.monotonic() - begun) / 3600_000,
    jobs: ended,
    ended: ended - before.ended,
    stored: messages,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    residentMib: eachRole((role) => meanOf(pids[role].map((pid) => memoryOf(pid).residentMib))),
    cpuSeconds: eachRole((role) => cpu[role] - before.cpu[role]),
  };
  done.push(step);
  process.stdout.write(
    `${(step.hours * 60).toFixed(1)} min: ${step.jobs} jobs, ${step.residentMib.bus.toFixed(1)} MiB of the bus\n`,
  );
}
await Promise.all(running);
await asker.nats.close();
process.stdout.write(`
Resident memory at the end of each tenth, of a peel on average; processor time per job, of all peels together,
which contains everything that the program did in this tenth. ${asked - ended} of ${asked} jobs did not complete.

${formatSteps(done)}
`);
// A run in which jobs fail has measured something else.
if (ended < asked) process.exitCode = 1;

/** Runs a job of one peel, the next one each time, as `svc run` does. @returns how long it took */
async function runJob(number: number): Promise<number> {
  const peel = names[number % names.length] ?? "";
  const name = functions[Math.floor(number / names.length) % functions.length] ?? "";
  const from = systemClock.monotonic();
  const jid = await dispatchBenchJob(asker, { target: peel, function: name, args: {} });
  const { status, counts } = await followJob(follow, jid, () => {});
  if (status !== "completed" || counts.ok !== 1)
    throw new Error(`${jid} is ${status}: ${JSON.stringify(counts)}`);
  return systemClock.monotonic() - from;
}

function eachRole(measure: (role: Role) => number): Record<Role, number> {
  return { bus: measure("bus"), master: measure("master"), peel: measure("peel") };
}

function cpuOf(): Record<Role, number> {
  return eachRole((role) => pids[role].reduce((sum, pid) => sum + cpuSecondsOf(pid), 0));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
