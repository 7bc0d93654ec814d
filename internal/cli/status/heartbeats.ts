import * as v from "valibot";
import { formatDuration } from "../../base/duration.ts";
import { type Bucket, type Entry, readValues, type Stored } from "../../bus/mod.ts";
import { readGoodbye } from "../../wire/goodbye.ts";

const peelBeat = v.object({
  version: v.string(),
  started_at: v.string(),
  sent_at: v.optional(v.string()),
  commands_refused: v.optional(v.record(v.string(), v.number())),
  /** Digest of the administrators that it knows, empty without any; only of a peel that obeys operators only. */
  administrators: v.optional(v.fallback(v.optional(v.string()), undefined)),
  /** While masters have other keys than the peel, or more than one. */
  knows_command_keys: v.optional(v.fallback(v.optional(v.array(v.string())), undefined)),
});

/** The heartbeat of a live peel. */
export type PeelBeat = v.InferOutput<typeof peelBeat>;

/** The live peels, by encoded id: the entries of others expire within 30 s. */
export const readPeels = async (bucket: Bucket): Promise<Stored<PeelBeat>[]> =>
  readValues((await bucket.entries()).filter(isHeard), peelBeat);

/** The heartbeat of one live peel. @param peel encoded id */
export async function readPeel(bucket: Bucket, peel: string): Promise<Stored<PeelBeat> | undefined> {
  const entry = await bucket.get(peel);
  return entry === undefined || !isHeard(entry) ? undefined : readValues([entry], peelBeat)[0];
}

/** A peel that said goodbye is not alive, although its entry is still there. */
const isHeard = ({ value }: Entry): boolean => readGoodbye(value) === undefined;

/** More than this counts as a difference: a heartbeat takes a moment to the bus. */
const clockToleranceMs = 5_000;

/**
 * By how much the clock of a peel differs from that of the bus, milliseconds, positive when it is ahead;
 * `undefined` when it does not differ, or the peel does not report it.
 */
export function clockDifferenceOf(beat: {
  sent_at?: string | undefined;
  storedAt: number;
}): number | undefined {
  const difference = Date.parse(beat.sent_at ?? "") - beat.storedAt;
  return Math.abs(difference) > clockToleranceMs ? difference : undefined;
}

/** `10m ahead`, `2h behind` */
export function differenceWords(ms: number): string {
  return `${formatDuration(Math.round(Math.abs(ms) / 1000) * 1000)} ${ms > 0 ? "ahead" : "behind"}`;
}
