import type { Clock, Timer } from "../../base/clock.ts";
import { encode } from "../../base/msgpack.ts";
import { progressSubject } from "../../bus/subjects.ts";
import type { CallProgress } from "../../host/modules/states-service.ts";
import type { Connection } from "../link/connection.ts";

/** Once a second and peel: a fleet of thousands runs states at once, and people only want to see it move. */
const everyMs = 1_000;

/** Tells who follows a job how far it is on this peel; nothing is lost when nobody does. */
export interface ProgressReport {
  update(progress: CallProgress): void;
  stop(): void;
}

/** Publishes what is newest once a second, beginning a second after the first: short calls say nothing. */
export function reportProgress(options: {
  connection: Pick<Connection, "publish">;
  jid: string;
  /** Encoded peel id. */
  peelId: string;
  clock: Clock;
}): ProgressReport {
  const { connection, jid, peelId, clock } = options;
  let newest: CallProgress | undefined;
  let timer: Timer | undefined;
  const tell = () => {
    if (newest === undefined) return;
    connection.publish(progressSubject(jid, peelId), encode({ ...newest }));
    newest = undefined;
  };
  return {
    update(progress) {
      newest = progress;
      timer ??= clock.every(everyMs, tell);
    },
    stop() {
      timer?.cancel();
      newest = undefined;
    },
  };
}
