import { sleep } from "../../base/clock.ts";
import { streamName } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import type { SystemBus } from "../servers/mod.ts";
import { compareReplicas, type Difference } from "./compare.ts";
import { type Inspection, inspectReplicas } from "./inspect.ts";
import { compareSamples, readSample, type Sample, samplePositions } from "./sample.ts";

const inspections = 4;
const pauseMs = 2_500;

export interface ReplicaCheck {
  /** Number of replicated streams. */
  streams: number;
  /** Number of those of which a sample was compared. */
  sampled: number;
  differences: Difference[];
}

/**
 * Compares the replicas of each stream: number of messages, oldest and newest message, and a digest of a sample.
 *
 * @param options.account public key of the account that owns the streams
 * @param options.connectTo opens a connection to the server at this address and no other
 * @param options.offset in [0, 1): which messages the sample has
 */
export async function checkReplicas(options: {
  bus: Bus;
  system: Pick<SystemBus, "queryServers">;
  account: string;
  connectTo: (address: string) => Promise<Bus>;
  offset: number;
  signal: AbortSignal;
}): Promise<ReplicaCheck> {
  const { bus, system, account, signal } = options;
  const seen: Inspection[] = [];
  for (let i = 0; i < inspections; i++) {
    if (i > 0) await sleep(bus.clock, pauseMs, signal);
    seen.push(await inspectReplicas(system, account));
  }
  const latest = seen.at(-1)?.streams ?? new Map<string, never>();
  if (latest.size === 0) return { streams: 0, sampled: 0, differences: [] };
  const counted = compareReplicas(seen);
  // A replica that lags passes reads to another server, and one that was renumbered has other messages at the same
  // sequences: then a sample would blame servers that are right. It is taken when that replica was rebuilt.
  const known = new Set(counted.map(({ stream }) => stream));
  const even = new Map([...latest].filter(([name]) => !known.has(name)));
  const { sampled, differences } = await checkSamples(options, even);
  return {
    streams: latest.size,
    sampled,
    // The values of a probe are replaced all the time, also while they are compared.
    differences: [...counted, ...differences].filter(({ stream }) => !probed.has(stream)),
  };
}

const probed: ReadonlySet<string> = new Set([streamName("probe"), streamName("master-probe")]);

async function checkSamples(
  { bus, connectTo, offset, signal }: Parameters<typeof checkReplicas>[0],
  streams: Inspection["streams"],
): Promise<Omit<ReplicaCheck, "streams">> {
  const readers = await openReaders(bus.nats.info?.connect_urls ?? [], connectTo);
  try {
    let sampled = 0;
    const differences: Difference[] = [];
    for (const [name, stream] of streams) {
      const positions = samplePositions(stream, offset);
      const read = async () => {
        const samples = new Map<string, Sample>();
        for (const server of stream.peers) {
          const reader = readers.get(server);
          const sample = reader === undefined ? undefined : await readSample(reader, name, positions);
          if (sample !== undefined) samples.set(server, sample);
        }
        return samples;
      };
      if (!stream.direct || stream.leader === "") continue;
      const before = await read();
      if (before.size < 2) continue;
      sampled++;
      const taken = [before, await read()];
      const compare = () => compareSamples(name, stream.leader, positions, taken);
      if (compare().length === 0) continue;
      // A replica that is a moment behind holds what the others have already replaced: it has caught up by then.
      await sleep(bus.clock, pauseMs, signal);
      taken.push(await read());
      differences.push(...compare());
    }
    return { sampled, differences };
  } finally {
    await Promise.all([...readers.values()].map((reader) => reader.nats.close()));
  }
}

/** One connection to each server that can be reached, by name of the server. */
async function openReaders(
  addresses: readonly string[],
  connectTo: (address: string) => Promise<Bus>,
): Promise<Map<string, Bus>> {
  const readers = new Map<string, Bus>();
  for (const address of addresses) {
    try {
      const reader = await connectTo(address);
      const name = reader.nats.info?.server_name ?? "";
      if (readers.has(name)) await reader.nats.close();
      else readers.set(name, reader);
    } catch {
      // It is away, or not reachable from here: the others are compared.
    }
  }
  return readers;
}
