import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { startBus } from "../../harness/bus.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { startObserver } from "../jobs/observer.ts";
import { runJob } from "../jobs/requests.ts";
import { median, quantile } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, rate, ratio, table } from "../table.ts";

// What the budgets of peels cost a fleet that keeps within them, beside a master without budgets, in turns
// within one run. See docs/bench.md.

const flags = readFlags({
  peels: ["1000", "4"],
  rounds: ["2", "1"],
  volleys: ["10", "1"],
  processes: ["2", "1"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const size = flags.count("peels");
const volleys = flags.count("volleys");
const rampPerSecond = 250;
const off = ["hello", "requests", "messages", "connections", "log-lines"].map((key) => `--budget-${key}=0`);
const modes = { "with budgets": [], "without (budget.*: 0)": off };
type Mode = keyof typeof modes;

interface Sample {
  /** Stored returns per second. */
  jobs: number;
  /** Seconds from the readiness of the bus until a share of the peels was answered. */
  half: number;
  last: number;
  /** Processor seconds of the master from there. */
  cpu: number;
  residentMib: number;
  /** Refusals and drops that the peels saw or the master logged. */
  limited: number;
}

const samples: Record<Mode, Sample[]> = { "with budgets": [], "without (budget.*: 0)": [] };
for (let round = 0; round < flags.count("rounds"); round++) {
  for (const mode of Object.keys(modes) as Mode[]) samples[mode].push(await sample(modes[mode]));
}
const of = (mode: Mode, pick: (one: Sample) => number) => median(samples[mode].map(pick));
const jobsWithout = of("without (budget.*: 0)", ({ jobs }) => jobs);
const lastWithout = of("without (budget.*: 0)", ({ last }) => last);
const rows = (Object.keys(modes) as Mode[]).map((mode) => [
  mode,
  rate(of(mode, ({ jobs }) => jobs)),
  ratio(of(mode, ({ jobs }) => jobs) / jobsWithout),
  milliseconds(of(mode, ({ half }) => half)),
  milliseconds(of(mode, ({ last }) => last)),
  ratio(of(mode, ({ last }) => last) / lastWithout),
  milliseconds(of(mode, ({ cpu }) => cpu)),
  mebibytes(of(mode, ({ residentMib }) => residentMib)),
  `${of(mode, ({ limited }) => limited)}`,
]);
const heads = ["", "returns/s", "of it", "hello p50 s", "last s", "of it", "master cpu s", "MiB", "limited"];
process.stdout.write(`
${size} peels: ${volleys} test.ping at once to all of them; then the bus is killed and comes back, medians:

${table(heads, rows)}
`);

async function sample(of: readonly string[]): Promise<Sample> {
  await using bus = await startBus();
  await using master = await startBenchMaster(bus, flags.text("master").split(" "), of);
  await using fleet = await startFleet(bus, {
    size,
    processes: flags.count("processes"),
    ramp: rampPerSecond,
  });
  await using observer = await startObserver(bus);
  await fleet.greeted();
  const ping = () => runJob(observer, { target: "sim-*", function: "test.ping", args: {} }, size);
  await ping();
  const began = systemClock.monotonic();
  await Promise.all(Array.from({ length: volleys }, ping));
  const jobs = (volleys * size * 1000) / (systemClock.monotonic() - began);

  await fleet.reset();
  await bus.restart("SIGKILL");
  const ready = systemClock.now();
  const cpu = cpuSecondsOf(master.pid);
  const { greetedAt, complaints } = await fleet.greeted();
  const after = (share: number) => (quantile(greetedAt, share) - ready) / 1000;
  const log = await Bun.file(join(bus.dir, "master.log")).text();
  return {
    ...{ jobs, half: after(0.5), last: after(1) },
    cpu: cpuSecondsOf(master.pid) - cpu,
    residentMib: memoryOf(master.pid).residentMib,
    limited: log.split("budget of a peel exceeded").length - 1 + (complaints["no answer to hello"] ?? 0),
  };
}
