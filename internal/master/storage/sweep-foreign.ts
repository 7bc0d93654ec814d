import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { type AssetReport, countStored, storesMetadata } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { readStream, removeMessages } from "../../bus/streams/mod.ts";
import { parseEventSubject, parseJobSubject } from "../../bus/subjects/subjects.ts";

/** Streams whose subjects have an owner, and which no decision is in. */
const swept = ["job-events", "events", "facts"] as const;
type Swept = (typeof swept)[number];
/** What is younger may be of a peel or a job that this master does not know yet. */
const youngMs = 60_000;
/** After a restore, masters learn for a while what there was. */
const settleMs = 10 * 60_000;
/** A stream with more messages is read from a moment ago on, and not from its beginning. */
const maxRead = 200_000;
const recentMs = 10 * 60_000;

/** Who owns what is stored. */
export interface Owners {
  /** Whether the bus has every decision that this master knows: otherwise a missing record means nothing. */
  isWhole(): boolean;
  /** Whether a peel has a record. @param peel encoded id */
  isPeel(peel: string): boolean;
  jobs: Pick<Bucket, "get">;
}

/** Removes what no peel, job or master owns from streams that peels write to. */
export function createSweeper({
  bus,
  isWhole,
  isPeel,
  jobs,
  clock,
  log,
}: Owners & { bus: Bus; clock: Pick<Clock, "now">; log: Log }): {
  note(report: AssetReport): void;
  sweep(): Promise<void>;
} {
  let restoredAt: number | undefined;
  let isKnown = false;
  /** Until when each stream was checked. */
  const seen = new Map<Swept, number>();
  const isJob = async (jid: string) => (await jobs.get(jid)) !== undefined;
  const isOwned = async (stream: Swept, subject: string): Promise<boolean> => {
    if (stream === "facts") return isPeel(subject.split(".").slice(2).join("."));
    if (stream === "events") {
      const source = parseEventSubject(subject)?.peel ?? "";
      return source.startsWith("_") || isPeel(source);
    }
    const found = parseJobSubject(subject);
    if (found === undefined) return false;
    return found.kind === "schedule" ? isPeel(found.peel) : isJob(found.jid);
  };
  const check = async (stream: Swept, until: number) => {
    const since = seen.get(stream) ?? (await beginning(bus, stream, until));
    const found = new Map<string, number[]>();
    const note = ({ subject, storedAt }: { subject: string; storedAt: number }, sequence: number) => {
      if (storedAt > until) return;
      const sequences = found.get(subject);
      if (sequences === undefined) found.set(subject, [sequence]);
      else sequences.push(sequence);
    };
    const from = since === undefined ? {} : { since };
    await readStream(bus, streamNameOf(stream), ">", note, { ...from, onlySizes: true });
    for (const [subject, sequences] of found) {
      if (await isOwned(stream, subject)) continue;
      await removeMessages(bus, stream, subject, sequences);
      log.warn("messages that no peel, job or master owns are removed", {
        ...{ stream, subject, count: sequences.length },
      });
    }
    seen.set(stream, until);
  };
  return {
    note(report) {
      ({ restoredAt } = report);
      isKnown = true;
    },
    async sweep() {
      const now = clock.now();
      // Where no stream says when it was restored, nothing can be removed for sure.
      if (!isKnown || !isWhole() || !storesMetadata(bus)) return;
      if (restoredAt !== undefined && now - restoredAt < settleMs) return;
      for (const stream of swept) await check(stream, now - youngMs);
    },
  };
}

const streamNameOf = (stream: Swept): string => (stream === "facts" ? "KV_facts" : stream);

/** From when on a stream is checked the first time; `undefined` from its beginning. */
async function beginning(bus: Bus, stream: Swept, until: number): Promise<number | undefined> {
  return (await countStored(bus, stream)) > maxRead ? until - recentMs : undefined;
}
