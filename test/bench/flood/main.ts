import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { enlist, mintMember, peelsAccountKey } from "../../fleet/credentials.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { startBus } from "../../harness/bus.ts";
import { type FloodKind, floodKinds, startFlood } from "../../harness/flooder.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { startObserver } from "../jobs/observer.ts";
import { runJob } from "../jobs/requests.ts";
import { quantile } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, rate, ratio, table } from "../table.ts";

// One peel floods by each of its subjects while jobs go to another. See docs/bench.md.

const flags = readFlags({
  seconds: ["9", "1"],
  around: ["3", "1"],
  kinds: ["", "hello"],
  suspend: "true",
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const seconds = flags.count("seconds");
/** How long jobs go to the peel before and after a flood. */
const aroundMs = flags.count("around") * 1_000;
const wanted = flags
  .text("kinds")
  .split(",")
  .filter((name) => name !== "");
const kinds = floodKinds.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const target = "sim-00000";
const say = (text: string) => process.stdout.write(`${text}\n`);

const rows: string[][] = [];
for (const kind of kinds) rows.push(await row(kind));
say(
  table(
    [
      "one peel floods with",
      "ended after s",
      "sent/s",
      "jobs",
      "p50 ms",
      "p99 ms",
      "worst",
      "before p50",
      "p99",
      "p99 of it",
      "MiB more",
      "after",
      "master cpu",
      "bus cpu",
    ],
    rows,
  ),
);

async function row(kind: FloodKind): Promise<string[]> {
  await using bus = await startBus();
  await using master = await startBenchMaster(bus, flags.text("master").split(" "), [
    `--budget-suspend=${flags.text("suspend")}`,
  ]);
  await using fleet = await startFleet(bus, { size: 2, processes: 1, ramp: 100 });
  await using observer = await startObserver(bus);
  await fleet.greeted();
  const flooder = mintMember("flooder", peelsAccountKey(bus.authDir));
  await enlist(observer.master, bus.authDir, [flooder]);

  const once = async () =>
    Math.max(...(await runJob(observer, { target, function: "test.ping", args: {} }, 1)));
  /** A job that is not accepted or not done counts as long as the bench waits for it. */
  const job = async () => {
    const requested = systemClock.monotonic();
    const late = sleep(systemClock, seconds * 1_000).then(() => systemClock.monotonic() - requested);
    return Promise.race([once().catch(() => late), late]);
  };
  const jobsFor = async (ms: number): Promise<number[]> => {
    const times: number[] = [];
    const until = systemClock.monotonic() + ms;
    while (systemClock.monotonic() < until) {
      times.push(await job());
      await sleep(systemClock, 5);
    }
    return times;
  };
  await jobsFor(1_000);
  const before = await jobsFor(aroundMs);
  const resident = memoryOf(master.pid).residentMib;
  let max = resident;
  using stack = new DisposableStack();
  const watching = systemClock.every(100, () => {
    max = Math.max(max, memoryOf(master.pid).residentMib);
  });
  stack.defer(() => watching.cancel());
  const cpu = { master: cpuSecondsOf(master.pid), bus: cpuSecondsOf(bus.server().pid) };
  const began = systemClock.now();
  await using flood = await startFlood(bus, flooder, kind);
  const during = await jobsFor(seconds * 1_000);
  const { sent, ended } = await flood.stop();
  const lasted = ((ended ?? systemClock.now()) - began) / 1000;
  const used = (pid: number, from: number) => ((cpuSecondsOf(pid) - from) / seconds).toFixed(2);
  const cpus = [used(master.pid, cpu.master), used(bus.server().pid, cpu.bus)];
  await jobsFor(aroundMs);
  const p99 = [before, during].map((times) => quantile(times, 0.99));
  return [
    kind.name,
    ended === undefined ? "-" : lasted.toFixed(1),
    rate(sent / lasted),
    `${during.length}`,
    milliseconds(quantile(during, 0.5)),
    milliseconds(p99[1] ?? 0),
    milliseconds(Math.max(...during)),
    milliseconds(quantile(before, 0.5)),
    milliseconds(p99[0] ?? 0),
    ratio((p99[1] ?? 0) / (p99[0] ?? 1)),
    mebibytes(max - resident),
    mebibytes(memoryOf(master.pid).residentMib - resident),
    ...cpus,
  ];
}
