import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { enlist, mintAsker } from "../../fleet/credentials.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { milliseconds, ratio, spread, table } from "../table.ts";

// `svc run` from its start until it has shown the last answer, beside a program that only asks each peel and waits for
// the answers. Several versions of svc are measured in one run. See docs/bench.md.

const dist = join(import.meta.dir, "../../../dist");
const flags = readFlags({
  peels: ["40", "3"],
  runs: ["30", "1"],
  "warm-ups": ["5", "0"],
  master: join(dist, "svc-master"),
  clients: join(dist, "svc"),
});
const size = flags.count("peels");
const warmUps = flags.count("warm-ups", 0);

await using bus = await startBus();
const root = newOperator("root");
listAdministrators(bus.authDir, root);
// A JWT of today: an older one is renewed by the command.
const signing = operatorConfig(bus, writeOperatorFile(bus, root, { issuedAt: systemClock.now() }));
await using _master = await startBenchMaster(bus, flags.text("master").split(" "));
await using fleet = await startFleet(bus, { size, processes: 1, ramp: 250 });
await fleet.greeted();

const asker = mintAsker(bus.authDir);
const owner = await connectTo(bus, "master");
await enlist(owner, bus.authDir, [asker]);
await owner.nats.close();
const credentials = join(bus.dir, "asker.creds");
writeFileSync(credentials, asker.credentials, { mode: 0o600 });
const bare = join(bus.dir, "bare");
const built = await Bun.build({
  entrypoints: [join(import.meta.dir, "bare.ts")],
  target: "bun",
  format: "esm",
  bytecode: true,
  compile: { outfile: bare, autoloadDotenv: false, autoloadBunfig: false },
});
if (!built.success) throw new Error(built.logs.join("\n"));

const run = ["run", "sim-*", "test.ping"];
const lines = [
  ...flags
    .text("clients")
    .split(",")
    .map((svc, at) => ({ name: `svc run, client ${at + 1}`, argv: [svc, "--config", signing, ...run] })),
  { name: "floor: a bare client", argv: [bare, bus.url, bus.caFile, credentials, `${size}`] },
].map((line) => ({ ...line, wall: [] as number[], cpu: [] as number[] }));
// In turns, so that other work on the machine disturbs all of them.
for (let at = -warmUps; at < flags.count("runs"); at++) {
  for (const { name, argv, wall, cpu } of lines) {
    const began = systemClock.monotonic();
    // The fleet and the bus are other processes: this one may wait.
    const { exitCode, stderr, resourceUsage } = Bun.spawnSync(argv, { stdin: "ignore", stdout: "ignore" });
    if (exitCode !== 0) throw new Error(`${name}: ${stderr?.toString()}`);
    if (at < 0) continue;
    wall.push(systemClock.monotonic() - began);
    cpu.push(Number(resourceUsage.cpuTime.total) / 1000);
  }
}
const floor = lines.at(-1);
const rows = lines.map(({ name, wall, cpu }) => [
  name,
  milliseconds(Math.min(...wall)),
  milliseconds(median(wall)),
  spread(wall),
  ratio(median(wall) / median(floor?.wall ?? [])),
  milliseconds(median(cpu)),
]);
process.stdout.write(`
${size} peels, ${flags.count("runs")} runs in turns, a load of ${loadavg()[0]?.toFixed(0)}; milliseconds from the start of the program to its end, and of processor time:

${table(["", "fastest", "median", "spread", "of floor", "processor"], rows)}
`);
