import {
  AckPolicy,
  type ConsumerMessages,
  DeliverPolicy,
  type JsMsg,
  nanos,
  ReplayPolicy,
} from "nats";
import { sleep } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import type { StoredMessage } from "./stream.ts";

const second = 1_000;
/** What a master asks for at a time, and handles at a time. */
const pullAtOnce = 64;
const handleAtOnce = 8;
/** Delivered to any master and not acknowledged yet. */
const maxUnacknowledged = 1_024;
/** When a message comes again that nobody acknowledged: its master died, or its handler failed. */
const backoffMs = [30 * second, 60 * second, 5 * 60 * second, 15 * 60 * second, 60 * 60 * second];
/** After that a message is left: a day of trying, by the steps above. */
const maxDeliveries = 28;
/** The server reports itself this often when there is nothing to send; two silent ones are an outage. */
const heartbeatMs = 5 * second;
const bootRetryMs = 60 * second;
const firstRetryMs = 2 * second;

/** A durable consumer that any number of masters share: each message goes to one of them. */
export interface Consumer {
  /** Whether messages arrive, or would if there were any. */
  readonly running: boolean;
  /** Stops asking; resolves when what was begun has ended. */
  stop(): Promise<void>;
}

/**
 * Consumes a stream through a durable pull consumer that all masters share, and goes on across reconnects
 * and elections. A message is over when `handle` resolves; when it rejects, or its master dies, the message
 * comes again after a while, to any master: handling one twice must do no harm.
 *
 * A consumer that cannot be made is tried again every 60 s (specification, "Master checks"), one that ran
 * and failed sooner.
 */
export function consume(
  bus: Bus,
  options: {
    stream: string;
    durable: string;
    /** Subject of the messages, wildcards allowed. */
    filter: string;
  },
  handle: (message: StoredMessage) => Promise<void>,
): Consumer {
  const { durable } = options;
  const stopping = new AbortController();
  const handling = new Set<Promise<void>>();
  let messages: ConsumerMessages | undefined;
  let running = false;

  const handleOne = async (message: JsMsg) => {
    try {
      const storedAt = Math.floor(message.info.timestampNanos / 1e6);
      await handle({ subject: message.subject, data: message.data, storedAt });
      message.ack();
    } catch (thrown) {
      const deliveries = message.info.redeliveryCount;
      const retryMs = backoffMs[Math.min(deliveries, backoffMs.length) - 1] ?? backoffMs[0];
      const fields = { consumer: durable, subject: message.subject, deliveries };
      if (deliveries >= maxDeliveries) {
        bus.log.error("message given up", { ...fields, error: describeError(thrown) });
        message.term();
        return;
      }
      bus.log.warn("message not handled", { ...fields, error: describeError(thrown), retry_in_ms: retryMs });
      message.nak(retryMs);
    }
  };
  const runOnce = async () => {
    const nats = bus.nats;
    const manager = await nats.jetstreamManager({ checkAPI: false });
    await manager.consumers.add(options.stream, consumerConfig(options));
    const consumer = await nats.jetstream({ checkAPI: false }).consumers.get(options.stream, durable);
    messages = await consumer.consume({
      max_messages: pullAtOnce,
      idle_heartbeat: heartbeatMs,
      abort_on_missing_resource: true,
    });
    if (stopping.signal.aborted) messages.stop();
    running = true;
    for await (const message of messages) {
      const handled = handleOne(message).finally(() => handling.delete(handled));
      handling.add(handled);
      // Not reading on is what holds the next pull back.
      if (handling.size >= handleAtOnce) await Promise.race(handling);
    }
  };
  const run = async () => {
    let retryMs = bootRetryMs;
    for (;;) {
      const { reconnects } = bus;
      try {
        await runOnce();
      } catch (thrown) {
        if (stopping.signal.aborted) return;
        if (running) retryMs = firstRetryMs;
        bus.log.warn("consumer not running", {
          consumer: durable,
          error: describeError(thrown),
          retry_in_ms: retryMs,
        });
      } finally {
        if (running) retryMs = firstRetryMs;
        running = false;
      }
      if (stopping.signal.aborted) return;
      if (bus.reconnects === reconnects) await sleep(bus.clock, retryMs, stopping.signal);
      retryMs = Math.min(retryMs * 2, bootRetryMs);
    }
  };
  // The client looks for its consumer again after a reconnect, but waits half a minute when JetStream is not
  // up yet by then, as after a restart of the bus. Starting anew is quicker.
  const unsubscribe = bus.onReconnect(() => messages?.stop());
  const ended = run().catch(() => {
    // Only the stop signal ends the loop.
  });
  return {
    get running() {
      return running;
    },
    async stop() {
      stopping.abort();
      unsubscribe();
      messages?.stop();
      await ended;
      await Promise.all(handling);
    },
  };
}

function consumerConfig({ durable, filter }: { durable: string; filter: string }) {
  return {
    durable_name: durable,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    replay_policy: ReplayPolicy.Instant,
    max_ack_pending: maxUnacknowledged,
    max_deliver: maxDeliveries,
    backoff: backoffMs.map((ms) => nanos(ms)),
  };
}
