import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { makeDirectory } from "../../../internal/base/files/file.ts";
import { requestJetStream } from "../../../internal/bus/jetstream/request.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, natsServerPath, startBus } from "../../harness/bus.ts";
import { readinessBecomes } from "../../harness/enrollee.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { seeded } from "../../harness/seeded.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { drawFaults, faults, type Site } from "./faults.ts";
import { startLoad } from "./load.ts";
import { startMember } from "./member.ts";
import { formatSamples, type Program, type Role, type Sample } from "./samples.ts";

// make soak: a fleet under mixed load and faults for hours, and what grows. See docs/bench.md.

const flags = readFlags({
  hours: ["2", "0.002"],
  peels: ["500", "4"],
  real: ["4", "1"],
  rate: ["3", "5"],
  sample: ["30", "2"],
  fault: ["180", "2"],
  seed: "1",
});
const hours = Number(flags.text("hours"));
const maxHours = 72;
if (!(hours > 0 && hours <= maxHours)) throw new Error(`--hours is a number up to ${maxHours}`);
const [real, seed] = [flags.count("real"), flags.count("seed")];
const simulated = Math.max(1, flags.count("peels") - real);
/** In its first minutes a program fills its caches and its heap. */
const warmUpHours = Math.min(10 / 60, hours / 6);
const random = seeded(seed);
const clock = systemClock;
const say = (text: string) => process.stdout.write(`${text}\n`);

await using bus = await startBus();
const states = join(bus.dir, "states");
makeDirectory(states, 0o755);
await Bun.write(join(states, "top.sls"), "base:\n  'peel-*': [soak]\n");
await Bun.write(join(states, "soak.sls"), "{{ grains.id }} is up:\n  test.succeed_without_changes: []\n");
const masterFlags = ["--states-dir", states];
await using steady = await startMasterBinary(bus, masterFlags);
await using stack = new AsyncDisposableStack();
const site: Site = {
  bus,
  steady,
  masterFlags,
  killed: await startMasterBinary(bus, masterFlags),
  peels: new Map(),
  fleet: stack.use(await startFleet(bus, { size: simulated, processes: 2, ramp: 10 })),
};
stack.defer(async () => {
  for (const program of [site.killed, ...site.peels.values()]) await program[Symbol.asyncDispose]();
});
await site.fleet.greeted();
for (let at = 0; at < real; at++) {
  const name = `peel-${at + 1}`;
  site.peels.set(name, await startMember(bus, steady, name));
}
const operator = await connectTo(bus, "master");
const load = await startLoad(site, operator, { rate: flags.count("rate"), random });
const server = Bun.spawnSync([natsServerPath(), "--version"]).stdout.toString().trim();
say(`${server}, ${simulated} simulated and ${real} real peels, ${hours} hours, seed ${seed}`);

const begun = clock.monotonic();
const hoursNow = () => (clock.monotonic() - begun) / 3600_000;
const samples: Sample[] = [];
const ending = new AbortController();
const sampling = sampleAlways();
const recoveries: string[] = [];
let failure: unknown;
try {
  await breakThings();
} catch (thrown) {
  // What was measured until then is worth reading.
  failure = thrown;
}
ending.abort();
await sampling;
await load.stop();
await operator.nats.close();
const { requested, refused, ended, lost } = load.tally;
say(`
${requested} requests; jobs at their end: ${JSON.stringify(ended)}; ${lost.length} lost
not taken or not answered, most of it during a fault: ${JSON.stringify(refused, undefined, 2)}
${recoveries.length} faults, ${samples.length} samples; the first ${(warmUpHours * 60).toFixed(0)} minutes of each program are left out

${formatSamples(samples, warmUpHours)}
`);
for (const line of lost) say(`LOST ${line}`);
if (failure !== undefined) say(`STOPPED after ${hoursNow().toFixed(2)} hours: ${String(failure)}`);
if (lost.length > 0 || failure !== undefined) process.exitCode = 1;

/** A fault every few minutes; the fleet is sampled at rest after the last one. */
async function breakThings(): Promise<void> {
  for (const name of drawFaults(random, Object.keys(faults))) {
    const left = hours - hoursNow();
    const pause = flags.count("fault") * 1000;
    await sleep(clock, Math.min(pause, Math.max(0, left * 3600_000)));
    if (hoursNow() >= hours || left * 3600_000 < pause) break;
    await faults[name]?.(site, random);
    const from = clock.monotonic();
    await recovered();
    const recovery = `${(hoursNow() * 60).toFixed(1)} min: ${name}; a job works after ${(clock.monotonic() - from).toFixed(0)} ms`;
    recoveries.push(recovery);
    say(recovery);
  }
}

/** Resolves when all masters are ready and a job of a simulated peel has completed. */
async function recovered(): Promise<void> {
  for (;;) {
    try {
      await Promise.all([site.steady, site.killed].map(({ healthUrl }) => readinessBecomes(healthUrl, 200)));
      return await load.probe();
    } catch {
      await sleep(clock, 100);
    }
  }
}

async function sampleAlways(): Promise<void> {
  const used = new Map<number, { at: number; seconds: number; since: number }>();
  while (!ending.signal.aborted) {
    try {
      samples.push(await sampleOnce(used));
    } catch (thrown) {
      // The bus is away, or a program has just been killed.
      say(`${(hoursNow() * 60).toFixed(1)} min: no sample: ${String(thrown).slice(0, 100)}`);
    }
    await sleep(clock, flags.count("sample") * 1000, ending.signal).catch(() => {});
  }
}

/** What JetStream says of an account. */
interface Account {
  storage: number;
  streams: number;
  consumers: number;
}

async function sampleOnce(
  used: Map<number, { at: number; seconds: number; since: number }>,
): Promise<Sample> {
  const programs: Program[] = [];
  const running: [Role, number][] = [
    ["bus", bus.server().pid],
    ["steady master", steady.program.pid],
    ["killed master", site.killed.program.pid],
    ...[...site.peels.values()].map(({ program }): [Role, number] => ["peel", program.pid]),
  ];
  for (const [role, pid] of running) {
    const [now, seconds] = [clock.monotonic(), cpuSecondsOf(pid)];
    const before = used.get(pid) ?? { at: now, seconds, since: hoursNow() };
    used.set(pid, { at: now, seconds, since: before.since });
    programs.push({
      role,
      pid,
      age: hoursNow() - before.since,
      ...memoryOf(pid),
      openFiles: readdirSync(`/proc/${pid}/fd`).length,
      cpuMs: now === before.at ? 0 : ((seconds - before.seconds) * 1_000_000) / (now - before.at),
    });
  }
  const {
    storage = 0,
    streams = 0,
    consumers = 0,
  } = await requestJetStream<Account>(operator, "$JS.API.INFO", "");
  return {
    hours: hoursNow(),
    programs,
    consumers,
    streams,
    storedMib: storage / 2 ** 20,
    files: [steady, site.killed, ...site.peels.values()]
      .map(({ dir }) => readdirSync(dir, { recursive: true }).length)
      .reduce((sum, count) => sum + count, 0),
    times: load.tally.times.splice(0),
  };
}
