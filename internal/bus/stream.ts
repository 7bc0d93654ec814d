import { createInbox, ErrorCode, NatsError, nanos } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { createConsumer, dropConsumer } from "./jetstream/create-consumer.ts";
import { requestTimeoutMs } from "./jetstream/request.ts";

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
 * Number of attempts to create a reader: a cluster that has just lost a server may have placed the reader
 * there.
 */
const attempts = 3;

/**
 * Reads every message that a stream holds now for a subject, in the order they were stored, through one
 * short-lived consumer that the server removes by itself (NATS document ADR-9 and ADR-31). After an attempt
 * without a reply it starts again, and a message may be delivered twice.
 *
 * @param filter a subject, wildcards allowed
 * @throws SvcError `storage` when the stream cannot be read, or stops sending
 */
export async function readStream(
  bus: Bus,
  stream: string,
  filter: string,
  onMessage: (message: StoredMessage) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readOnce(bus, stream, filter, onMessage);
    } catch (cause) {
      const unanswered = cause instanceof NatsError && cause.code === ErrorCode.Timeout;
      if (unanswered && attempt < attempts) continue;
      throw new SvcError("storage", `the stream ${stream} is not available: is the bus up?`, { cause });
    }
  }
}

async function readOnce(
  bus: Bus,
  stream: string,
  filter: string,
  onMessage: (message: StoredMessage) => void,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const inbox = createInbox();
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
        onMessage({ subject: message.subject, data: message.data, storedAt });
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
      deliver_policy: "all",
      ack_policy: "none",
      replay_policy: "instant",
      filter_subject: filter,
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
    done.promise.catch(() => {});
    subscription.unsubscribe();
  }
}
