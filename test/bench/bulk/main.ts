import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { mapBounded } from "../../../internal/base/map-bounded.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { encodeRecord } from "../../../internal/fleet/enrollment/record/record.ts";
import { enlistPending } from "../../fleet/credentials.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { newOperator, writeOperatorFile } from "../../harness/operators.ts";
import { listAdministrators } from "../../harness/registered.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, ratio, table } from "../table.ts";

// Many pending enrollments approved with one command of svc, next to the writes that this takes at least. See
// docs/bench.md.

const flags = readFlags({ enrollments: ["10000", "8"], "at-once": ["64", "4"] });
const size = flags.count("enrollments");

await using bus = await startBus();
const root = newOperator("root");
listAdministrators(bus.authDir, root);
const config = operatorConfig(bus, writeOperatorFile(bus, root));
await using master = await startMasterBinary(bus);
const client = await connectTo(bus, "master");
const hosts = Array.from({ length: size }, (_, at) => ({
  peelId: `host-${at}_example_com`,
  address: "192.0.2.7",
}));
const records = await enlistPending(client, bus.authDir, hosts);

/** The floor: one compare-and-swap of a record of the same size for each, by one process without a master. */
async function floor(): Promise<number> {
  await client.nats.jetstream().views.kv("floor");
  const bucket = await openBucket(client, "floor");
  const values = records.map((record) => ({ key: record.id, value: encodeRecord(record) }));
  const bounds = { atOnce: flags.count("at-once") };
  const revisions = await mapBounded(values, bounds, ({ key, value }) => bucket.create(key, value));
  const began = systemClock.monotonic();
  await mapBounded(values.entries(), bounds, ([at, { key, value }]) =>
    bucket.update(key, value, revisions[at] ?? 0),
  );
  return systemClock.monotonic() - began;
}

/** One command, from its start to its end: it lists, asks a master for each, and counts. */
async function approveAll(): Promise<{ wallMs: number; clientMs: number; masterMs: number; busMs: number }> {
  const svc = join(import.meta.dir, "../../../dist/svc");
  const pids = [master.program.pid, bus.server().pid];
  const before = pids.map(cpuSecondsOf);
  const began = systemClock.monotonic();
  const child = Bun.spawn(
    [svc, "--config", config, "enroll", "approve", "--all", "--yes", "--output", "json"],
    { stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [reported, said, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const wallMs = systemClock.monotonic() - began;
  const { counts } = JSON.parse(reported) as { counts: { approved: number } };
  if (code !== 0 || counts.approved !== size) throw new Error(`${JSON.stringify(counts)}\n${said}`);
  const [masterMs = 0, busMs = 0] = pids.map((pid, at) => (cpuSecondsOf(pid) - (before[at] ?? 0)) * 1000);
  const { user, system } = child.resourceUsage()?.cpuTime ?? { user: 0, system: 0 };
  return { wallMs, clientMs: (Number(user) + Number(system)) / 1000, masterMs, busMs };
}

const floorMs = await floor();
const { wallMs, clientMs, masterMs, busMs } = await approveAll();
await client.nats.close();
const perSecond = (ms: number) => (size * 1000) / ms;
const each = (ms: number) => milliseconds(ms / size);
process.stdout.write(`
${size} pending enrollments are approved by one svc enroll approve --all, with one signed request for each:

${table(
  ["", "seconds", "per second", "of the floor", "master ms", "bus ms", "client ms"],
  [
    [
      ...["svc enroll approve --all", (wallMs / 1000).toFixed(1), rate(perSecond(wallMs))],
      ...[ratio(floorMs / wallMs), each(masterMs), each(busMs), each(clientMs)],
    ],
    [
      ...["floor: one compare-and-swap each", (floorMs / 1000).toFixed(1), rate(perSecond(floorMs))],
      ...[ratio(1), "", "", ""],
    ],
  ],
)}
`);
