import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, table } from "../table.ts";

// How long commands take that ask a master, with a signed request, next to one that only starts. See docs/bench.md.

const flags = readFlags({ runs: ["60", "2"] });

await using bus = await startBus();
const root = newOperator("root");
listAdministrators(bus.authDir, root);
// A JWT of today: an older one is renewed by the command.
const config = operatorConfig(bus, writeOperatorFile(bus, root, { issuedAt: systemClock.now() }));
await using _master = await startMasterBinary(bus);
const svc = join(import.meta.dir, "../../../dist/svc");
const commands = {
  "svc --help": ["--help"],
  "svc whoami": ["--config", config, "whoami"],
  "svc run, no peel matches": ["--config", config, "run", "nothing", "test.ping"],
};

const samples = Object.entries(commands).map(([name, argv]) => ({
  name,
  argv,
  wall: [] as number[],
  cpu: [] as number[],
}));
// In turns, so that other work on the machine disturbs all of them.
for (let run = 0; run < flags.count("runs"); run++) {
  for (const { argv, wall, cpu } of samples) {
    const began = systemClock.monotonic();
    const { resourceUsage } = Bun.spawnSync([svc, ...argv], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    wall.push(systemClock.monotonic() - began);
    cpu.push(Number(resourceUsage.cpuTime.total) / 1000);
  }
}
const at = (list: readonly number[], part: number) =>
  [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * part)] ?? 0;
const row = ({ name, wall, cpu }: (typeof samples)[number]) => [
  name,
  ...[wall, cpu].flatMap((list) => [at(list, 0), at(list, 0.5)].map((ms) => milliseconds(ms))),
];
process.stdout.write(`
${flags.count("runs")} runs of each command, in turns; milliseconds until it ended, and of processor time:

${table(["", "fastest", "median", "processor, least", "processor, median"], samples.map(row))}
`);
