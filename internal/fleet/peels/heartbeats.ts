import * as v from "valibot";
import { type Bucket, type Entry, readValues, type Stored } from "../../bus/mod.ts";
import { readGoodbye } from "../../wire/goodbye.ts";

/** What a live peel says of itself every few seconds. */
export const peelBeat = v.object({
  version: v.string(),
  started_at: v.string(),
  sent_at: v.optional(v.string()),
  commands_refused: v.optional(v.record(v.string(), v.number())),
  /** Digest of the administrators that it knows, empty without any; only of a peel that obeys operators only. */
  administrators: v.optional(v.fallback(v.optional(v.string()), undefined)),
  /** While masters have other keys than the peel, or more than one. */
  knows_command_keys: v.optional(v.fallback(v.optional(v.array(v.string())), undefined)),
});

export type PeelBeat = v.InferOutput<typeof peelBeat>;

/** The live peels, by encoded id: the entries of others expire within 30 s. */
export const readPeels = async (bucket: Pick<Bucket, "entries">): Promise<Stored<PeelBeat>[]> =>
  readValues((await bucket.entries()).filter(isHeard), peelBeat);

/** The heartbeat of one live peel. @param peel encoded id */
export async function readPeel(
  bucket: Pick<Bucket, "get">,
  peel: string,
): Promise<Stored<PeelBeat> | undefined> {
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
