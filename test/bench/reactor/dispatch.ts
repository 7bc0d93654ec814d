import { cpus, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { keyedId } from "../../../internal/base/id.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { sha256 } from "../../../internal/base/sha256.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { consume } from "../../../internal/bus/streams/consumer.ts";
import { dispatchSubject, eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { startMaster } from "../../harness/master.ts";
import { enrollPeel } from "../../harness/peel-connection.ts";
import { holderBecomes, rulesDirectory } from "../../harness/reactor.ts";
import { startMasterProcess } from "../../harness/reactor-process.ts";
import { readFlags } from "../flags.ts";
import { quantile } from "../jobs/statistics.ts";
import { milliseconds, rate, table } from "../table.ts";

// Time from an event of a peel to the command of the job that a rule starts for it, over a real bus: from the
// request that stores the event to the arrival of the command where the peel would hear it. First one event
// after the other, then many at once. The floor is what has to happen in any case and no more: a consumer of
// the same kind that writes one record and publishes one message, in the process of the generator.

const flags = readFlags({
  events: ["500", "5"],
  burst: ["2000", "10"],
});
const events = flags.count("events");
const burst = flags.count("burst");
const clock = systemClock;

using directory = rulesDirectory(`
rules:
  - name: answer
    match: bench/now
    do:
      - job: { target: "\${source}", function: test.echo, args: { text: "\${data.n}" } }
`);
await using bus = await startBus();
await using door = await startMaster(bus, { config: { reactor: { enabled: false } } });
await enrollPeel(door, "web1");
await using master = await startMasterProcess(
  bus,
  directory.config({ storm_rate: 0, source_rate_limit: 0, workers: 8 }),
);
const connection = await connectTo(bus, "master");
await holderBecomes(connection);
const { nats } = connection;

/** Calls what waits for the next message on a subject. */
function listen(subject: string) {
  let arrived = () => {};
  nats.subscribe(subject, { callback: () => arrived() });
  return {
    next: () =>
      new Promise<void>((resolve) => {
        arrived = resolve;
      }),
    many(count: number) {
      let missing = count;
      return new Promise<void>((resolve) => {
        arrived = () => {
          missing--;
          if (missing === 0) resolve();
        };
      });
    },
  };
}

const floorSubject = dispatchSubject("job-floor", "floor");
// Not the bucket of the jobs, as masters look after what is in there.
const records = await openBucket(connection, "reactor");
const record = { function: "test.echo", args: { text: "1" }, targets: ["web1"], metadata: { reactor: {} } };
const floor = consume(
  connection,
  {
    stream: "events",
    durable: "bench-floor",
    filter: eventSubject("*", "floor.now"),
    backoffMs: [10_000],
    maxDeliveries: 10,
    atOnce: 32,
  },
  async ({ sequence, storedAt }) => {
    await records.create(keyedId("job", storedAt, sha256(String(sequence))), encode(record));
    nats.publish(floorSubject, encode(record));
  },
);

const lines = [
  { name: "svc-master", tag: "bench.now", received: listen(dispatchSubject("*", "web1")) },
  { name: "floor", tag: "floor.now", received: listen(floorSubject) },
];
const send = (tag: string, n: number) =>
  nats.request(eventSubject("web1", tag), encode({ data: { n: String(n) } }), { timeout: 10_000 });

async function oneByOne({ tag, received }: (typeof lines)[number]): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < events; n++) {
    const arrival = received.next();
    const started = clock.monotonic();
    const stored = send(tag, n);
    await arrival;
    took.push(clock.monotonic() - started);
    await stored;
  }
  return took;
}

async function atOnce({ tag, received }: (typeof lines)[number]): Promise<number> {
  const all = received.many(burst);
  const started = clock.monotonic();
  const stored = Promise.all(Array.from({ length: burst }, (_, n) => send(tag, n)));
  await all;
  const took = clock.monotonic() - started;
  await stored;
  return (burst * 1000) / took;
}

for (const line of lines) await oneByOne(line);
const rows: string[][] = [];
for (const line of lines) {
  const took = await oneByOne(line);
  const perSecond = await atOnce(line);
  rows.push([
    line.name,
    milliseconds(quantile(took, 0.5)),
    milliseconds(quantile(took, 0.99)),
    rate(perSecond),
  ]);
}
const cpu = cpus()[0]?.model ?? "unknown";
process.stdout.write(
  [
    `Event to dispatched job: ${events} one after the other, then ${burst} at once`,
    `${cpus().length} x ${cpu}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Bun ${Bun.version}`,
    table(["Line", "p50 ms", "p99 ms", "Jobs per second"], rows),
    `resident memory of the master: ${Math.round((await master.memory()) / 2 ** 20)} MiB\n`,
  ].join("\n\n"),
);
await floor.stop();
await nats.close();
