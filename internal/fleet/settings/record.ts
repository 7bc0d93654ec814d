import * as v from "valibot";
import { attempt } from "../../base/errors.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, optional } from "../../base/record-kinds.ts";

const fields = {
  peelId: ["peel_id", v.string()],
  /** Sealed and signed; absent when the settings of this peel were never compiled. */
  envelope: optional(bytes()),
  /** Why newer settings cannot be compiled: file, line and reason, without values. */
  error: optional(v.string()),
} as const;

/** A value of the bucket `settings`: the settings in force for a peel, and why there are no newer ones. */
export type SettingsRecord = RecordOf<typeof fields>;

const settingsRecord = record("settings", fields, { version: 1, isOpen: true });
export const encodeSettingsRecord = settingsRecord.encode;

/** @returns `undefined` when the data is not a record */
export function decodeSettingsRecord(data: Uint8Array): SettingsRecord | undefined {
  return attempt(() => settingsRecord.decode(data));
}
