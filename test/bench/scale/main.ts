import { cpus, loadavg, totalmem } from "node:os";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { requestJetStream } from "../../../internal/bus/jetstream/request.ts";
import { streamState } from "../../../internal/bus/jetstream/stream-state.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, natsServerPath } from "../../harness/bus.ts";
import { replicasBecome } from "../../harness/cluster.ts";
import { readinessBecomes } from "../../harness/enrollee.ts";
import { type MasterDaemon, startMasterBinary } from "../../harness/fleet.ts";
import { until } from "../../harness/until.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { startObserver } from "../jobs/observer.ts";
import { runFloor, runJob } from "../jobs/requests.ts";
import { median } from "../jobs/statistics.ts";
import { mebibytes, ratio, table } from "../table.ts";
import { startBuses } from "./buses.ts";
import { publishNewRoot, revoke } from "./changes.ts";

// What a fleet costs as it grows: masters and bus servers from the built binaries, and peels that cost little. Each
// size is measured in the same run. See docs/bench.md.

const flags = readFlags({
  peels: ["10,100,1000,5000,10000", "3"],
  rounds: ["5", "1"],
  servers: "1",
  replicas: "3",
  masters: "1",
  processes: ["2", "1"],
  ramp: ["200", "100"],
  idle: ["20", "1"],
});
const rounds = flags.count("rounds");
const clock = systemClock;
const say = (text: string) => process.stdout.write(`${text}\n`);
/** Far more than the largest fleet takes for a step: a bench that waits forever says nothing. */
const maxMs = 600_000;
const patienceMs = 300_000;

await using buses = await startBuses(flags.count("servers"));
const { bus } = buses;
/** Servers that share two cores with everything else need not store all of it three times. */
const replicas = Math.min(buses.urls.length, flags.count("replicas"));
const startMasters = () =>
  Promise.all(
    Array.from({ length: flags.count("masters") }, () =>
      startMasterBinary(bus, ["--storage-replicas", `${replicas}`], {}, [], undefined, patienceMs),
    ),
  );
let masters: MasterDaemon[] = [];
await using ending = new AsyncDisposableStack();
ending.defer(async () => {
  for (const master of masters) await master[Symbol.asyncDispose]();
});
masters = await startMasters();
if (buses.urls.length > 1) await replicasBecome(bus, replicas);
await using fleet = await startFleet(bus, {
  size: 0,
  processes: flags.count("processes"),
  ramp: flags.count("ramp"),
  light: true,
  urls: buses.urls,
});
const server = Bun.spawnSync([natsServerPath(), "--version"]).stdout.toString().trim();
say(
  `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${server}, Bun ${Bun.version}; ${buses.urls.length} bus servers with ${replicas} replicas and ${masters.length} masters, all on one machine with a load of ${load()}`,
);

const heads = [
  ...["peels", "joined s", "master idle ms/s", "bus idle ms/s", "peels idle ms/s"],
  ...["ping ms", "bare fan-out ms", "", "ping: master + bus cpu ms", "cpu of the fan-out ms", ""],
  ...["reports ms", "revoked ms", "answered ms", "new root told s"],
  ...["bus killed: back s", "of them", "master ms of each", "bus ms of each", "masters killed: ready s"],
  ...["master MiB", "bus MiB", "peels MiB", "consumers", "load"],
];
/** A run takes minutes: it shows where it is. */
const step = (what: string) => say(`  ${new Date(clock.now()).toISOString().slice(11, 19)} ${what}`);
const whole = (value: number) => value.toFixed(0);
const seconds = (ms: number) => (ms / 1000).toFixed(1);
const perSecondOf = ({ master, bus, peels }: Cost) =>
  [master, bus, peels].map((cost) => ((cost * 1000) / flags.count("idle")).toFixed(1));
const lastOf = (samples: readonly Sample[]) => median(samples.map(({ last }) => last));
const cpuOf = (samples: readonly Sample[]) =>
  median(samples.map(({ cost }) => (cost.master + cost.bus) * 1000));
const rows: string[][] = [];
for (const size of flags.counts("peels")) {
  const row = await measure(size);
  rows.push(row);
  say(row.join("  "));
}
const { complaints } = await fleet.report();
say(`\n${table(heads, rows)}\n\nconnections that ended: ${JSON.stringify(complaints)}`);

async function measure(size: number): Promise<string[]> {
  const joined = await timed(async () => {
    await fleet.grow(size - fleet.peels.length);
    await within("joined", () => fleet.greeted());
  });
  step(`${size} peels joined, s: ${seconds(joined)}`);
  // The facts of the new peels are read, their settings compiled, and each is told of them.
  await within("settings compiled", () => settingsOf(size));
  await sleep(clock, flags.count("idle") * 150);
  const idle = await costOf(() => sleep(clock, flags.count("idle") * 1000));
  step(`idle, ms/s of master, bus and peels: ${perSecondOf(idle).join(" ")}`);
  const { ping, bare } = await scatter(size);
  step(`pinged, ms: ${whole(lastOf(ping))}`);
  const reports = await timed(() => fleet.reportStates());
  const memory = [masters.map(({ program }) => program.pid), buses.pids, fleet.pids].map((pids) =>
    pids.reduce((sum, pid) => sum + memoryOf(pid).residentMib, 0),
  );
  const consumers = await countConsumers();
  step(`memory of masters, bus and peels, MiB: ${memory.map(mebibytes).join(" ")}; ${consumers} consumers`);
  const revoked: Awaited<ReturnType<typeof revoke>>[] = [];
  for (const peel of fleet.peels.slice(0, Math.min(rounds, size - 1))) {
    const [master] = masters;
    if (master !== undefined) revoked.push(await within("revoked", () => revoke(bus, master, fleet, peel)));
  }
  step(
    `revoked, ms: ${revoked.map(({ ended, answered }) => `${whole(ended)}/${whole(answered)}`).join(" ")}`,
  );
  const medianOf = (what: "ended" | "answered") => whole(median(revoked.map((one) => one[what])));
  const newRoot = await within("told of a new root", () => publishNewRoot(bus, fleet));
  const before = fleet.peels.length / buses.urls.length;
  step(`told of a new root, s: ${seconds(newRoot)}`);
  let back = 0;
  const backCost = await costOf(async () => {
    back = await timed(async () => {
      await fleet.lost(buses.victim);
      await buses.kill();
      await within("back", () => fleet.greeted());
    });
  });
  step(`back, s: ${seconds(back)}`);
  const ready = await timed(async () => {
    for (const { program } of masters) program.kill("SIGKILL");
    for (const master of masters) {
      await master.program.exited;
      await master[Symbol.asyncDispose]();
    }
    masters = await startMasters();
    for (const { healthUrl } of masters) await readinessBecomes(healthUrl, 200);
  });
  return [
    ...[whole(size), seconds(joined)],
    ...perSecondOf(idle),
    ...[whole(lastOf(ping)), whole(lastOf(bare)), ratio(lastOf(ping) / lastOf(bare))],
    ...[whole(cpuOf(ping)), whole(cpuOf(bare)), ratio(cpuOf(ping) / cpuOf(bare))],
    ...[whole(reports), medianOf("ended"), medianOf("answered"), seconds(newRoot)],
    ...[seconds(back), whole(before)],
    ...[backCost.master, backCost.bus].map((cost) => ((cost * 1000) / before).toFixed(2)),
    seconds(ready),
    ...memory.map(mebibytes),
    ...[whole(consumers), load()],
  ];
}

interface Cost {
  /** Processor time, seconds. */
  master: number;
  bus: number;
  peels: number;
}

interface Sample {
  /** When the last answer came, milliseconds. */
  last: number;
  cost: Cost;
}

/** A ping to everybody, and the bare fan-out over the same connections, in turns. */
async function scatter(size: number): Promise<{ ping: Sample[]; bare: Sample[] }> {
  await using observer = await startObserver(bus);
  const found = { ping: [] as Sample[], bare: [] as Sample[] };
  const runs = {
    ping: () => runJob(observer, { target: "sim-*", function: "test.ping", args: {} }, size),
    bare: () => runFloor(observer, fleet.peels, "stored"),
  };
  for (let round = -1; round < rounds; round++) {
    for (const name of ["ping", "bare"] as const) {
      let last = 0;
      const cost = await costOf(async () => {
        last = Math.max(...(await runs[name]()));
      });
      // Warm up: compiling on first use is not measured.
      if (round >= 0) found[name].push({ last, cost });
    }
  }
  return found;
}

async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const now = (): Cost => ({
    master: cpuOfAll(masters.map(({ program }) => program.pid)),
    bus: buses.cpuSeconds(),
    peels: cpuOfAll(fleet.pids),
  });
  const before = now();
  await act();
  const after = now();
  return {
    master: after.master - before.master,
    bus: after.bus - before.bus,
    peels: after.peels - before.peels,
  };
}

function cpuOfAll(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
}

/** The load of the machine over the last minute: what else it does changes every time. */
function load(): string {
  return (loadavg()[0] ?? 0).toFixed(0);
}

/** @throws Error when it takes longer than any fleet of this bench needs */
async function within<T>(what: string, act: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(maxMs, () => late.reject(new Error(`not ${what} within ${maxMs / 1000} s`)));
  return Promise.race([act(), late.promise]).finally(() => timer.cancel());
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const from = clock.monotonic();
  await act();
  return clock.monotonic() - from;
}

/** Resolves when so many peels have stored settings. */
async function settingsOf(size: number): Promise<void> {
  const connection = await connectTo(bus, "master");
  await until(
    () => streamState(connection, "KV_settings"),
    ({ messages }) => messages >= size,
    maxMs,
  );
  await connection.nats.close();
}

async function countConsumers(): Promise<number> {
  const connection = await connectTo(bus, "master");
  const { consumers = 0 } = await requestJetStream<{ consumers: number }>(connection, "$JS.API.INFO", "");
  await connection.nats.close();
  return consumers;
}
