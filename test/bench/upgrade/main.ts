import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { decode, encode } from "../../../internal/base/msgpack.ts";
import { sha256Hex } from "../../../internal/base/sha256.ts";
import { connectBus } from "../../../internal/bus/connection/connect.ts";
import { fetchSubject, peelInboxPrefix } from "../../../internal/bus/subjects/subjects.ts";
import type { BinaryFile } from "../../../internal/cli/upgrade/read-binary.ts";
import { uploadBinary } from "../../../internal/cli/upgrade/upload.ts";
import {
  type BinaryManifest,
  chunkBytes,
  encodeBinaryManifest,
} from "../../../internal/host/binary/manifest.ts";
import { enlist, type Member, mintMember, peelsAccountKey } from "../../fleet/credentials.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { recordingLog } from "../../harness/log.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, rate, table } from "../table.ts";

// What a master needs when a whole fleet fetches one binary at once: its memory, and how much it hands out. The
// master is the compiled one; the peels are connections of this process, which ask as a peel does, and check
// what they get, and write nothing. The floor is one peel alone.

const flags = readFlags({ peels: ["100", "3"], mib: ["60", "2"] });
const peels = flags.count("peels");
const size = flags.count("mib") * 1024 * 1024;
const clock = systemClock;
const log = recordingLog();
/** As internal/agent/upgrade/fetch-binary.ts has them. */
const chunksAtOnce = 2;
const [firstPauseMs, maxPauseMs] = [1_000, 30_000];
const connectsAtOnce = 20;

await using bus = await startBus();
await using master = await startMasterBinary(bus);
const account = peelsAccountKey(bus.authDir);
const operator = await connectTo(bus, "master");
const members = Array.from({ length: peels }, (_, at) => mintMember(`peel-${at}`, account));
await enlist(operator, bus.authDir, members);

const chunk = (index: number) => {
  const data = Buffer.alloc(Math.min(chunkBytes, size - index * chunkBytes));
  data.fill(systemRandom(64 * 1024));
  return data;
};
const parts = Array.from({ length: Math.ceil(size / chunkBytes) }, (_, index) => chunk(index));
const manifest: BinaryManifest = {
  sha256: sha256Hex(Buffer.concat(parts)),
  size,
  platform: "linux-x64",
  version: "1.2.3",
  chunks: parts.map(sha256Hex),
};
const file: BinaryFile = {
  manifest,
  ...encodeBinaryManifest(manifest),
  chunk: async (index) => parts[index] ?? Buffer.of(),
  [Symbol.asyncDispose]: async () => {},
};

interface Sample {
  seconds: number;
  refused: number;
  masterMiB: number;
  masterPeakMiB: number;
  busMiB: number;
}

const uploaded = clock.monotonic();
await uploadBinary(operator, file, () => {});
const uploadSeconds = (clock.monotonic() - uploaded) / 1000;
const idle = memoryOf(master.program.pid);
const rows: string[][] = [];
for (const count of [1, peels]) rows.push(rowOf(count, await fetchAll(count)));
await operator.nats.close();

const cpu = cpus();
process.stdout.write(`
A binary of ${flags.text("mib")} MiB
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
uploaded and verified in ${uploadSeconds.toFixed(1)} s; the master had ${mebibytes(idle.now)} MiB resident then

${table(["peels", "seconds", "MiB/s", "sent away", "master MiB", "its most", "bus MiB"], rows)}
`);

/** Lets so many peels fetch the binary at once, each on a connection of its own. */
async function fetchAll(count: number): Promise<Sample> {
  const connections: Awaited<ReturnType<typeof connect>>[] = [];
  for (let at = 0; at < count; at += connectsAtOnce) {
    const some = members.slice(at, Math.min(at + connectsAtOnce, count)).map(connect);
    connections.push(...(await Promise.all(some)));
  }
  let refused = 0;
  const fetchOne = async ({ peelId, nats }: (typeof connections)[number]) => {
    const queue = manifest.chunks.values();
    const work = async () => {
      for (const digest of queue) {
        for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
          const request = encode({ binary: [digest] });
          const reply = await nats
            .request(fetchSubject(peelId), request, { timeout: 30_000 })
            .catch(() => undefined);
          const { blobs: [data] = [] } = (reply === undefined ? {} : decode(reply.data)) as {
            blobs?: Uint8Array[];
          };
          if (data !== undefined && sha256Hex(data) === digest) break;
          refused++;
          const share = (systemRandom(1)[0] ?? 0) / 256;
          await sleep(clock, pauseMs * (0.5 + share / 2));
        }
      }
    };
    await Promise.all(Array.from({ length: chunksAtOnce }, work));
  };
  const begun = clock.monotonic();
  await Promise.all(connections.map(fetchOne));
  const seconds = (clock.monotonic() - begun) / 1000;
  for (const { nats } of connections) await nats.close();
  const { now, peak } = memoryOf(master.program.pid);
  return { seconds, refused, masterMiB: now, masterPeakMiB: peak, busMiB: memoryOf(bus.server().pid).now };
}

async function connect({ peelId, credentials }: Member) {
  const { nats } = await connectBus({
    urls: [bus.url],
    name: peelId,
    identity: { credentials },
    ca: bus.caPem,
    inboxPrefix: peelInboxPrefix(peelId),
    clock,
    log,
  });
  return { peelId, nats };
}

function rowOf(count: number, sample: Sample): string[] {
  const { seconds, refused, masterMiB, masterPeakMiB, busMiB } = sample;
  return [
    `${count}`,
    seconds.toFixed(1),
    rate((count * size) / 1024 ** 2 / seconds),
    `${refused}`,
    mebibytes(masterMiB),
    mebibytes(masterPeakMiB),
    mebibytes(busMiB),
  ];
}

/** Resident memory of a process now, and the most it had, in MiB. */
function memoryOf(pid: number): { now: number; peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}
