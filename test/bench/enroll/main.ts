import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { startBus } from "../../harness/bus.ts";
import { cpuSecondsOf, type Memory, memoryOf } from "../../harness/usage.ts";
import { startWorker } from "../../harness/worker.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, ratio, spread, table } from "../table.ts";
import type { FloorCommand, Parts } from "./floor.ts";
import type { Batch } from "./generator.ts";
import { startBenchMaster } from "./master.ts";

// Enrollments per second of one master beside the floor, in turns within one run. See docs/bench.md.

const flags = readFlags({
  enrollments: ["20000", "8"],
  rounds: ["4", "1"],
  concurrency: ["64", "4"],
  // For profiles: what to measure, and how to run the master.
  lines: "master,writes,reads-and-writes,requests",
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const rounds = flags.count("rounds");
const perRound = Math.ceil(flags.count("enrollments") / rounds);
const concurrency = flags.count("concurrency");

const known = ["master", "writes", "reads-and-writes", "requests"] as const;
type Contender = (typeof known)[number];
const contenders = flags
  .text("lines")
  .split(",")
  .map((line): Contender => {
    const found = known.find((name) => name === line);
    if (found === undefined) throw new Error(`--lines takes ${known.join(", ")}`);
    return found;
  });
const labels: Record<Contender, string> = {
  master: "svc-master",
  writes: "floor: requests + signatures + KV writes",
  "reads-and-writes": "the same + KV reads",
  requests: "requests to a trivial route alone",
};

/** One batch of one contender. */
interface Sample {
  perSecond: number;
  /** Processor milliseconds per enrollment. */
  server: number;
  bus: number;
  generator: number;
}

const samples: Record<Contender, Sample[]> = {
  master: [],
  writes: [],
  "reads-and-writes": [],
  requests: [],
};
const memories: { enrollments: number; memory: Memory }[] = [];

await using bus = await startBus();
await using master = await startBenchMaster(bus, flags.text("master").split(" "));
await using floor = startWorker<FloorCommand, number>(join(import.meta.dir, "floor.ts"));
await using generator = startWorker<Batch, { wallMs: number }>(join(import.meta.dir, "generator.ts"));
const floorPort = await floor.request({
  start: {
    busUrl: bus.url,
    ca: bus.caPem,
    credsFile: join(bus.authDir, "master.creds"),
    certFile: join(bus.dir, "nats-server.crt"),
    keyFile: join(bus.dir, "nats-server.key"),
  },
});

memories.push({ enrollments: 0, memory: memoryOf(master.pid) });
for (let round = 0; round < rounds; round++) {
  for (const contender of contenders) {
    samples[contender].push(await measure(contender, round));
    if (contender === "master") {
      memories.push({ enrollments: (round + 1) * perRound, memory: memoryOf(master.pid) });
    }
  }
}
report();

async function measure(contender: Contender, round: number): Promise<Sample> {
  const isMaster = contender === "master";
  if (!isMaster) await floor.request({ parts: contender satisfies Parts });
  const pids = { server: isMaster ? master.pid : floor.pid, bus: bus.server().pid, generator: generator.pid };

  const before = Object.values(pids).map(cpuSecondsOf);
  const { wallMs } = await generator.request({
    target: { port: isMaster ? master.port : floorPort, ca: bus.caPem },
    token: master.token,
    count: perRound,
    concurrency,
    prefix: `bench-${round}`,
  });
  const used = Object.values(pids).map(
    (pid, at) => ((cpuSecondsOf(pid) - (before[at] ?? 0)) * 1000) / perRound,
  );
  const [server = 0, busMs = 0, generatorMs = 0] = used;
  return { perSecond: (perRound * 1000) / wallMs, server, bus: busMs, generator: generatorMs };
}

function report(): void {
  const mean = (contender: Contender, of: keyof Sample) =>
    samples[contender].reduce((sum, sample) => sum + sample[of], 0) / samples[contender].length;
  const rates = contenders.map((contender) => [
    labels[contender],
    rate(mean(contender, "perSecond")),
    spread(samples[contender].map((sample) => sample.perSecond)),
    contender === "master" ? "" : ratio(mean("master", "perSecond") / mean(contender, "perSecond")),
    milliseconds(mean(contender, "server")),
    milliseconds(mean(contender, "bus")),
    milliseconds(mean(contender, "generator")),
  ]);
  const memory = memories.map(({ enrollments, memory: { residentMib, privateMib } }) => [
    `${enrollments}`,
    mebibytes(residentMib),
    mebibytes(privateMib),
  ]);
  const cpu = cpus();
  process.stdout.write(`
Full enrollments: nonce, enroll, approve (REST, bearer token), creds; TLS 1.3, one connection per peel.
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds of ${perRound} enrollments for each line, in turns, ${concurrency} under way at once; mean, least and most

${table(["", "per second", "spread", "master is", "server ms", "bus ms", "client ms"], rates)}

svc-master used ${cpuSecondsOf(master.pid).toFixed(1)} processor seconds; its log went to a file. Its memory:

${table(["enrollments", "resident MiB", "private MiB"], memory)}
`);
}
