import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { encodeOperator, signOperator } from "../../../internal/wire/operator-record.ts";
import { enlistPending } from "../../fleet/credentials.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { costlyFacts } from "../../harness/costly-target.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators, recordOf } from "../../harness/registered.ts";
import { storePeels } from "../../harness/stored-peels.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { quantile } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";
import type { Attack } from "./attack.ts";

// What an administrator notices while strangers and a viewer take from a master whatever they can: the time of `svc run`
// beside the undisturbed one of the same minutes, and the memory of the master. See docs/bench.md.

const flags = readFlags({
  runs: ["100", "2"],
  "half-open": ["22000", "40"],
  open: ["4000", "8"],
  signed: ["200000", "100"],
  pending: ["10000", "5"],
  /** Seconds after an attack until memory is read again. */
  settle: ["20", "0"],
  /** Of the attacker, who has a machine of its own in a fleet: here it gets what is left of the processors. */
  nice: ["19", "0"],
  only: "",
});
const runs = flags.count("runs");
/** Between two runs: an administrator has a budget as well. */
const pauseMs = 150;
const dist = join(import.meta.dir, "../../../dist");

await using bus = await startBus();
const [root, viewer] = [newOperator("root"), newOperator("viewer", ["viewer"])];
listAdministrators(bus.authDir, root);
const config = operatorConfig(bus, writeOperatorFile(bus, root));
const { jwt } = JSON.parse(readFileSync(writeOperatorFile(bus, viewer), "utf8")) as { jwt: string };
const limit = [`--enroll-max-pending=${flags.count("pending")}`];
await using master = await startBenchMaster(bus, [join(dist, "svc-master")], limit);
await using fleet = await startFleet(bus, { size: 1, processes: 1, ramp: 100 });
await fleet.greeted();
const owner = await connectTo(bus, "master");
const record = signOperator(recordOf(viewer), root.key);
await (await openBucket(owner, "operators")).put("viewer", encodeOperator(record));
await storePeels(bus, { "web-1": { facts: costlyFacts }, "web-2": { facts: costlyFacts } });

const { pid, port } = master;
const operator = { busUrl: bus.url, ca: bus.caPem, name: viewer.name, seed: viewer.key.seed, jwt };
const url = `https://localhost:${port}`;
const ca = bus.caPem;
const attacks: [name: string, attack: Attack, prepare?: () => Promise<unknown>][] = [
  [
    `${flags.text("half-open")} connects at once`,
    { kind: "half-open", port, connections: flags.count("half-open") },
  ],
  [`${flags.text("open")} connections held`, { kind: "open", port, ca, connections: flags.count("open") }],
  [
    `${flags.text("signed")} signed requests of a viewer`,
    { kind: "signed", operator, requests: flags.count("signed") },
  ],
  ["six costly targets at once", { kind: "costly", operator }],
  [
    `hosts that join a table of ${flags.text("pending")}`,
    { kind: "joining", url, ca },
    () =>
      enlistPending(
        owner,
        bus.authDir,
        Array.from({ length: flags.count("pending") }, (_, at) => ({ peelId: `stranger-${at}` })),
      ),
  ],
];

const rows: string[][] = [];
for (const [name, attack, prepare] of attacks) {
  const only = flags.text("only").split(",");
  if (!only.some((part) => name.includes(part))) continue;
  await prepare?.();
  rows.push(await measure(name, attack));
}
await owner.drain();
const heads = ["while there are", "runs", "p50 ms", "p99 ms", "alone p50", "p99", "p99 of it", "failed"];
process.stdout.write(`
svc run of an administrator, ${runs} runs alone and at least as many beside each attack; a load of ${loadavg()[0]?.toFixed(0)}

${table([...heads, "MiB more", "after", "master cpu"], rows)}
`);

async function measure(name: string, attack: Attack): Promise<string[]> {
  const alone: number[] = [];
  for (let at = 0; at < runs / 2; at++) alone.push((await runOnce()).ms);
  const resident = memoryOf(pid).residentMib;
  let max = resident;
  const watching = systemClock.every(100, () => {
    max = Math.max(max, memoryOf(pid).residentMib);
  });
  const [began, cpu] = [systemClock.monotonic(), cpuSecondsOf(pid)];
  const attacker = Bun.spawn(
    [
      ...["nice", "-n", `${flags.count("nice", 0)}`],
      ...[process.execPath, join(import.meta.dir, "generator.ts"), JSON.stringify(attack)],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  await attacker.stdout.getReader().read();
  const during: { ms: number; isDone: boolean }[] = [];
  while (during.length < runs || (attack.kind === "signed" && attacker.exitCode === null)) {
    during.push(await runOnce());
  }
  attacker.kill();
  await attacker.exited;
  const share = (cpuSecondsOf(pid) - cpu) / ((systemClock.monotonic() - began) / 1_000);
  watching.cancel();
  await sleep(systemClock, flags.count("settle", 0) * 1_000);
  for (let at = 0; at < runs / 2; at++) alone.push((await runOnce()).ms);
  const times = during.map(({ ms }) => ms);
  const [p99, p99Alone] = [quantile(times, 0.99), quantile(alone, 0.99)];
  return [
    ...[name, `${times.length}`, milliseconds(quantile(times, 0.5)), milliseconds(p99)],
    ...[milliseconds(quantile(alone, 0.5)), milliseconds(p99Alone), ratio(p99 / p99Alone)],
    `${during.filter(({ isDone }) => !isDone).length}`,
    ...[mebibytes(max - resident), mebibytes(memoryOf(pid).residentMib - resident), share.toFixed(2)],
  ];
}

async function runOnce(): Promise<{ ms: number; isDone: boolean }> {
  const began = systemClock.monotonic();
  const child = Bun.spawn([join(dist, "svc"), "--config", config, "run", "sim-00000", "test.ping"], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  });
  const isDone = (await child.exited) === 0;
  if (!isDone)
    process.stderr.write(
      (await new Response(child.stdout).text()) + (await new Response(child.stderr).text()),
    );
  const ms = systemClock.monotonic() - began;
  await sleep(systemClock, pauseMs);
  return { ms, isDone };
}
