import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import type { Log } from "../../base/log.ts";
import { assertStored } from "../../bus/jetstream/mod.ts";
import { keySubject } from "../../bus/subjects/subjects.ts";
import { type Connection, sendLatest } from "../link/mod.ts";
import type { WaitingReport, WaitingReports } from "./waiting-reports.ts";

const timeoutMs = 5_000;
/** A run ended a moment ago, here or in a `svc-peel call`. */
const settleMs = 100;

/** Where a peel reports its state runs, and their differences. @param peelId encoded */
export const reportSubjects = (peelId: string) =>
  [keySubject("compliance", peelId), keySubject("compliance-diffs", peelId)] as const;

/**
 * Sends the report of the last run to the masters, also one that a `svc-peel call` kept. The differences go first: a
 * reader of the report then finds them.
 */
export function sendReports(options: {
  connection: Pick<Connection, "connected" | "onConnect" | "request">;
  /** Encoded peel id. */
  peelId: string;
  reports: Pick<WaitingReports, "newest" | "remove" | "onKept">;
  /** Where they wait. */
  dir: string;
  /** Whether the credentials in use permit a subject: an upgraded peel may need more than they do. */
  mayPublish(subject: string): boolean;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}): { stop(): void } {
  const { connection, peelId, reports, mayPublish, clock, log } = options;
  const [subject, diffsSubject] = reportSubjects(peelId);
  let isThrottled = false;
  /** The one that is being sent, now or again later. */
  let current: string | undefined;

  const store = async (to: string, value: Uint8Array) =>
    assertStored(await connection.request(to, value, timeoutMs));
  const sendDiffs = async ({ diffs }: WaitingReport) => {
    if (diffs === undefined) return;
    try {
      await store(diffsSubject, diffs);
    } catch (thrown) {
      // Only a refusal of the storage is one of them alone.
      if (!(thrown instanceof SvcError)) throw thrown;
      log.warn("the differences of a state run are not stored", { reason: describeError(thrown) });
    }
  };
  const sending = sendLatest({
    ...options,
    name: "report of a state run",
    latest() {
      const found = reports.newest();
      current = found?.file;
      if (found === undefined || reportSubjects(peelId).every(mayPublish)) return found;
      if (!isThrottled) {
        log.info("the report of a state run waits for new credentials: these do not permit it yet");
      }
      isThrottled = true;
      return undefined;
    },
    async send({ file, waiting }) {
      await sendDiffs(waiting);
      await store(subject, waiting.report);
      reports.remove(file);
      current = undefined;
      log.debug("report of a state run stored", { bytes: waiting.report.length });
    },
  });
  const check = () => {
    if (reports.newest()?.file !== current) sending.check();
  };
  const forget = reports.onKept(check);
  const watching = watchDirectory(options.dir, {
    onChange: check,
    ...{ settleMs, recursive: false, clock, log },
  });
  return {
    stop() {
      forget();
      watching.stop();
      sending.stop();
    },
  };
}
