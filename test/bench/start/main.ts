import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, table } from "../table.ts";

// How long commands take next to one that only starts: one that works offline, and two that ask a master with a signed
// request. Several versions are measured in one run. See docs/bench.md.

const flags = readFlags({
  runs: ["60", "2"],
  /** Directories with `svc`; the master is that of this version. */
  versions: join(import.meta.dir, "../../../dist"),
});

await using bus = await startBus();
const root = newOperator("root");
listAdministrators(bus.authDir, root);
// A JWT of today: an older one is renewed by the command.
const config = operatorConfig(bus, writeOperatorFile(bus, root));
await using _master = await startMasterBinary(bus);
const ca = ["--dir", join(bus.dir, "issuing")];
const out = ["--out", join(bus.dir, "issued"), "--force"];
const nobody = "svc run, no peel matches";
const commands = {
  "svc --help": ["--help"],
  "svc ca issue": ["ca", "issue", "enroll", "--dns", "master.example.com", ...ca, ...out],
  "svc whoami": ["--config", config, "whoami"],
  [nobody]: ["--config", config, "run", "nothing", "test.ping"],
};
const versions = flags.text("versions").split(",");
const programs = versions.map((version) => join(version, "svc"));
if (Bun.spawnSync([programs[0] ?? "", "ca", "init", ...ca]).exitCode !== 0)
  throw new Error("svc ca init failed");

const samples = programs.flatMap((program, at) =>
  Object.entries(commands).map(([name, argv]) => ({
    name: versions.length === 1 ? name : `version ${at + 1}: ${name}`,
    argv: [program, ...argv],
    // A target that names nobody is a failure.
    exit: name === nobody ? 1 : 0,
    wall: [] as number[],
    cpu: [] as number[],
  })),
);
// In turns, so that other work on the machine disturbs all of them.
for (let run = 0; run < flags.count("runs"); run++) {
  for (const { name, argv, exit, wall, cpu } of samples) {
    const began = systemClock.monotonic();
    const { exitCode, resourceUsage } = Bun.spawnSync(argv, {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    if (exitCode !== exit) throw new Error(`${name}: exit ${exitCode}`);
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
