import * as v from "valibot";
import { isSiteName } from "../base/names/site-name.ts";
import { type RecordOf, record } from "../base/record.ts";
import { hidden, lenient, optional } from "../base/record-kinds.ts";
import { instanceField } from "./instance.ts";

const limits = { bytes: 4096, elements: 4096 };
const field = "leaving_after";
const revision = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const fields = {
  /** Encoded. Readers go by the key under which it is stored: a peel may write any other name. */
  peel_id: hidden(lenient(v.string())),
  version: v.string(),
  started_at: v.string(),
  sent_at: optional(v.string()),
  /** Commands refused since the start, by reason. */
  commands_refused: optional(v.record(v.string(), v.number())),
  /** While masters have other keys than the peel, or more than one. */
  knows_command_keys: lenient(v.array(v.string())),
  /** Digest of the administrators that it knows, empty without any; only of a peel that obeys operators only. */
  administrators: lenient(v.string()),
  /** While another program listens on its `health_addr`. */
  health: lenient(v.literal("off")),
  /** While its data directory has no room: it takes no job that changes something. */
  disk: lenient(v.literal("full")),
  /** The site whose commands it receives. */
  site: hidden(lenient(v.pipe(v.string(), v.check(isSiteName)))),
  /** The process that sent it. */
  instance: instanceField,
  /** Makes it the last one of a peel that stops in order: the revision of the heartbeat before it. */
  [field]: hidden(lenient(revision)),
} as const;

/** What a live peel says of itself every few seconds. */
export type Heartbeat = RecordOf<typeof fields>;

/** A peel may store anything. */
export const {
  encode: encodeHeartbeat,
  decode: openHeartbeat,
  decodeOrNothing: readHeartbeat,
  show: showHeartbeat,
  shownEntries: shownHeartbeat,
} = record("heartbeat", fields, { isOpen: true, limits });

const goodbye = record("goodbye", { [field]: revision }, { isOpen: true, limits });

/** @returns the revision of the heartbeat that a goodbye names; `undefined` for any other heartbeat */
export function readGoodbye(heartbeat: Uint8Array): number | undefined {
  // Thousands of heartbeats are read in a second, and almost none is a goodbye.
  if (!Buffer.from(heartbeat.buffer, heartbeat.byteOffset, heartbeat.byteLength).includes(field))
    return undefined;
  return goodbye.decodeOrNothing(heartbeat)?.[field];
}
