import { encodeBase64 } from "../../base/base64.ts";
import { defined } from "../../base/defined.ts";
import { jsonText } from "../../base/json-text.ts";
import { namesOf } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { JobReturn } from "../../wire/return.ts";
import type { FeedSink } from "../operation/mod.ts";
import type { JobEvent } from "./events.ts";
import type { Progress } from "./follow.ts";
import { readEvents } from "./read-events.ts";
import type { Job } from "./records/mod.ts";
import type { SeenReturn } from "./show.ts";
import { createTally, isLate } from "./tally.ts";

/** What waits for a slow reader, besides what its door keeps and a few words for each target. */
const maxWaitingBytes = 4 * 1024 * 1024;
/** Of an item without what a peel chose to say. */
const itemBytes = 512;
/** A peel may send any text as a time. */
const maxTimeLength = 40;

/** News of a job on the way to one reader. */
export interface Relay {
  pass(news: Progress): void;
  /** Waits until the reader has taken everything. @throws SvcError `unavailable` when it is too slow */
  settle(): Promise<void>;
}

interface Waiting {
  news: Progress;
  bytes: number;
  /** The value of the return was left out. */
  isCut?: true;
}

/**
 * Passes news on as fast as the reader takes them, in their order. While it is slow, returns beyond a bound wait without
 * their values, which are read again when their turn comes; what is said while a peel runs is left out then.
 *
 * @param options.only the return of this peel alone (encoded ID)
 * @param options.withSealed whether the reader can open what returns hide: nobody else gets it
 * @param options.onBroken the reader is too slow, or a value cannot be read again
 */
export function createRelay(
  job: Job,
  {
    bus,
    sink,
    signal,
    only,
    withSealed = false,
    onBroken,
  }: {
    bus: Bus;
    sink: FeedSink;
    signal: AbortSignal;
    only: string | undefined;
    withSealed?: boolean;
    onBroken(reason: unknown): void;
  },
): Relay {
  let waiting: Waiting[] = [];
  let bytes = 0;
  let emptying: Promise<void> | undefined;
  const send = (news: Progress) => sendNews(sink, job, news, withSealed);
  const empty = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (!sink.hasRoom()) await sink.ready(signal);
      bytes -= next.bytes;
      send(next.isCut ? await readAgain(bus, job, next.news) : next.news);
    }
    emptying = undefined;
  };
  const hold = (news: Progress) => {
    const whole = { news, bytes: itemBytes + saidBytes(news) };
    const fits = bytes + whole.bytes <= maxWaitingBytes;
    if (!fits && (news.output !== undefined || news.running !== undefined)) return;
    const item = fits || news.event?.return === undefined ? whole : cut(news, news.event, news.event.return);
    waiting.push(item);
    bytes += item.bytes;
    if (emptying !== undefined) return;
    emptying = empty();
    emptying.catch((reason) => {
      waiting = [];
      onBroken(reason);
    });
  };
  return {
    pass(news) {
      if (news.event !== undefined && only !== undefined && news.event.peel !== only) return;
      if (emptying === undefined && sink.hasRoom()) send(news);
      else hold(news);
    },
    settle: async () => emptying,
  };
}

/** What a peel chose to say, bytes, about. */
function saidBytes({ event, running, output }: Progress): number {
  if (event?.return !== undefined) return jsonText(event.return).length;
  return (output?.output.length ?? 0) + (running?.current.length ?? 0);
}

/** The same without the value of the return. */
function cut(news: Progress, event: JobEvent, returned: JobReturn): Waiting {
  const { success, retcode, started_at, duration_ms, outcome } = returned;
  const rest = {
    ...{ success, retcode, started_at: started_at.slice(0, maxTimeLength), duration_ms },
    ...defined({ outcome }),
  };
  return { news: { ...news, event: { ...event, return: rest } }, bytes: itemBytes, isCut: true };
}

/** The news with the return as it is stored; without its value when it is gone. */
async function readAgain(bus: Bus, job: Job, news: Progress): Promise<Progress> {
  const { event } = news;
  if (event?.return === undefined) return news;
  const { peel } = event;
  const tally = createTally({ ...job, targets: [peel] });
  let found: SeenReturn & JobReturn = { ...event.return, truncated: true };
  await readEvents(bus, { ...job, targets: [peel] }, (stored) => {
    if (tally.note(stored) && stored.return !== undefined) found = stored.return;
  });
  return { ...news, event: { ...event, return: found } };
}

function sendNews(
  sink: FeedSink,
  job: Job,
  { targets, counts, event, running, output }: Progress,
  withSealed: boolean,
): void {
  const { jid } = job;
  const about = (peel: string) => ({ jid, ...namesOf(peel), counts });
  if (output !== undefined) {
    const { peel, ...written } = output;
    sink.send("output", { ...about(peel), ...written });
  } else if (running !== undefined) {
    const { peel, ...progress } = running;
    sink.send("progress", { ...about(peel), ...progress });
  } else if (event === undefined) {
    sink.send("begin", { jid, targets, counts });
  } else {
    const { peel, return: returned } = event;
    const late = isLate(event, job) ? { late: true } : {};
    if (returned === undefined) sink.send("ack", about(peel));
    else sink.send("return", { ...about(peel), ...shown(returned, withSealed), ...late });
  }
}

function shown({ sealed, ...returned }: JobReturn, withSealed: boolean) {
  return { ...returned, ...(withSealed && sealed !== undefined ? { sealed: encodeBase64(sealed) } : {}) };
}
