import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerMessages,
  DeliverPolicy,
  ErrorCode,
  type JetStreamManager,
  type JsMsg,
  NatsError,
  nanos,
  ReplayPolicy,
} from "nats";
import { createBackoff } from "../../base/backoff.ts";
import { rfc3339, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { isNotFound, managerOf, orStorageError } from "../jetstream/mod.ts";
import type { StoredMessage } from "./stream.ts";

const second = 1_000;
/** How many messages a master requests at a time. */
const pullAtOnce = 64;
/** How many messages may be delivered to all masters and not acknowledged yet. */
const maxUnacknowledged = 1_024;
/** The server sends a heartbeat this often when there is nothing to send; two missing ones mean an outage. */
const heartbeatMs = 5 * second;
const bootRetryMs = 60 * second;
const firstRetryMs = 2 * second;
/** Of a consumer that ran, or while nobody answers: JetStream serves some parts of a cluster later than others, and without a new connection. */
const maxRetryMs = 5 * second;

/** A durable consumer that any number of masters share: each message goes to one of them. */
export interface Consumer {
  /** Whether messages can arrive now. */
  readonly running: boolean;
  /** Resolves when the first attempt to start has succeeded or failed. */
  readonly attempted: Promise<void>;
  /**
   * Stops requesting; resolves when the messages in progress have been handled. Messages still in transit are
   * delivered again.
   */
  stop(): Promise<void>;
}

export interface ConsumerOptions {
  stream: string;
  /** Name of the consumer: masters that use the same name share the work. */
  durable: string;
  /** Subject of the messages, wildcards allowed. */
  filter: string;
  /**
   * How long until a message that was not handled is delivered again, in milliseconds, by the number of
   * deliveries; the last value repeats. The first value must also cover the handling itself.
   */
  backoffMs: readonly [number, ...number[]];
  /** How often a message is delivered before it is given up; more often than there are steps above. */
  maxDeliveries: number;
  /** How many messages a master handles at a time. */
  atOnce: number;
  /**
   * Start time of a consumer that does not exist yet, milliseconds since the Unix epoch; called each time one
   * is created. Without it the consumer starts with the first message of the stream.
   */
  since?(): number;
}

/** A message that a consumer received. */
export interface DeliveredMessage extends StoredMessage {
  /** Its sequence in the stream, which no other message ever has. */
  sequence: number;
  /** 1 for the first delivery. */
  deliveries: number;
}

/**
 * Consumes a stream through a durable pull consumer that all masters share, and continues after reconnects
 * and elections. A message is done when `handle` resolves. When it rejects, or its master dies, the message
 * is delivered again later, to any master: handling a message twice must be harmless. A consumer that cannot
 * be created is tried again every 60 s (specification, "Master checks"), and one that ran and failed every 5 s or
 * sooner; so is one that nobody answers for, as during an election.
 */
export function consume(
  bus: Bus,
  options: ConsumerOptions,
  handle: (message: DeliveredMessage) => Promise<void>,
): Consumer {
  const { durable } = options;
  const stopping = new AbortController();
  const handling = new Set<Promise<void>>();
  let messages: ConsumerMessages | undefined;
  let running = false;
  const attempted = Promise.withResolvers<void>();

  const runOnce = async () => {
    const manager = await managerOf(bus);
    await createOrUpdate(manager, options);
    const consumer = await bus.nats.jetstream().consumers.get(options.stream, durable);
    if (stopping.signal.aborted) return;
    messages = await consumer.consume({
      max_messages: pullAtOnce,
      idle_heartbeat: heartbeatMs,
      abort_on_missing_resource: true,
    });
    running = true;
    attempted.resolve();
    for await (const message of messages) {
      const handled = handleMessage(bus, options, message, handle).finally(() => handling.delete(handled));
      handling.add(handled);
      // The next pull waits until this loop reads again.
      if (handling.size >= options.atOnce) await Promise.race(handling);
    }
  };
  const run = async () => {
    const backoff = createBackoff({ firstMs: firstRetryMs, maxMs: maxRetryMs });
    let hasRun = false;
    while (!stopping.signal.aborted) {
      const { reconnects } = bus;
      let reason = "it ended";
      let isAnswered = true;
      try {
        await runOnce();
      } catch (thrown) {
        reason = describeError(thrown);
        isAnswered = !isSilence(thrown);
      }
      if (running) {
        hasRun = true;
        backoff.reset();
      }
      running = false;
      attempted.resolve();
      if (stopping.signal.aborted || bus.reconnects !== reconnects) continue;
      const retryMs = hasRun || !isAnswered ? backoff.next() : bootRetryMs;
      bus.log.warn("consumer not running", { consumer: durable, reason, retry_in_ms: retryMs });
      await sleep(bus.clock, retryMs, stopping.signal);
    }
  };
  // After a reconnect the client looks for its consumer, but it waits half a minute when JetStream is not up
  // yet, as after a restart of the bus. Starting again is faster.
  const unsubscribe = bus.onReconnect(() => messages?.stop());
  const ended = run().catch(() => {
    // Only the stop signal ends this loop.
  });
  return {
    get running() {
      return running;
    },
    attempted: attempted.promise,
    async stop() {
      stopping.abort();
      unsubscribe();
      messages?.stop();
      await ended;
      await Promise.all(handling);
    },
  };
}

function isSilence(thrown: unknown): boolean {
  return (
    thrown instanceof NatsError &&
    (thrown.code === ErrorCode.Timeout || thrown.code === ErrorCode.NoResponders)
  );
}

async function handleMessage(
  { log }: Bus,
  { durable, backoffMs, maxDeliveries }: ConsumerOptions,
  message: JsMsg,
  handle: (message: DeliveredMessage) => Promise<void>,
): Promise<void> {
  const { timestampNanos, deliveryCount: deliveries, streamSequence: sequence } = message.info;
  const { subject, data } = message;
  let answer = () => message.ack();
  try {
    await handle({ subject, data, storedAt: Math.floor(timestampNanos / 1e6), sequence, deliveries });
  } catch (thrown) {
    const fields = { consumer: durable, subject, deliveries, error: describeError(thrown) };
    if (deliveries >= maxDeliveries) {
      log.error("message given up", fields);
      answer = () => message.term();
    } else {
      const retryMs = backoffMs[Math.min(deliveries, backoffMs.length) - 1] ?? backoffMs[0];
      log.warn("message not handled", { ...fields, retry_in_ms: retryMs });
      answer = () => message.nak(retryMs);
    }
  }
  try {
    answer();
  } catch {
    // The connection is closed: the server delivers the message again.
  }
}

/**
 * Removes an unused consumer and its position. A missing consumer is not an error.
 *
 * @throws SvcError `storage`
 */
export async function removeConsumer(bus: Bus, stream: string, durable: string): Promise<void> {
  await orStorageError(`the consumer ${durable}`, async () => {
    try {
      await (await managerOf(bus)).consumers.delete(stream, durable);
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  });
}

/** Servers from 2.10 on refuse to create a consumer that exists with another configuration. */
async function createOrUpdate(manager: JetStreamManager, options: ConsumerOptions): Promise<void> {
  const { stream, durable, since } = options;
  const wanted = consumerConfig(options);
  const existing = await configOf(manager, options);
  if (existing !== undefined) {
    // In a cluster an update waits for an election that reading does not need.
    const isWanted = Object.entries(wanted).every(([key, value]) =>
      Bun.deepEquals(existing[key as keyof ConsumerConfig], value),
    );
    if (isWanted) return;
    // Where a consumer starts cannot be changed.
    const { deliver_policy, opt_start_time } = existing;
    await manager.consumers.update(stream, durable, {
      ...wanted,
      deliver_policy,
      ...defined({ opt_start_time }),
    } as Partial<ConsumerConfig>);
    return;
  }
  const start =
    since === undefined ? {} : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: rfc3339(since()) };
  await manager.consumers.add(stream, { ...wanted, ...start });
}

/** @returns `undefined` when it does not exist */
async function configOf(
  manager: JetStreamManager,
  { stream, durable }: ConsumerOptions,
): Promise<ConsumerConfig | undefined> {
  try {
    return (await manager.consumers.info(stream, durable)).config;
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
    return undefined;
  }
}

function consumerConfig(options: ConsumerOptions) {
  return {
    durable_name: options.durable,
    filter_subject: options.filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    replay_policy: ReplayPolicy.Instant,
    max_ack_pending: maxUnacknowledged,
    max_deliver: options.maxDeliveries,
    backoff: options.backoffMs.map((ms) => nanos(ms)),
  };
}
