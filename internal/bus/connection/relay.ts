import type { Msg } from "nats";
import { sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { type Bus, isInbox } from "./connect.ts";

export interface RelayOptions {
  /** Wildcards allowed. */
  subjects: readonly string[];
  /** Each message goes to one subscriber of the queue. */
  queue: string;
  /**
   * Asked with each message; bounds how many wait for the storage.
   *
   * @param subject of the message
   * @returns `undefined` drops the message
   */
  admit(subject: string, bytes: number): Admitted | undefined;
  /** Called with each message that is not stored, because nothing would receive the acknowledgement. */
  ignored(subject: string, bytes: number): void;
  /** How long the storage may take. */
  timeoutMs: number;
}

interface Admitted {
  /** The subject that a stream captures. */
  to: string;
  /** Called when the storage has answered, or did not in time. */
  finish(isAnswered: boolean): void;
}

/**
 * Stores messages under another subject and without their headers, and passes the acknowledgement on. A message that is
 * not admitted, or not acknowledged, has no answer. So has one whose reply subject is not an inbox.
 */
export function relay(
  bus: Pick<Bus, "nats" | "clock" | "log">,
  options: RelayOptions,
): {
  /** Takes no more messages, and finishes those that were taken, for at most `timeoutMs`. */
  stop(): Promise<void>;
} {
  const { queue, admit, ignored, timeoutMs } = options;
  const underWay = new Set<Promise<void>>();
  const store = async (subject: string, message: Pick<Msg, "data" | "respond">) => {
    try {
      const { data } = await bus.nats.request(subject, message.data, { timeout: timeoutMs });
      message.respond(data);
      return true;
    } catch (thrown) {
      bus.log.debug("not relayed", { subject, reason: describeError(thrown) });
      return false;
    }
  };
  const subscriptions = options.subjects.map((pattern) =>
    bus.nats.subscribe(pattern, {
      queue,
      callback(error, message) {
        if (error !== null) return bus.log.error("subscription error", { subject: pattern, error });
        if (!isInbox(message.reply)) return ignored(message.subject, message.data.length);
        const admitted = admit(message.subject, message.data.length);
        if (admitted === undefined) return;
        const storing = store(admitted.to, message).then((isAnswered) => {
          underWay.delete(storing);
          admitted.finish(isAnswered);
        });
        underWay.add(storing);
      },
    }),
  );
  const finishAll = async () => {
    // What the server sent before it knows of this, no other subscriber gets.
    await Promise.allSettled(subscriptions.map((subscription) => subscription.drain()));
    await Promise.allSettled(underWay);
  };
  return {
    async stop() {
      const givenUp = new AbortController();
      // A drain waits for the server, which may be away.
      const late = sleep(bus.clock, timeoutMs, givenUp.signal).catch(() => {});
      await Promise.race([finishAll(), late]);
      givenUp.abort();
    },
  };
}
