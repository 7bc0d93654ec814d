import type { Msg } from "nats";
import { sleep } from "../base/clock.ts";
import { describeError } from "../base/errors.ts";
import { type Bus, isInbox } from "./connect.ts";

export interface RelayOptions {
  /** Wildcards allowed. */
  subjects: readonly string[];
  /** Each message goes to one subscriber of the queue. */
  queue: string;
  /** The subject that a stream captures. @param subject of the message */
  to(subject: string): string;
  /**
   * Asked with each message; bounds how many wait for the storage.
   *
   * @param to its new subject
   * @returns what to call when the storage has answered, or did not in time; `undefined` drops the message
   */
  admit(to: string, bytes: number): ((isAnswered: boolean) => void) | undefined;
  /** How long the storage may take. */
  timeoutMs: number;
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
  const { queue, to, admit, timeoutMs } = options;
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
        if (!isInbox(message.reply)) return;
        const subject = to(message.subject);
        const finish = admit(subject, message.data.length);
        if (finish === undefined) return;
        const storing = store(subject, message).then((isAnswered) => {
          underWay.delete(storing);
          finish(isAnswered);
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
