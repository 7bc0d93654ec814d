import { ErrorCode, NatsError, nanos } from "nats";
import { rfc3339 } from "../../base/clock.ts";
import { type Bus, newInbox } from "../connection/mod.ts";
import {
  createConsumer,
  dropConsumer,
  errorCodes,
  getMessage,
  JetStreamError,
  requestTimeoutMs,
  storageError,
} from "../jetstream/mod.ts";

/** The server sends a heartbeat this often while it has nothing to send; two missing ones mean an outage. */
const heartbeatMs = 2_000;

/** A message in a stream. */
export interface StoredMessage {
  subject: string;
  data: Uint8Array;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
}

/**
 * Number of attempts to read: a cluster that has just lost a server may have placed the reader there.
 */
const attempts = 3;

export interface ReadOptions {
  /**
   * Read only what was stored at this time or later, milliseconds since the Unix epoch. A server before 2.10
   * otherwise compares every subject of the stream with the filter.
   */
  since?: number;
  /** Read how large messages are, and not what is in them: their data is empty. */
  onlySizes?: boolean;
}

/**
 * Reads every message that a stream holds now for a subject, in the order they were stored, through one
 * short-lived consumer that the server removes by itself (NATS document ADR-9 and ADR-31). After an attempt
 * without a reply it starts again, and a message may be delivered twice.
 *
 * @param filter a subject, wildcards allowed
 * @param onMessage also gets the sequence of the message in the stream, and how many bytes of data it has
 * @throws SvcError `storage` when the stream cannot be read, or stops sending
 */
export function readStream(
  bus: Bus,
  stream: string,
  filter: string,
  onMessage: (message: StoredMessage, sequence: number, bytes: number) => void,
  options: ReadOptions = {},
): Promise<void> {
  return untilAnswered(stream, () => readOnce(bus, stream, filter, onMessage, options));
}

/**
 * Reads the last message that a stream holds on a subject. That costs the same whatever else the stream
 * holds, and the server creates nothing for it.
 *
 * @param subject without wildcards
 * @returns `undefined` when the stream holds none
 * @throws SvcError `storage` when the stream cannot be read
 */
export function readLatest(bus: Bus, stream: string, subject: string): Promise<StoredMessage | undefined> {
  return untilAnswered(stream, async () => {
    try {
      const { data, storedAt } = await getMessage(bus, stream, { last_by_subj: subject });
      return { subject, data, storedAt };
    } catch (thrown) {
      // A missing stream is not one without messages.
      const holdsNone = thrown instanceof JetStreamError && thrown.errorCode === errorCodes.noMessageFound;
      if (holdsNone) return undefined;
      throw thrown;
    }
  });
}

async function untilAnswered<T>(stream: string, read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (cause) {
      const unanswered = cause instanceof NatsError && cause.code === ErrorCode.Timeout;
      if (unanswered && attempt < attempts) continue;
      throw storageError(`the stream ${stream}`, cause);
    }
  }
}

async function readOnce(
  bus: Bus,
  stream: string,
  filter: string,
  onMessage: (message: StoredMessage, sequence: number, bytes: number) => void,
  { since, onlySizes = false }: ReadOptions,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  // The subscription may fail while the consumer is created, when nobody awaits this yet.
  done.promise.catch(() => {});
  const inbox = newInbox(bus);
  let silence = bus.clock.after(2 * heartbeatMs + requestTimeoutMs, () => {});
  const listen = () => {
    silence.cancel();
    silence = bus.clock.after(2 * heartbeatMs, () => done.reject(new Error("the stream stopped sending")));
  };
  let seen = 0;
  let expected = Number.POSITIVE_INFINITY;
  const subscription = bus.nats.subscribe(inbox, {
    callback(error, message) {
      if (error !== null) return done.reject(error);
      listen();
      // A message without a stream sequence is from the server itself: a heartbeat, or a flow control request
      // that needs a reply.
      const position = /^\$JS\.ACK\.(.+)$/.exec(message.reply ?? "")?.[1]?.split(".");
      if (position === undefined) {
        if (message.reply) message.respond();
        return;
      }
      try {
        const storedAt = Math.floor(Number(position.at(-2)) / 1e6);
        const { subject, data } = message;
        const bytes = onlySizes ? Number(message.headers?.get("Nats-Msg-Size")) : data.length;
        onMessage({ subject, data, storedAt }, Number(position.at(-4)), bytes);
      } catch (thrown) {
        return done.reject(thrown);
      }
      if (++seen >= expected) done.resolve();
    },
  });
  try {
    const {
      name,
      num_pending: pending,
      delivered,
    } = await createConsumer(bus, stream, {
      deliver_subject: inbox,
      ...(since === undefined
        ? { deliver_policy: "all" }
        : { deliver_policy: "by_start_time", opt_start_time: rfc3339(since) }),
      ack_policy: "none",
      replay_policy: "instant",
      filter_subject: filter,
      ...(onlySizes ? { headers_only: true } : {}),
      flow_control: true,
      idle_heartbeat: nanos(heartbeatMs),
      mem_storage: true,
      num_replicas: 1,
    });
    if (pending === undefined) throw new Error("a reply without a count");
    expected = pending + (delivered?.consumer_seq ?? 0);
    if (seen >= expected) done.resolve();
    listen();
    await done.promise;
    // The server would remove it shortly after the subscription ends, but a busy master creates thousands of
    // them.
    if (name !== undefined) dropConsumer(bus, stream, name);
  } finally {
    silence.cancel();
    subscription.unsubscribe();
  }
}
