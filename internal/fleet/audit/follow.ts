import { type Clock, sleep } from "../../base/clock.ts";
import { sequenceAt, streamEnds } from "../../bus/streams/mod.ts";
import type { FeedSink } from "../operation/mod.ts";
import { auditStream } from "./append.ts";
import { type Filter, matcherOf, type ReadDeps, readWindow, type ShownEntry, show, slackMs } from "./read.ts";

const checkEveryMs = 1_000;
/** How many entries are read at once. */
const window = 256;

/**
 * Where a reading of the audit begins.
 *
 * @param since milliseconds since the Unix epoch; absent means now
 * @returns the sequence of the first entry to look at
 * @throws SvcError `storage`
 */
export async function beginningAt(
  { bus }: Pick<ReadDeps, "bus">,
  since: number | undefined,
): Promise<number> {
  const end = (await streamEnds(bus, auditStream)).last + 1;
  if (since === undefined) return end;
  return (await sequenceAt(bus, auditStream, Math.max(0, since - slackMs))) ?? end;
}

/**
 * Sends entries, oldest first, as they were written, until the signal aborts or something fails: the reader then
 * continues at another master.
 *
 * @param options.next the sequence of the first entry to look at
 * @throws SvcError `storage`; the reason of the signal, or of the sink when its reader is too slow
 */
export async function followEntries(
  { bus, keys }: Pick<ReadDeps, "bus" | "keys">,
  options: {
    filter: Filter;
    next: number;
    sink: FeedSink;
    clock: Clock;
    show(entry: ShownEntry): unknown;
  },
  signal: AbortSignal,
): Promise<void> {
  const { sink, clock } = options;
  const matches = matcherOf(options.filter);
  let { next } = options;
  let marked = next - 1;
  sink.mark(String(marked));
  for (;;) {
    const { last } = await streamEnds(bus, auditStream);
    while (next <= last) {
      const until = Math.min(last + 1, next + window);
      for (const entry of await readWindow(bus, next, until)) {
        // Its end comes behind it: while one follows, nothing is unknown.
        const shown = show(entry, new Map(), { keys, now: () => entry.at });
        if (!matches(shown)) continue;
        await sink.ready(signal);
        sink.send("entry", options.show(shown), String(shown.seq));
        marked = shown.seq;
      }
      next = until;
    }
    if (marked !== next - 1) {
      marked = next - 1;
      sink.mark(String(marked));
    }
    await sleep(clock, checkEveryMs, signal);
  }
}
