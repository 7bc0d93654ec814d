import type { Bucket } from "../../bus/storage/mod.ts";
import { createFactPacker, type FactMap, type PeelView } from "../../tree/targets/mod.ts";
import { openFacts } from "../../wire/facts.ts";
import { readGoodbye } from "../../wire/heartbeat.ts";

/** Time that a peel counts as alive after a heartbeat (specification, bucket `peel-heartbeat`). */
export const aliveMs = 30_000;

/** The view of the fleet that targets are resolved on. */
export interface Fleet {
  /** Sorted encoded peel ids of the members. */
  members(): readonly string[];
  /** The same members in the same order, with their facts and heartbeats. */
  peels(): readonly PeelView[];
  /** Whether the views contain settings, which `I@` needs. */
  readonly hasSettings: boolean;
  alive(peel: string): boolean;
}

/** The data that a request needs in addition to the members. */
export interface Wanted {
  facts: boolean;
  heartbeats: boolean;
}

/**
 * Reads the fleet from the buckets, for a request that cannot wait for the index.
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
      facts.set(key, packer.pack(openFacts(value)).facts);
    } catch {
      // Invalid facts of a peel count as none.
    }
  }
  // The bucket itself expires old heartbeats.
  const seen = beats.filter(({ value }) => readGoodbye(value) === undefined);
  const alive = new Set(seen.map(({ key }) => key));
  return {
    members: options.members,
    peels: () => options.members().map((id) => ({ id, facts: facts.get(id) })),
    hasSettings: false,
    alive: (peel) => alive.has(peel),
  };
}
