import * as v from "valibot";
import { decodeForeign } from "../base/msgpack.ts";

/** Heartbeats take up to this many bytes. */
const maxMessageBytes = 4096;
const field = "leaving_after";
const goodbye = v.object({ [field]: v.pipe(v.number(), v.safeInteger(), v.minValue(0)) });

/**
 * What makes a heartbeat the last one of a peel that stops in order.
 *
 * @param after revision of the heartbeat before it, as the bus confirmed it
 */
export function goodbyeFields(after: number): Record<string, number> {
  return { [field]: after };
}

/**
 * Reads a stored heartbeat, which a peel writes.
 *
 * @returns the revision of the heartbeat that a goodbye names; `undefined` for any other heartbeat
 */
export function readGoodbye(heartbeat: Uint8Array): number | undefined {
  // Thousands of heartbeats are read in a second, and almost none is a goodbye.
  if (!Buffer.from(heartbeat.buffer, heartbeat.byteOffset, heartbeat.byteLength).includes(field))
    return undefined;
  try {
    const parsed = v.safeParse(goodbye, decodeForeign(heartbeat, maxMessageBytes));
    return parsed.success ? parsed.output[field] : undefined;
  } catch {
    return undefined;
  }
}
