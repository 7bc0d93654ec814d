import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { encodeBase64 } from "../../../internal/base/base64.ts";
import { parseJoinToken } from "../../../internal/identity/join-token/mod.ts";
import { startBus } from "../../harness/bus.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { startWorker } from "../../harness/worker.ts";
import type { BenchToken } from "../enroll/applicant.ts";
import { openConnection } from "../enroll/connection.ts";
import type { FloorCommand } from "../enroll/floor.ts";
import type { Batch } from "../enroll/generator.ts";
import { type BenchMaster, startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, ratio, spread, table } from "../table.ts";

// Hosts per second that join with a token, with one master and with two, beside the floor of enrollments, in turns
// within one run. See docs/bench.md.

const flags = readFlags({
  hosts: ["8000", "8"],
  rounds: ["4", "1"],
  concurrency: ["64", "4"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const rounds = flags.count("rounds");
const perRound = Math.ceil(flags.count("hosts") / rounds);
const contenders = ["one", "two", "floor"] as const;
type Contender = (typeof contenders)[number];
const labels: Record<Contender, string> = {
  one: "one master",
  two: "two masters",
  floor: "floor: requests + signatures + KV writes of an enrollment",
};

/** One batch of one contender; milliseconds are of the processor, for each host. */
interface Sample {
  perSecond: number;
  server: number;
  bus: number;
  generator: number;
}
const samples: Record<Contender, Sample[]> = { one: [], two: [], floor: [] };

await using bus = await startBus();
const command = flags.text("master").split(" ");
await using master = await startBenchMaster(bus, command);
await using second = await startBenchMaster(bus, command, [], "second");
await using floor = startWorker<FloorCommand, number>(join(import.meta.dir, "../enroll/floor.ts"));
await using generator = startWorker<Batch, { wallMs: number }>(
  join(import.meta.dir, "../enroll/generator.ts"),
);
const floorPort = await floor.request({
  start: {
    busUrl: bus.url,
    ca: bus.caPem,
    credsFile: join(bus.authDir, "master.creds"),
    certFile: join(bus.dir, "nats-server.crt"),
    keyFile: join(bus.dir, "nats-server.key"),
  },
});
await floor.request({ parts: "writes" });

for (let round = 0; round < rounds; round++) {
  for (const contender of contenders) samples[contender].push(await measure(contender, round));
}
report();

/** A token with as many uses as a batch has hosts. */
async function newToken(from: BenchMaster): Promise<BenchToken> {
  const connection = await openConnection({ port: from.port, ca: bus.caPem }, "127.0.0.1");
  const headers = { Authorization: `Bearer ${from.token}` };
  const body = JSON.stringify({ uses: perRound });
  const answer = await connection.request("POST", "/api/v1/enroll-tokens", headers, body);
  connection.close();
  if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.body}`);
  const { token } = JSON.parse(answer.body) as { token: string };
  const { id, secret } = parseJoinToken("the answer", token);
  return { id, secret: encodeBase64(secret) };
}

async function measure(contender: Contender, round: number): Promise<Sample> {
  const target = (port: number) => ({ port, ca: bus.caPem });
  const batch: Omit<Batch, "target"> = {
    ...{ token: master.token, count: perRound, concurrency: flags.count("concurrency") },
    prefix: `${contender}-${round}`,
    ...(contender === "floor" ? {} : { join: await newToken(master) }),
    ...(contender === "two" ? { other: target(second.port) } : {}),
  };
  const servers = { one: [master.pid], two: [master.pid, second.pid], floor: [floor.pid] }[contender];
  const used = () => [servers, [bus.server().pid], [generator.pid]].map((pids) => sumOf(pids));
  const before = used();
  const port = contender === "floor" ? floorPort : master.port;
  const { wallMs } = await generator.request({ ...batch, target: target(port) });
  const [server = 0, busMs = 0, generatorMs = 0] = used().map(
    (seconds, at) => ((seconds - (before[at] ?? 0)) * 1000) / perRound,
  );
  return { perSecond: (perRound * 1000) / wallMs, server, bus: busMs, generator: generatorMs };
}

function sumOf(pids: readonly number[]): number {
  return pids.map(cpuSecondsOf).reduce((sum, seconds) => sum + seconds, 0);
}

function report(): void {
  const mean = (contender: Contender, of: keyof Sample) =>
    samples[contender].reduce((sum, sample) => sum + sample[of], 0) / samples[contender].length;
  const rows = contenders.map((contender) => [
    labels[contender],
    rate(mean(contender, "perSecond")),
    spread(samples[contender].map(({ perSecond }) => perSecond)),
    ratio(mean(contender, "perSecond") / mean("floor", "perSecond")),
    milliseconds(mean(contender, "server")),
    milliseconds(mean(contender, "bus")),
    milliseconds(mean(contender, "generator")),
  ]);
  const cpu = cpus();
  const load = (loadavg()[0] ?? 0).toFixed(1);
  process.stdout.write(`
Hosts that join with a token: nonce, enroll with its proof, creds; TLS 1.3, one connection per host.
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}, load ${load}
${rounds} rounds of ${perRound} hosts for each line, in turns, ${flags.count("concurrency")} under way at once; mean, least and most

${table(["", "per second", "spread", "of the floor", "server ms", "bus ms", "client ms"], rows)}
`);
}
