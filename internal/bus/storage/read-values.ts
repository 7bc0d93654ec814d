import { attempt } from "../../base/errors.ts";
import type { Entry } from "./entry.ts";

/** The value of a key, and when it was stored. */
export type Stored<T> = T & Pick<Entry, "key" | "storedAt" | "revision">;

/**
 * Reads the values of a bucket that others write, sorted by key, so that two outputs differ only where something
 * changed. Malformed values are skipped: their writer may store anything under its own key.
 *
 * @param open throws for what is malformed
 */
export function readValues<T extends object>(
  entries: readonly Entry[],
  open: (bytes: Uint8Array) => T,
): Stored<T>[] {
  const sorted = entries.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return sorted.flatMap(({ key, value, storedAt, revision }) => {
    return attempt(() => [{ ...open(value), key, storedAt, revision }], []);
  });
}
