import * as v from "valibot";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { provision } from "../../../internal/bus/assets/assets.ts";
import { storeMessage } from "../../../internal/bus/jetstream/store-message.ts";
import { createAuditWriter } from "../../../internal/fleet/audit/append.ts";
import { createRecorder } from "../../../internal/fleet/audit/recorder.ts";
import { createRepeats } from "../../../internal/fleet/audit/repeats.ts";
import { createGate } from "../../../internal/fleet/gate/gate.ts";
import { type Gate, invoke, operation } from "../../../internal/fleet/operation/mod.ts";
import { newKeyPair, verifySignature } from "../../../internal/identity/nkey.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { startCluster } from "../../harness/cluster.ts";
import { recordingLog } from "../../harness/log.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, rate, ratio, spread, table } from "../table.ts";

// Requests per second of one master with and without the audit, and the floor: one verified signature and two
// appends to a stream of the same kind, with nothing that chains or signs them. The operation itself does nothing.

const flags = readFlags({
  // Three are a cluster, with three replicas.
  servers: "1",
  requests: ["20000", "200"],
  rounds: ["5", "1"],
  concurrency: ["1,64", "1,8"],
});
const rounds = flags.count("rounds");
const clock = systemClock;
const log = { ...recordingLog(), debug() {}, info() {} };

const servers = flags.count("servers");
await using running = servers === 1 ? await startBus() : await startCluster(servers);
const connection = await connectTo("bus" in running ? running.bus : running, "master");
await provision(connection, { replicas: servers, onlyRaise: true }, log);
const manager = await connection.nats.jetstreamManager();
const { config } = await manager.streams.info("audit");
await manager.streams.update("audit", { ...config, max_bytes: -1 });
await manager.streams.add({ ...config, name: "floor", subjects: ["floor.>"], max_bytes: -1 });

const key = newKeyPair("user", systemRandom);
const audit = createAuditWriter({
  ...{ bus: connection, master: "bench", signer: key, keys: () => [key.publicKey], clock, log },
});
const repeats = createRepeats({ bus: connection, keys: () => [key.publicKey], clock });
const recorder = createRecorder({ audit, repeats, clock, log });
const gate = createGate({
  roles: { authorize: async () => ({ approvals: 0 }) },
  approvals: () => undefined,
  administrators: () => [],
  assertPublished: async () => {},
  resolve: async () => [],
  resolveFiles: () => Promise.reject(new Error("it runs no files")),
  audit,
  recorder,
  isSafe: () => false,
  clock,
  log,
});
const nothing = operation({
  name: "jobs.create",
  kind: "change",
  summary: "Do nothing",
  admits: ["operator"],
  scope: { kind: "jobs", action: "run" },
  input: v.strictObject({ target: v.string(), function: v.string(), args: v.record(v.string(), v.any()) }),
  output: v.object({ jid: v.string() }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  run: async () => ({ jid: `job-${"x".repeat(27)}` }),
});
const fields = { target: "web-*", function: "service.restart", args: { name: "nginx" } };
const request = (before?: Gate) =>
  invoke(
    nothing,
    {},
    { fields },
    {
      ...{ caller: { kind: "operator", name: "ann", door: "bus" }, requestId: "request-1", log, clock },
      ...(before === undefined ? {} : { gate: before }),
    },
  );
const signed = encode(fields);
const signature = key.sign(signed);
const verifyOnce = () => {
  if (!verifySignature("user", key.publicKey, signed, signature)) throw new Error("not verified");
};
/** As long as an entry is. */
const plain = new Uint8Array(560);

const contenders = {
  "floor: 1 verify + 2 appends": async () => {
    verifyOnce();
    await storeMessage(connection, "floor.a", plain, {});
    await storeMessage(connection, "floor.a", plain, {});
  },
  "with audit, 1 verify": async () => {
    verifyOnce();
    await request(gate);
  },
  "without audit, 1 verify": async () => {
    verifyOnce();
    await request();
  },
} satisfies Record<string, () => Promise<void>>;
type Contender = keyof typeof contenders;
const names = Object.keys(contenders) as Contender[];

for (const concurrency of flags.counts("concurrency")) {
  const perRound = Math.ceil(flags.count("requests") / rounds / (concurrency === 1 ? 8 : 1));
  const rates = new Map<Contender, number[]>(names.map((name) => [name, []]));
  for (const name of names) await measure(name, Math.min(500, perRound), concurrency);
  for (let round = 0; round < rounds; round++) {
    for (const name of names) rates.get(name)?.push(await measure(name, perRound, concurrency));
  }
  report(concurrency, perRound, rates);
}
recorder.stop();
await connection.drain();

/** @returns requests per second */
async function measure(name: Contender, count: number, concurrency: number): Promise<number> {
  const run = contenders[name];
  let left = count;
  const worker = async () => {
    while (left-- > 0) await run();
  };
  const started = clock.monotonic();
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (count * 1000) / (clock.monotonic() - started);
}

function report(concurrency: number, perRound: number, rates: ReadonlyMap<Contender, number[]>): void {
  const medianOf = (name: Contender) => {
    const sorted = [...(rates.get(name) ?? [])].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  };
  const floor = medianOf("floor: 1 verify + 2 appends");
  process.stdout.write(`${concurrency} at a time, ${rounds} rounds of ${perRound} requests:\n\n`);
  process.stdout.write(
    `${table(
      ["Line", "Per second", "Spread", "Of the floor", "Ms each"],
      names.map((name) => [
        name,
        rate(medianOf(name)),
        spread(rates.get(name) ?? []),
        ratio(medianOf(name) / floor),
        milliseconds((1000 * concurrency) / medianOf(name)),
      ]),
    )}\n`,
  );
  process.stdout.write("\n");
}
