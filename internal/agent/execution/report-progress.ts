import type { Clock, Timer } from "../../base/clock.ts";
import { progressSubject } from "../../bus/subjects/subjects.ts";
import type { CallProgress } from "../../host/modules/mod.ts";
import { encodeProgress } from "../../wire/progress.ts";
import type { Connection } from "../link/mod.ts";

/** Once a second per peel: a fleet of thousands may run states at once, and people only need rough progress. */
const everyMs = 1_000;

/** Reports the progress of a job on this peel to its followers. The reports are best effort. */
export interface ProgressReport {
  update(progress: CallProgress): void;
  stop(): void;
}

/** Publishes the latest progress once a second, starting a second after the first: short calls send nothing. */
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
  const report = () => {
    if (newest === undefined) return;
    connection.publish(progressSubject(jid, peelId), encodeProgress(newest));
    newest = undefined;
  };
  return {
    update(progress) {
      newest = progress;
      timer ??= clock.every(everyMs, report);
    },
    stop() {
      timer?.cancel();
      newest = undefined;
    },
  };
}
