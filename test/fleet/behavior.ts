import type { Connection } from "../../internal/agent/link/connection.ts";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { helloSubject, parseJobSubject } from "../../internal/bus/subjects/subjects.ts";

/** How a simulated peel differs from a normal one. */
export interface Behavior {
  /** Holds each return back for this long. */
  slowMs: number;
  /** Loses what it sends without asking for a confirmation. */
  loses: boolean;
  /** Is connected and sends heartbeats, but ignores all commands. */
  deaf: boolean;
}

export const good: Behavior = { slowMs: 0, loses: false, deaf: false };

/**
 * A peel's connection with its behavior in between.
 *
 * @param behavior asked for each message, as it changes
 * @param onHello called when a master has answered a hello
 */
export function shapeConnection(
  connection: Connection,
  behavior: () => Behavior,
  onHello: () => void,
): Connection {
  const isHello = (subject: string) => subject === helloSubject(subject.split(".")[2] ?? "");
  return Object.assign(Object.create(connection) as Connection, {
    publish(subject: string, data: Uint8Array) {
      const { slowMs, loses } = behavior();
      if (loses) return;
      const isSlow = slowMs > 0 && parseJobSubject(subject)?.kind === "return";
      if (!isSlow) return connection.publish(subject, data);
      void sleep(systemClock, slowMs).then(() => connection.publish(subject, data));
    },
    async request(subject: string, data: Uint8Array, timeoutMs: number) {
      const { slowMs, deaf } = behavior();
      if (deaf && isHello(subject)) throw new Error("this peel is deaf");
      if (slowMs > 0 && parseJobSubject(subject)?.kind === "return") await sleep(systemClock, slowMs);
      const answer = await connection.request(subject, data, timeoutMs);
      if (isHello(subject)) onHello();
      return answer;
    },
    subscribe(subject: string, onMessage: (subject: string, data: Uint8Array) => void) {
      connection.subscribe(subject, (from, data) => {
        if (!behavior().deaf) onMessage(from, data);
      });
    },
  });
}
