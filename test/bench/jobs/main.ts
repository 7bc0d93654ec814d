import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { startBus } from "../../harness/bus.ts";
import { newOperator } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, ratio, spread, table } from "../table.ts";
import { startObserver } from "./observer.ts";
import { type Answers, type BenchJob, runFloor, runFloorLanes, runJob } from "./requests.ts";
import { median, quantile } from "./statistics.ts";

// What jobs cost beside a bare scatter-gather over the same connections, in turns within one run. See
// docs/bench.md.

const flags = readFlags({
  peels: ["1000,2000", "4"],
  rounds: ["15", "1"],
  processes: ["2", "1"],
  ramp: ["250", "250"],
  jobs: ["1000", "4"],
  reconnects: ["3", "0"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const sizes = flags.counts("peels");
const rounds = flags.count("rounds");
const processes = flags.count("processes");
const jobs = flags.count("jobs");
const reconnects = flags.count("reconnects", 0);
const rampPerSecond = flags.count("ramp");
/** Jobs under way at once at a single peel: below the 64 its queue holds. */
const atOnce = 32;
/** Questions to the whole fleet under way at once, for the rate of stored returns. */
const volleys = 10;
const warmUps = 3;

const ping: BenchJob = { target: "sim-*", function: "test.ping", args: {} };
const say = (text: string) => process.stdout.write(`${text}\n`);

await using bus = await startBus();
const ann = newOperator("ann");
listAdministrators(bus.authDir, ann);
await using master = await startBenchMaster(bus, flags.text("master").split(" "));
await using fleet = await startFleet(bus, { size: sizes[0] ?? 0, processes, ramp: rampPerSecond });
await using observer = await startObserver(bus);
await fleet.greeted();

const cpu = cpus();
say(`
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
Peels share ${processes} processes, each with a TLS connection of its own; master, bus, fleet and observer share the machine.`);

const memories: string[][] = [];
for (const size of sizes) {
  if (size > fleet.peels.length) {
    await fleet.grow(size - fleet.peels.length);
    await fleet.greeted();
  }
  await scatter(size);
  rememberMemory(`${size} peels, after the pings`);
}
await persisted();
await single();
await reconnect();
rememberMemory("after all of it");
say(`\nMemory, resident and private MiB:\n\n${table(["", "master", "", "fleet", ""], memories)}\n`);
const { complaints } = await fleet.report();
if (Object.keys(complaints).length > 0) say(`The peels logged: ${JSON.stringify(complaints)}`);

/** One ping to everybody. */
async function scatter(size: number): Promise<void> {
  const lines = {
    "svc: test.ping": () => runJob(observer, ping, size),
    "svc: test.ping, signed by an operator": () =>
      runJob(observer, ping, size, { by: ann, peels: fleet.peels }),
    "floor: bare ask and answer": () => runFloor(observer, fleet.peels, "bare"),
    "the same, answers stored": () => runFloor(observer, fleet.peels, "stored"),
    "the same, asks signed and verified": () => runFloor(observer, fleet.peels, "signed"),
  };
  const samples = await inTurns(lines);
  const lastOf = (name: string) => median((samples[name] ?? []).map(({ answers }) => Math.max(...answers)));
  const rows = Object.entries(samples).map(([name, line]) => {
    const of = (pick: (answers: Answers) => number) =>
      milliseconds(median(line.map(({ answers }) => pick(answers))));
    return [
      name,
      of((answers) => Math.min(...answers)),
      of((answers) => quantile(answers, 0.5)),
      of((answers) => quantile(answers, 0.99)),
      of((answers) => Math.max(...answers)),
      spread(line.map(({ answers }) => Math.max(...answers))),
      ratio(lastOf(name) / lastOf("floor: bare ask and answer")),
      ...["master", "bus", "fleet"].map((part) =>
        milliseconds(line.reduce((sum, { cpuMs }) => sum + (cpuMs[part] ?? 0), 0) / line.length),
      ),
    ];
  });
  say(`
One question to ${size} peels, ${rounds} rounds in turns: when its answers came, milliseconds, medians:

${table(["", "first", "p50", "p99", "last", "spread", "of floor", "master cpu", "bus cpu", "fleet cpu"], rows)}`);
}

/** Many questions to everybody at once: how many answers are stored per second. */
async function persisted(): Promise<void> {
  const peels = fleet.peels.length;
  const lines = {
    [`svc: ${volleys} test.ping`]: async () =>
      (await Promise.all(Array.from({ length: volleys }, () => runJob(observer, ping, peels)))).flat(),
    [`floor: ${volleys} bare asks, answers stored`]: () => runFloor(observer, fleet.peels, "stored", volleys),
  };
  rates("Returns stored per second", `${volleys} questions at once to ${peels} peels`, await inTurns(lines));
}

/** Jobs for a single peel. */
async function single(): Promise<void> {
  const [peel = ""] = fleet.peels;
  const many = (job: Omit<BenchJob, "target">) => () =>
    inLanes(async () => (await runJob(observer, { target: peel, ...job }, 1))[0] ?? 0);
  const lines = {
    "svc: test.ping": many({ function: "test.ping", args: {} }),
    "svc: test.true, queued and on disk": many({ function: "test.true", args: {} }),
    "svc: cmd.run true": many({ function: "cmd.run", args: { command: "true" } }),
    "floor: bare ask, answer stored": () => runFloorLanes(observer, peel, jobs, atOnce),
  };
  rates("Jobs per second for one peel", `${jobs} jobs, ${atOnce} under way at once`, await inTurns(lines, 3));
}

/** Everybody at once after the bus was killed. */
async function reconnect(): Promise<void> {
  const rows: string[][] = [];
  for (let round = 0; round < reconnects; round++) {
    await fleet.reset();
    await bus.restart("SIGKILL");
    const ready = systemClock.now();
    const { connectedAt, greetedAt } = await fleet.greeted();
    const answers = await runJob(observer, ping, fleet.peels.length);
    const seconds = (times: readonly number[], share: number) =>
      ((quantile(times, share) - ready) / 1000).toFixed(2);
    rows.push([
      `${round + 1}`,
      ...[connectedAt, greetedAt].flatMap((times) => [seconds(times, 0.5), seconds(times, 1)]),
      milliseconds(Math.max(...answers)),
    ]);
  }
  const heads = ["round", "connected, p50 s", "last s", "greeted, p50 s", "last s", "ping to all, last ms"];
  say(`
${fleet.peels.length} peels after the bus was killed and came back, seconds from its first readiness:

${table(heads, rows)}`);
}

/** What one question cost. */
interface Sample {
  answers: Answers;
  wallMs: number;
  /** Processor milliseconds of each part. */
  cpuMs: Record<string, number>;
}

/** Runs each line once per round, after rounds that do not count. */
async function inTurns(
  lines: Record<string, () => Promise<Answers>>,
  counted = rounds,
): Promise<Record<string, Sample[]>> {
  const samples: Record<string, Sample[]> = Object.fromEntries(Object.keys(lines).map((name) => [name, []]));
  const skipped = Math.min(warmUps, counted);
  for (let round = -skipped; round < counted; round++) {
    for (const [name, run] of Object.entries(lines)) {
      const before = cpuNow();
      const started = systemClock.monotonic();
      const answers = await run();
      const wallMs = systemClock.monotonic() - started;
      const after = cpuNow();
      const cpuMs = Object.fromEntries(
        Object.entries(after).map(([part, seconds]) => [part, (seconds - (before[part] ?? 0)) * 1000]),
      );
      if (round >= 0) samples[name]?.push({ answers, wallMs, cpuMs });
    }
  }
  return samples;
}

function cpuNow(): Record<string, number> {
  return {
    master: cpuSecondsOf(master.pid),
    bus: cpuSecondsOf(bus.server().pid),
    fleet: fleet.pids.map(cpuSecondsOf).reduce((sum, seconds) => sum + seconds, 0),
  };
}

/** Runs `jobs` times, some at once. */
async function inLanes(run: () => Promise<number>): Promise<Answers> {
  const answers: number[] = [];
  let left = jobs;
  const lane = async () => {
    while (left-- > 0) answers.push(await run());
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return answers;
}

function rates(title: string, what: string, samples: Record<string, Sample[]>): void {
  const perSecond = (line: Sample[]) => line.map(({ answers, wallMs }) => (answers.length * 1000) / wallMs);
  const floor = Object.entries(samples).find(([name]) => name.startsWith("floor"))?.[1] ?? [];
  const rows = Object.entries(samples).map(([name, line]) => [
    name,
    rate(median(perSecond(line))),
    spread(perSecond(line)),
    ratio(median(perSecond(line)) / median(perSecond(floor))),
    milliseconds(median(line.map(({ answers }) => quantile(answers, 0.5)))),
  ]);
  say(`\n${title}: ${what}, ${samples[Object.keys(samples)[0] ?? ""]?.length} rounds in turns:\n
${table(["", "per second", "spread", "of floor", "p50 ms"], rows)}`);
}

function rememberMemory(when: string): void {
  const fleetMemory = fleet.pids.map(memoryOf);
  const sum = (pick: "residentMib" | "privateMib") =>
    mebibytes(fleetMemory.reduce((total, memory) => total + memory[pick], 0));
  const { residentMib, privateMib } = memoryOf(master.pid);
  memories.push([when, mebibytes(residentMib), mebibytes(privateMib), sum("residentMib"), sum("privateMib")]);
}
