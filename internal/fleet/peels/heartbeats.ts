import { type Bucket, type Entry, readValues, type Stored } from "../../bus/storage/mod.ts";
import { type Heartbeat, openHeartbeat, readGoodbye } from "../../wire/heartbeat.ts";

/** The live peels, by encoded id: the entries of others expire within 30 s. */
export const readPeels = async (bucket: Pick<Bucket, "entries">): Promise<Stored<Heartbeat>[]> =>
  readValues((await bucket.entries()).filter(isAlive), openHeartbeat);

/** The heartbeat of one live peel. @param peel encoded id */
export async function readPeel(
  bucket: Pick<Bucket, "get">,
  peel: string,
): Promise<Stored<Heartbeat> | undefined> {
  const entry = await bucket.get(peel);
  return entry === undefined || !isAlive(entry) ? undefined : readValues([entry], openHeartbeat)[0];
}

/** A peel that said goodbye is not alive, although its entry is still there. */
const isAlive = ({ value }: Entry): boolean => readGoodbye(value) === undefined;

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
