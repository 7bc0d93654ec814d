import { loadavg } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startBus, type TestBus } from "../../harness/bus.ts";
import { newOperator } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { type BenchMaster, startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { type Observer, startObserver } from "../jobs/observer.ts";
import { type Answers, type BenchJob, runFloor, runJob } from "../jobs/requests.ts";
import { median, quantile } from "../jobs/statistics.ts";
import { milliseconds, ratio, table } from "../table.ts";
import { processorMsOf } from "./processor.ts";

// What a job costs the master and the bus beside the same questions without a job, whose answers are stored. Several
// versions of the master are measured in one run, each with a bus and a fleet of its own. See docs/bench.md.

const flags = readFlags({
  peels: ["40", "3"],
  rounds: ["20", "1"],
  "warm-ups": ["10", "0"],
  /** Between two rounds. */
  "pause-ms": ["0", "0"],
  processes: ["1", "1"],
  /** Peels that cost their machine little, so that there may be many: `yes` or `no`. */
  light: "no",
  /** Peels that connect in a second. */
  ramp: ["100", "250"],
  masters: join(import.meta.dir, "../../../dist/svc-master"),
});
const size = flags.count("peels");
const rounds = flags.count("rounds");
const warmUps = flags.count("warm-ups", 0);
const pauseMs = flags.count("pause-ms", 0);

const ping: BenchJob = { target: "sim-*", function: "test.ping", args: {} };
const ann = newOperator("ann");
const say = (text: string) => process.stdout.write(`${text}\n`);

/** A master with its bus, its peels and who asks it. */
interface Stand {
  name: string;
  bus: TestBus;
  master: BenchMaster;
  fleet: Fleet;
  observer: Observer;
}

interface Sample {
  answers: Answers;
  /** Processor milliseconds of each part. */
  cpu: Record<string, number>;
}

await using stack = new AsyncDisposableStack();
const stands: Stand[] = [];
for (const [at, master] of flags.text("masters").split(",").entries()) {
  stands.push(await stand(`master ${at + 1}`, master));
}

const lines = stands.flatMap((one) => [
  { stand: one, name: `${one.name}: test.ping`, run: () => runJob(one.observer, ping, size) },
  {
    stand: one,
    name: `${one.name}: test.ping, signed by an operator`,
    run: () => runJob(one.observer, ping, size, { by: ann, peels: one.fleet.peels }),
  },
  {
    stand: one,
    name: `${one.name}: floor: asks signed and verified, answers stored`,
    run: () => runFloor(one.observer, one.fleet.peels, "signed"),
  },
]);
const samples = new Map<string, Sample[]>();
for (let round = -warmUps; round < rounds; round++) {
  for (const { stand: one, name, run } of lines) {
    const before = processorOf(one);
    const answers = await run();
    // What follows the last answer belongs to the job: its end is written.
    await sleep(systemClock, settleMs());
    const after = processorOf(one);
    const cpu = Object.fromEntries(
      Object.entries(after).map(([part, ms]) => [part, ms - (before[part] ?? 0)]),
    );
    if (round >= 0) samples.set(name, [...(samples.get(name) ?? []), { answers, cpu }]);
  }
  if (pauseMs > 0) await sleep(systemClock, pauseMs);
}

const of = (name: string, pick: (sample: Sample) => number) => median((samples.get(name) ?? []).map(pick));
const servers = ({ cpu }: Sample) => (cpu.master ?? 0) + (cpu.bus ?? 0);
const rows = lines.map(({ stand: one, name }) => {
  const floor = `${one.name}: floor: asks signed and verified, answers stored`;
  const parts = ["master", "bus", "fleet", "asker"].map((part) =>
    milliseconds(of(name, ({ cpu }) => cpu[part] ?? 0)),
  );
  const last = (line: string) => of(line, ({ answers }) => quantile(answers, 1));
  return [
    name,
    ...parts,
    milliseconds(of(name, servers)),
    ratio(of(name, servers) / of(floor, servers)),
    milliseconds(last(name)),
    ratio(last(name) / last(floor)),
  ];
});
const heads = [
  "",
  "master ms",
  "bus ms",
  "fleet ms",
  "asker ms",
  "master + bus",
  "of floor",
  "last ms",
  "of floor",
];
say(`
${size} peels, ${rounds} rounds in turns after ${warmUps} that do not count, a load of ${loadavg()[0]?.toFixed(0)}; processor milliseconds of a round, medians:

${table(heads, rows)}`);

async function stand(name: string, binary: string): Promise<Stand> {
  const bus = stack.use(await startBus());
  listAdministrators(bus.authDir, ann);
  const master = stack.use(await startBenchMaster(bus, binary.split(" ")));
  const processes = flags.count("processes");
  const fleet = stack.use(
    await startFleet(bus, {
      size,
      processes,
      light: flags.text("light") === "yes",
      ramp: flags.count("ramp"),
    }),
  );
  const observer = stack.use(await startObserver(bus));
  await fleet.greeted();
  return { name, bus, master, fleet, observer };
}

function processorOf({ bus, master, fleet }: Stand): Record<string, number> {
  return {
    master: processorMsOf(master.pid),
    bus: processorMsOf(bus.server().pid),
    fleet: fleet.pids.map(processorMsOf).reduce((sum, ms) => sum + ms, 0),
    asker: processorMsOf(process.pid),
  };
}

/** How long the end of a job takes, generously. */
function settleMs(): number {
  return 150;
}
