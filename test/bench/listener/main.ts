import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { systemClock } from "../../../internal/base/clock.ts";
import { startBus, type TestBus } from "../../harness/bus.ts";
import { freshAddress } from "../../harness/client.ts";
import { portsOfMaster } from "../../harness/log-records.ts";
import { startProgram } from "../../harness/process.ts";
import { openStrangers } from "../../harness/strangers.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, spread, table } from "../table.ts";

// What a connection to the HTTPS listener costs a master, in several versions of it in turns: a handshake and four
// requests of a client that came for the first time, and a raw connection of an address that has eight already. See
// docs/bench.md.

const flags = readFlags({
  rounds: ["3", "1"],
  connections: ["1000", "16"],
  strangers: ["5000", "100"],
  /** Directories with `svc-master`. */
  versions: join(import.meta.dir, "../../../dist"),
});
const [rounds, connections, strangers] = [
  flags.count("rounds"),
  flags.count("connections"),
  flags.count("strangers"),
];
/** As many as one address may have; each has an address of its own. */
const atOnce = 8;
const requestsEach = 4;

async function startVersion(bus: TestBus, version: string) {
  const dir = join(bus.dir, "measured");
  mkdirSync(dir, { mode: 0o700 });
  const lines = [`bus_url: ${bus.url}`, `bus_ca: ${bus.caFile}`, `auth_dir: ${bus.authDir}`];
  lines.push("health_addr: 127.0.0.1:0", "enroll: {addr: 127.0.0.1:0}");
  writeFileSync(join(dir, "master.yaml"), lines.join("\n"), { mode: 0o600 });
  const program = startProgram([join(version, "svc-master"), "--config", join(dir, "master.yaml")], {
    cwd: dir,
    env: { SVC_DATA_DIR: dir },
  });
  await program.waitFor("master ready");
  return { program, port: portsOfMaster(program.output())?.enroll ?? 0 };
}

/** A handshake, four requests one after the other, and the end. */
async function visit(port: number, ca: string): Promise<void> {
  const socket = connect({
    ...{ host: "127.0.0.1", port, servername: "localhost", ca },
    ...{ localAddress: freshAddress() },
  });
  await once(socket, "secureConnect");
  for (let n = 0; n < requestsEach; n++) {
    socket.write("HEAD /api/v1/enroll/ca HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
  }
  socket.destroy();
}

async function measure({ program, port }: Awaited<ReturnType<typeof startVersion>>, ca: string) {
  const [cpu, started] = [cpuSecondsOf(program.pid), systemClock.monotonic()];
  let left = connections;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await visit(port, ca);
    }),
  );
  const [between, ended] = [cpuSecondsOf(program.pid), systemClock.monotonic()];
  const held = await openStrangers(port, strangers, strangers);
  held.end();
  return {
    perSecond: connections / ((ended - started) / 1000),
    visitMs: ((between - cpu) / connections) * 1000,
    strangerMs: ((cpuSecondsOf(program.pid) - between) / strangers) * 1000,
  };
}

const versions = flags.text("versions").split(",");
const samples = versions.map(() => [] as Awaited<ReturnType<typeof measure>>[]);
await using stack = new AsyncDisposableStack();
const contenders = [];
for (const version of versions) {
  const bus = stack.use(await startBus());
  const started = await startVersion(bus, version);
  stack.use(started.program);
  contenders.push({ bus, started });
}
for (let round = 0; round < rounds; round++) {
  for (const [at, { bus, started }] of contenders.entries()) {
    samples[at]?.push(await measure(started, bus.caPem));
  }
}
const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
process.stdout.write(
  `${rounds} rounds of ${connections} connections with a handshake and ${requestsEach} requests, ${atOnce} at a time, and of ${strangers} raw ones of one address, in turns; milliseconds are processor time of the master\n\n${table(
    ["version", "visits/s", "spread", "visit ms", "raw ms"],
    versions.map((version, at) => {
      const own = samples[at] ?? [];
      const rates = own.map(({ perSecond }) => perSecond);
      return [
        ...[version, rate(mean(rates)), spread(rates)],
        milliseconds(mean(own.map(({ visitMs }) => visitMs))),
        mean(own.map(({ strangerMs }) => strangerMs)).toFixed(3),
      ];
    }),
  )}\n`,
);
