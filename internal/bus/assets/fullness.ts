import { formatByteSize } from "../../base/byte-size.ts";
import { defined } from "../../base/defined.ts";
import type { Bus } from "../connection/mod.ts";
import { isNotFound, type ListedStream, listStreams, streamState } from "../jetstream/mod.ts";
import { type AssetName, assets, streamName, yieldingHistory } from "./assets.ts";

/** How full an asset is. */
export interface Fullness {
  asset: AssetName;
  stream: string;
  bytes: number;
  /** -1 without a limit. */
  maxBytes: number;
  /** Whether it refuses what is new when it is full. */
  refuses: boolean;
  replicas: number;
  /** How many revisions of a key it keeps, where it can do with fewer. */
  revisions?: number;
}

/** From this part of its limit on a stream is taken for full: a message of usual size may not fit any more. */
const fullPart = 0.97;
const nearlyFullPart = 0.9;

/**
 * How full each asset is that there is.
 *
 * @throws JetStreamError, NatsError when JetStream does not answer
 */
export async function readFullness(bus: Bus, timeoutMs?: number): Promise<Fullness[]> {
  return fullnessOf(await listStreams(bus, timeoutMs));
}

/** How full the assets among these streams are. */
export function fullnessOf(streams: readonly ListedStream[]): Fullness[] {
  const names = new Map((Object.keys(assets) as AssetName[]).map((asset) => [streamName(asset), asset]));
  return streams.flatMap(({ name: stream, bytes, maxBytes, refuses, replicas, perSubject }) => {
    const asset = names.get(stream);
    if (asset === undefined) return [];
    const revisions = yieldingHistory(asset) !== undefined && perSubject > 1 ? perSubject : undefined;
    return [{ asset, stream, bytes, maxBytes, refuses, replicas, ...defined({ revisions }) }];
  });
}

/**
 * The assets that exist and whose streams do not answer, or have no leader: one of them is enough, and the streams cannot
 * be listed.
 */
export async function silentAssets(bus: Pick<Bus, "nats">, timeoutMs: number): Promise<AssetName[]> {
  const names = Object.keys(assets) as AssetName[];
  const silent = await Promise.all(
    names.map((asset) =>
      streamState(bus, streamName(asset), timeoutMs).then(
        ({ hasLeader }) => !hasLeader,
        (thrown) => !isNotFound(thrown),
      ),
    ),
  );
  return names.filter((_, at) => silent[at]);
}

/** How full those of these assets are that there are and that these credentials may look at. */
export async function inspectFullness(
  bus: Bus,
  names: readonly AssetName[],
  timeoutMs: number,
): Promise<Fullness[]> {
  const found = await Promise.all(
    names.map(async (asset) => {
      const stream = streamName(asset);
      try {
        const { bytes, maxBytes, refuses, replicas } = await streamState(bus, stream, timeoutMs);
        return [{ asset, stream, bytes, maxBytes, refuses, replicas }];
      } catch {
        return [];
      }
    }),
  );
  return found.flat();
}

/** The fullest stream of those that refuse messages, or soon will, with what to do about it. */
export function fullest(
  found: readonly Fullness[],
): { full: boolean; asset: AssetName; fullness: string; advice: string; message: string } | undefined {
  const partOf = ({ bytes, maxBytes }: Fullness) => (maxBytes > 0 ? bytes / maxBytes : 0);
  const [first, ...others] = found
    .filter((one) => one.refuses && partOf(one) >= nearlyFullPart)
    .toSorted((one, other) => partOf(other) - partOf(one));
  if (first === undefined) return undefined;
  const full = partOf(first) >= fullPart;
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  const amount = `${Math.floor(partOf(first) * 100)} % of ${formatByteSize(first.maxBytes)}`;
  const fullness = `${first.stream} is ${full ? "full" : "nearly full"} (${amount})${more}`;
  const advice = adviceFor(first.asset);
  return { full, asset: first.asset, fullness, advice, message: `${fullness}: ${advice}` };
}

const advices: Partial<Record<AssetName, string>> = {
  "job-events": "raise jobs.max_bytes, or look for a peel that sends too much",
  events: "look for a peel that sends too many events, and check that the reactor runs",
  states: "remove large files from the state files, or give the bus more storage and restart a master",
  audit: "nothing can be decided: give the bus more storage and restart a master, or lower audit.retention",
  binaries: "give the bus more storage and restart a master",
};

function adviceFor(asset: AssetName): string {
  return advices[asset] ?? "give the bus server more storage (max_file_store), then restart a master";
}
