import type { BusKey, Enrollment } from "./record.ts";

/** How many unexpired keys a record lists. */
export const maxBusKeys = 4;

type Keyed = Pick<Enrollment, "busKeys">;

/** All keys that a record lists, the current one last. */
export const busKeysOf = ({ busKeys = [] }: Keyed): readonly BusKey[] => busKeys;

/**
 * The list with a new current key: without the expired keys, and with at most four.
 *
 * @param now milliseconds since the Unix epoch
 * @param revokePrevious whether all keys before are revoked
 */
export function withBusKey(
  record: Keyed,
  next: BusKey,
  { now, revokePrevious = false }: { now: number; revokePrevious?: boolean },
): { busKeys: BusKey[]; revoked: BusKey[] } {
  const others = busKeysOf(record).filter(
    ({ publicKey, expiresAt }) => publicKey !== next.publicKey && expiresAt > now,
  );
  const kept = revokePrevious ? [] : others.slice(-(maxBusKeys - 1));
  return { busKeys: [...kept, next], revoked: others.slice(0, others.length - kept.length) };
}
