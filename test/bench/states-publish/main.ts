import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { createStatesClient } from "../../../internal/agent/state-files/fetch-states.ts";
import { openStateFiles } from "../../../internal/agent/state-files/state-files.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { provision } from "../../../internal/bus/assets/assets.ts";
import { openBlobStore } from "../../../internal/bus/storage/blob-store.ts";
import { serveFetch } from "../../../internal/doors/peels/fetch.ts";
import { newKeyPair } from "../../../internal/identity/nkey.ts";
import type { Contents } from "../../../internal/tree/files/contents.ts";
import { createDirectoryScan } from "../../../internal/tree/files/scan-directory.ts";
import { createBlobCache } from "../../../internal/tree/publication/blob-cache.ts";
import { followCatalog } from "../../../internal/tree/publication/follow-catalog.ts";
import { createHeadSeal } from "../../../internal/tree/publication/head-seal.ts";
import { takeOverHead } from "../../../internal/tree/publication/publish.ts";
import { openBudgets } from "../../harness/budgets.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { connectionOver } from "../../harness/connection.ts";
import { recordingLog } from "../../harness/log.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, table } from "../table.ts";
import { repositoryOf } from "./repository.ts";

// How long it takes to publish a large tree of state files of which one changed, what travels, and how long a
// peel takes to have it. Everything runs as in a master and a peel, over a real bus with TLS, in one process.
// The floor is to list the directories and look at every file, which no change on disk is noticed without.
// The same tree is read from a repository as well, without and with signers; what git does is in the time of the whole,
// and not in the processor time.

const flags = readFlags({ files: ["20000", "200"], rounds: ["7", "1"] });
const files = flags.count("files");
const rounds = flags.count("rounds");
const clock = systemClock;
const log = recordingLog();

using temporary = temporaryDirectory("bench-states");
const tree = join(temporary.path, "states");
const pathOf = (i: number) => join(tree, `formula-${i % 200}`, `state-${i}.sls`);
for (let i = 0; i < 200; i++) mkdirSync(join(tree, `formula-${i}`), { recursive: true });
for (let i = 0; i < files; i++) {
  writeFileSync(
    pathOf(i),
    `state-${i}:\n  file.managed:\n    - name: /srv/${i}\n`.padEnd(400 + (i % 800), "#\n"),
  );
}

await using bus = await startBus();
const master = await connectTo(bus, "master");
const requested = await connectTo(bus, "master");
// Without an offer, the bus gives room for small trees alone.
const offer = { storage: 8 * 1024 ** 3, memory: 1024 ** 3 };
await provision(master, { replicas: 1, onlyRaise: true, offer }, log);
const store = openBlobStore(master, "states");
const command = newKeyPair("user", systemRandom);
const seal = createHeadSeal(command, clock);
const catalog = followCatalog({ store, seal, bus: master, clock, log });
const blobs = createBlobCache(store, 256 * 1024 * 1024);
const binaries = createBlobCache(store, 0);
const door = serveFetch({ bus: master, catalog, blobs, binaries, ...openBudgets(log) });

interface Figure {
  ms: number[];
  cpuMs: number[];
  note: string;
}
const figures = new Map<string, Figure>();

/** Runs it, and keeps its time and the processor time of this process. */
async function measure<T>(name: string, run: () => T | Promise<T>, note: (result: T) => string = () => "") {
  const begun = clock.monotonic();
  const before = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(before);
  const figure = figures.get(name) ?? { ms: [], cpuMs: [], note: "" };
  figure.ms.push(clock.monotonic() - begun);
  figure.cpuMs.push((user + system) / 1000);
  figure.note = note(result);
  figures.set(name, figure);
  return result;
}

const base = (contents: Contents) => [
  { name: "base", origin: { directory: true, commits: [] }, files: contents },
];
const travelled = ({ blobs, bytes }: { blobs: number; bytes: number }) => `${blobs} blobs, ${bytes} bytes`;

let publisher = await takeOverHead({ store, seal, clock, log }, 1);
const scan = createDirectoryScan(tree, clock);
const first = await measure("first look: every file is read", () => scan.scan());
await measure("first publication", () => publisher.publish(base(first.files)), travelled);
const connection = connectionOver(requested);
const peel = openStateFiles({
  dir: join(temporary.path, "cache"),
  peelId: "bench",
  commandKeys: { current: [command.publicKey] },
  clock,
  jitter: () => 0,
  log,
});
peel.attach(connection);
await measure("a peel fetches everything", () => peel.open());
const { signal } = new AbortController();
const client = createStatesClient({ connection, peelId: "bench", clock, jitter: () => 0, signal });
const everything = [...first.files.values()].map(({ digest, size }) => ({ digest, size }));

for (let round = 0; round < rounds; round++) {
  await measure("a master hands everything out of its memory", async () => {
    await client.fetch(everything, async () => {});
  });
  await measure("floor: list and look at every file", () => {
    for (const directory of readdirSync(tree)) {
      for (const name of readdirSync(join(tree, directory))) lstatSync(join(tree, directory, name));
    }
  });
  await measure("nothing changed: look and publish", async () =>
    publisher.publish(base((await scan.scan()).files)),
  );
  writeFileSync(pathOf(round * 37), `changed: ${round}\n`);
  await measure(
    "one file changed: look and publish",
    async () => publisher.publish(base((await scan.scan()).files)),
    travelled,
  );
  await measure("a peel fetches that", () => peel.open());
}
const repository = repositoryOf(tree, temporary.path);
repository.commit();
for (const kind of ["a repository", "a repository with signers"]) {
  const mirror = repository.mirror(kind.endsWith("signers"));
  const files = await measure(`${kind}: first sync, every file is read`, () => mirror.read());
  await publisher.publish(base(files));
  for (let round = 0; round < rounds; round++) {
    await measure(`${kind}: nothing changed: sync and publish`, async () =>
      publisher.publish(base(await mirror.read())),
    );
    const path = pathOf(round * 37);
    writeFileSync(path, `changed in ${kind}: ${round}\n`);
    repository.commit(path);
    await measure(
      `${kind}: one file changed: sync and publish`,
      async () => publisher.publish(base(await mirror.read())),
      travelled,
    );
  }
  await mirror.stop();
}
for (let token = 2; token < 5; token++) {
  await measure("another master takes over", async () => {
    publisher = await takeOverHead({ store, seal, clock, log }, token);
  });
}
door.stop();
catalog.stop();
await connection.stop();
await master.nats.close();

const medianOf = (all: readonly number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
const cpu = cpus();
process.stdout.write(`
State files: a tree of ${files} files in 200 directories
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds; medians; processor time of master and peel, without the bus

${table(
  ["", "ms", "worst", "processor ms", "travelled"],
  [...figures].map(([name, { ms, cpuMs, note }]) => [
    name,
    milliseconds(medianOf(ms)),
    milliseconds(Math.max(...ms)),
    rate(medianOf(cpuMs)),
    note,
  ]),
)}

Resident memory at the end: ${mebibytes(process.memoryUsage().rss / 1024 ** 2)} MiB, master, peel and bench together
`);
