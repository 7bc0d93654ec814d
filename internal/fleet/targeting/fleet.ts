import { decode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/bucket.ts";
import type { PeelView } from "../../tree/targets/evaluate.ts";
import { createFactPacker, type FactMap } from "../../tree/targets/fact-map.ts";

/** How long a peel counts as alive after a heartbeat was stored (specification, bucket `peel-heartbeat`). */
export const aliveMs = 30_000;

/** The fleet as targets are resolved over it. */
export interface Fleet {
  /** Encoded peel ids of the members, in order. */
  members(): readonly string[];
  /** The same members, in the same order, with what is known of them. */
  peels(): readonly PeelView[];
  /** Whether the views hold settings, so that `I@` means something. */
  readonly hasSettings: boolean;
  alive(peel: string): boolean;
}

/** What of the fleet a request needs, beside its members. */
export interface Wanted {
  facts: boolean;
  heartbeats: boolean;
}

/**
 * Reads the fleet from the buckets once, for a request that cannot wait for the index.
 *
 * @throws SvcError `storage` when a bucket cannot be read
 */
export async function scanFleet(options: {
  members(): readonly string[];
  facts: Pick<Bucket, "entries">;
  heartbeats: Pick<Bucket, "entries">;
  wanted: Wanted;
}): Promise<Fleet> {
  const { wanted } = options;
  const [entries, beats] = await Promise.all([
    wanted.facts ? options.facts.entries() : [],
    wanted.heartbeats ? options.heartbeats.entries() : [],
  ]);
  const packer = createFactPacker();
  const facts = new Map<string, FactMap>();
  for (const { key, value } of entries) {
    try {
      facts.set(key, packer.pack(decode(value)).facts);
    } catch {
      // What a peel stored is no facts: then it has none.
    }
  }
  // The bucket itself forgets a heartbeat when it is too old.
  const alive = new Set(beats.map(({ key }) => key));
  return {
    members: options.members,
    peels: () => options.members().map((id) => ({ id, facts: facts.get(id) })),
    hasSettings: false,
    alive: (peel) => alive.has(peel),
  };
}
