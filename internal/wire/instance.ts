import type * as v from "valibot";
import { rfc3339 } from "../base/clock.ts";
import type { Random } from "../base/id.ts";
import { bytes, count, hidden, lenient, part, textOf } from "../base/record-kinds.ts";

const fields = {
  /** Random, made at each start of the process. */
  id: bytes(16),
  startedAt: ["started_at", textOf((found) => !Number.isNaN(Date.parse(found)), "a time")],
  /** Of the message: it grows over hellos and heartbeats together. */
  seq: count(1),
} as const;
const instance = part(fields, { isOpen: true });

/** Which process of a peel sent a message, and which of its messages this is. */
export type Instance = v.InferOutput<typeof instance.read>;

/** A field of hellos and heartbeats; absent in those of earlier versions, and where it cannot be read. */
export const instanceField = hidden({ ...instance, ...lenient(instance.read) });

/** @returns what gives each message of this process its instance */
export function createInstance(random: Random, now: number): () => Instance {
  const id = random(16);
  const startedAt = rfc3339(now);
  let seq = 0;
  return () => ({ id, startedAt, seq: ++seq });
}
