import * as v from "valibot";
import { decode } from "../base/msgpack.ts";
import type { Entry } from "./entry.ts";

/** The value of a key, and when it was stored. */
export type Stored<T> = T & Pick<Entry, "key" | "storedAt" | "revision">;

/**
 * Reads the values of a bucket that others write, sorted by key, so that two outputs differ only where something
 * changed. Malformed values are skipped: their writer may store anything under its own key.
 */
export function readValues<Schema extends v.GenericSchema<unknown, object>>(
  entries: readonly Entry[],
  schema: Schema,
): Stored<v.InferOutput<Schema>>[] {
  const sorted = entries.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return sorted.flatMap(({ key, value, storedAt, revision }) => {
    const parsed = v.safeParse(schema, safely(value));
    return parsed.success ? [{ ...parsed.output, key, storedAt, revision }] : [];
  });
}

function safely(bytes: Uint8Array): unknown {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}
