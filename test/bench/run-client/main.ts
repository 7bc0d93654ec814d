import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { enlist, mintRequester } from "../../fleet/credentials.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { processorMsOf } from "../dispatch/processor.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { milliseconds, ratio, spread, table } from "../table.ts";

// `svc run` from its start until it has shown the last answer, beside a program that only asks each peel and waits for
// the answers. Several versions are measured in one run, each with a master, a bus and a fleet. See docs/bench.md.

const flags = readFlags({
  peels: ["40", "3"],
  runs: ["30", "1"],
  "warm-ups": ["5", "0"],
  /** Directories with `svc` and `svc-master`. */
  versions: join(import.meta.dir, "../../../dist"),
});
const size = flags.count("peels");
const warmUps = flags.count("warm-ups", 0);
/** How long the end of a job takes, generously. */
const settleMs = 150;

await using stack = new AsyncDisposableStack();
const root = newOperator("root");
const bare = await buildBare();
const lines: Awaited<ReturnType<typeof stand>> = [];
for (const [at, version] of flags.text("versions").split(",").entries()) {
  lines.push(...(await stand(`version ${at + 1}`, version)));
}
// In turns, so that other work on the machine disturbs all of them.
for (let at = -warmUps; at < flags.count("runs"); at++) {
  for (const { name, argv, pids, wall, client, master, bus } of lines) {
    const before = pids.map(processorMsOf);
    const began = systemClock.monotonic();
    // The peels and the bus are other processes: this one may wait.
    const { exitCode, stderr, resourceUsage } = Bun.spawnSync(argv, { stdin: "ignore", stdout: "ignore" });
    const wallMs = systemClock.monotonic() - began;
    if (exitCode !== 0) throw new Error(`${name}: ${stderr?.toString()}`);
    await sleep(systemClock, settleMs);
    if (at < 0) continue;
    const [ofMaster = 0, ofBus = 0] = pids.map((pid, index) => processorMsOf(pid) - (before[index] ?? 0));
    wall.push(wallMs);
    client.push(Number(resourceUsage.cpuTime.total) / 1000);
    master.push(ofMaster);
    bus.push(ofBus);
  }
}
const rows = lines.map(({ name, floor, wall, client, master, bus }) => {
  const servers = master.map((ms, at) => ms + (bus[at] ?? 0));
  const min = lines.find((line) => line.name === floor);
  return [
    name,
    milliseconds(Math.min(...wall)),
    milliseconds(median(wall)),
    spread(wall),
    ratio(median(wall) / median(min?.wall ?? [])),
    ...[client, master, bus, servers].map((list) => milliseconds(median(list))),
  ];
});
const heads = [
  "",
  "fastest",
  "median",
  "spread",
  "of floor",
  "client ms",
  "master ms",
  "bus ms",
  "master + bus",
];
process.stdout.write(`
${size} peels, ${flags.count("runs")} runs in turns, a load of ${loadavg()[0]?.toFixed(0)}; milliseconds from the start of the program to its end, and of processor time:

${table(heads, rows)}
`);

/** A bus with a master and a fleet. @returns what is measured there */
async function stand(name: string, version: string) {
  const bus = stack.use(await startBus());
  listAdministrators(bus.authDir, root);
  // A JWT of today: an older one is renewed by the command.
  const config = operatorConfig(bus, writeOperatorFile(bus, root));
  const master = stack.use(await startBenchMaster(bus, [join(version, "svc-master")]));
  const fleet = stack.use(await startFleet(bus, { size, processes: 1, ramp: 100 }));
  await fleet.greeted();
  const requester = mintRequester(bus.authDir);
  const owner = await connectTo(bus, "master");
  await enlist(owner, bus.authDir, [requester]);
  await owner.nats.close();
  const credentials = join(bus.dir, "asker.creds");
  writeFileSync(credentials, requester.credentials, { mode: 0o600 });
  const floor = `${name}: floor: a bare client`;
  return [
    {
      name: `${name}: svc run`,
      argv: [join(version, "svc"), "--config", config, "run", "sim-*", "test.ping"],
    },
    { name: floor, argv: [bare, bus.url, bus.caFile, credentials, `${size}`] },
  ].map((line) => ({
    ...line,
    floor,
    pids: [master.pid, bus.server().pid],
    ...{ wall: [] as number[], client: [] as number[], master: [] as number[], bus: [] as number[] },
  }));
}

/** Compiles the bare client as `svc` is compiled. @returns its path */
async function buildBare(): Promise<string> {
  const files = stack.use(temporaryDirectory("bare"));
  const outfile = join(files.path, "bare");
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "bare.ts")],
    target: "bun",
    format: "esm",
    bytecode: true,
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  });
  if (!built.success) throw new Error(built.logs.join("\n"));
  return outfile;
}
