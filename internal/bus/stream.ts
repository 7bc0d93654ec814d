import { createInbox, ErrorCode, NatsError, nanos } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { createConsumer, dropConsumer } from "./jetstream/create-consumer.ts";
import { requestTimeoutMs } from "./jetstream/request.ts";

/** The server reports itself this often while it has nothing to send; two silent ones are an outage. */
const heartbeatMs = 2_000;

/** A message as a stream holds it. */
export interface StoredMessage {
  subject: string;
  data: Uint8Array;
  /** When the server stored it, milliseconds since the Unix epoch. */
  storedAt: number;
}

/** How often a reader is asked for: a cluster that has just lost a server may have given it to that one. */
const attempts = 3;

/**
 * Reads every message that a stream holds now for a subject, in the order they were stored, through one
 * short-lived consumer that the server removes by itself (NATS document ADR-9 and ADR-31). After an attempt
 * without an answer it begins anew, and a message may come twice.
 *
 * @param filter a subject, wildcards allowed
 * @throws SvcError `storage` when the stream cannot be read, or falls silent
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
    silence = bus.clock.after(2 * heartbeatMs, () => done.reject(new Error("the stream fell silent")));
  };
  let seen = 0;
  let expected = Number.POSITIVE_INFINITY;
  const subscription = bus.nats.subscribe(inbox, {
    callback(error, message) {
      if (error !== null) return done.reject(error);
      listen();
      // Without a stream sequence it is the server itself: a heartbeat, or a pause that wants an answer.
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
    // It would go by itself a moment after its subscription; a busy master makes thousands of them.
    if (name !== undefined) dropConsumer(bus, stream, name);
  } finally {
    silence.cancel();
    done.promise.catch(() => {});
    subscription.unsubscribe();
  }
}
