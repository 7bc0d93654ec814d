import { rfc3339 } from "../../base/clock.ts";
import { type Bus, newInbox } from "../connection/mod.ts";
import { createConsumer, dropConsumer, orStorageError, requestTimeoutMs } from "../jetstream/mod.ts";
import type { StoredMessage } from "./stream.ts";

/** The server removes a reader that was forgotten after this time. */
const idleNs = 10_000_000_000;

/** How often a reading that the bus broke off starts again, as after an election. */
const moreAttempts = 3;
/** Status codes at the end of a batch: there is nothing, or not so much any more. */
const ends: ReadonlySet<number | undefined> = new Set([404, 408]);

/** The end of a batch whose next message is larger than what is left of its bytes. */
const isTooSmall = (code: number | undefined, description: string | undefined) =>
  code === 409 && description?.includes("MaxBytes") === true;

/** The bus ended a batch before its end: the consumer went, or has another leader. */
class BrokenOff extends Error {}

/** How much is read. */
interface Batch {
  count: number;
  /** Maximum size in bytes; one message is always read. */
  maxBytes?: number;
}

/** A message of a stream, with its place in it. */
export type PlacedMessage = StoredMessage & { sequence: number };

/**
 * Reads the messages of a stream from a sequence on, at most as many as requested, through one short-lived consumer.
 * What the stream holds elsewhere costs nothing.
 *
 * @param range.filter only messages on this subject; wildcards allowed
 * @param range.maxBytes read no more bytes than this, except for a single message that is larger
 * @returns in the order of their sequences; removed ones are left out
 * @throws SvcError `storage`
 */
export function readRange(
  bus: Bus,
  stream: string,
  { from, filter, ...batch }: Batch & { from: number; filter?: string },
): Promise<PlacedMessage[]> {
  const start = { deliver_policy: "by_start_sequence", opt_start_seq: Math.max(1, from) };
  return pull(bus, stream, filter === undefined ? start : { ...start, filter_subject: filter }, batch);
}

/**
 * The sequence of the first message that was stored at a time or later.
 *
 * @param at milliseconds since the Unix epoch
 * @returns `undefined` when there is none
 * @throws SvcError `storage`
 */
export async function sequenceAt(bus: Bus, stream: string, at: number): Promise<number | undefined> {
  const start = { deliver_policy: "by_start_time", opt_start_time: rfc3339(at) };
  return (await pull(bus, stream, start, { count: 1 }))[0]?.sequence;
}

function pull(
  bus: Bus,
  stream: string,
  start: Readonly<Record<string, unknown>>,
  batch: Batch,
): Promise<PlacedMessage[]> {
  return orStorageError(`the stream ${stream}`, async () => {
    for (let left = moreAttempts; ; left--) {
      try {
        return await pullOnce(bus, stream, start, batch);
      } catch (thrown) {
        if (!(thrown instanceof BrokenOff) || left === 0) throw thrown;
      }
    }
  });
}

async function pullOnce(
  bus: Bus,
  stream: string,
  start: Readonly<Record<string, unknown>>,
  batch: Batch,
): Promise<PlacedMessage[]> {
  const { name, num_pending: pending = 0 } = await createConsumer(bus, stream, {
    ...start,
    ack_policy: "none",
    replay_policy: "instant",
    inactive_threshold: idleNs,
    mem_storage: true,
    num_replicas: 1,
  });
  if (name === undefined) throw new Error("a reply without a name");
  const count = Math.min(batch.count, pending);
  try {
    if (count === 0) return [];
    const found = await fetchBatch(bus, stream, name, { ...batch, count });
    // Without a limit of bytes there is always one where there are any.
    return found.length === 0 && batch.maxBytes !== undefined
      ? await fetchBatch(bus, stream, name, { count: 1 })
      : found;
  } finally {
    dropConsumer(bus, stream, name);
  }
}

async function fetchBatch(
  bus: Bus,
  stream: string,
  name: string,
  { count, maxBytes }: Batch,
): Promise<PlacedMessage[]> {
  const found: PlacedMessage[] = [];
  const done = Promise.withResolvers<void>();
  const inbox = newInbox(bus);
  const silence = () =>
    bus.clock.after(requestTimeoutMs, () => done.reject(new Error("the stream stopped sending")));
  // A closed connection refuses to subscribe: then nothing waits, so no timer starts before it.
  const subscription = bus.nats.subscribe(inbox, {
    callback(error, message) {
      if (error !== null) return done.reject(error);
      const position = /^\$JS\.ACK\.(.+)$/.exec(message.reply ?? "")?.[1]?.split(".");
      if (position === undefined) {
        const { code, description } = message.headers ?? {};
        // The end of the batch, or that messages were removed meanwhile; anything else would look like missing messages.
        if (ends.has(code) || isTooSmall(code, description)) return done.resolve();
        return done.reject(new BrokenOff(`it broke off: ${code} ${description}`));
      }
      timer.cancel();
      timer = silence();
      found.push({
        subject: message.subject,
        data: message.data,
        storedAt: Math.floor(Number(position.at(-2)) / 1e6),
        sequence: Number(position.at(-4)),
      });
      if (found.length >= count) done.resolve();
    },
  });
  let timer = silence();
  try {
    const request = JSON.stringify({
      batch: count,
      expires: 1_000_000_000 * (requestTimeoutMs / 1000),
      max_bytes: maxBytes,
    });
    bus.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, request, { reply: inbox });
    await done.promise;
    return found;
  } finally {
    timer.cancel();
    done.promise.catch(() => {});
    subscription.unsubscribe();
  }
}
