import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { decode, encode } from "../../base/msgpack.ts";

/** A value of the bucket `settings`: the settings in force for a peel, and why there are no newer ones. */
export interface SettingsRecord {
  peelId: string;
  /** Sealed and signed; absent when the settings of this peel were never compiled. */
  envelope?: Uint8Array;
  /** Why newer settings cannot be compiled: file, line and reason, without values. */
  error?: string;
}

const stored = v.object({
  v: v.literal(1),
  peel_id: v.string(),
  envelope: v.optional(v.instance(Uint8Array)),
  error: v.optional(v.string()),
});

export function encodeSettingsRecord({ peelId, envelope, error }: SettingsRecord): Uint8Array {
  return encode({ v: 1, peel_id: peelId, envelope, error });
}

/** @returns `undefined` when the data is not a record */
export function decodeSettingsRecord(bytes: Uint8Array): SettingsRecord | undefined {
  let value: unknown;
  try {
    value = decode(bytes);
  } catch {
    return undefined;
  }
  const parsed = v.safeParse(stored, value);
  if (!parsed.success) return undefined;
  const { peel_id: peelId, envelope, error } = parsed.output;
  return {
    peelId,
    ...defined({ envelope, error }),
  };
}
