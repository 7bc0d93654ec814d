import type { Msg } from "nats";
import { describeError } from "../base/errors.ts";
import { type Bus, isInbox } from "./connect.ts";

/** How many messages wait for their acknowledgement at the same time. */
const mostWaiting = 16_384;

export interface RelayOptions {
  /** Wildcards allowed. */
  subjects: readonly string[];
  /** Each message goes to one subscriber of the queue. */
  queue: string;
  /** The subject that a stream captures. @param subject of the message */
  to(subject: string): string;
  /** Asked with each message. @param to its new subject */
  admits(to: string, bytes: number): boolean;
  /** How long the storage may take. */
  timeoutMs: number;
}

/**
 * Stores messages under another subject and without their headers, and passes the acknowledgement on. A message that is
 * not admitted, or not acknowledged, has no answer. So has one whose reply subject is not an inbox.
 */
export function relay(bus: Pick<Bus, "nats" | "log">, options: RelayOptions): { stop(): void } {
  const { queue, to, admits, timeoutMs } = options;
  let waiting = 0;
  const store = async (subject: string, message: Pick<Msg, "data" | "respond">) => {
    waiting++;
    try {
      const { data } = await bus.nats.request(subject, message.data, { timeout: timeoutMs });
      message.respond(data);
    } catch (thrown) {
      bus.log.debug("not relayed", { subject, reason: describeError(thrown) });
    } finally {
      waiting--;
    }
  };
  const subscriptions = options.subjects.map((pattern) =>
    bus.nats.subscribe(pattern, {
      queue,
      callback(error, message) {
        if (error !== null) return bus.log.error("subscription error", { subject: pattern, error });
        if (!isInbox(message.reply) || waiting >= mostWaiting) return;
        const subject = to(message.subject);
        if (admits(subject, message.data.length)) void store(subject, message);
      },
    }),
  );
  return {
    stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}
