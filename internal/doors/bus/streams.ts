import { encodeBase64Url } from "../../base/base64.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import { fromOperatorSubject } from "../../base/names/operator-subject.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { followSubject } from "../../bus/subjects/subjects.ts";
import type { Feed, FeedSink } from "../../fleet/operation/mod.ts";
import { encodeItem, encodePart, itemHeadBytes, maxPartBytes, partHeadBytes } from "../../wire/feed-part.ts";

/** How often a stream shows that it lives. */
const aliveMs = 10_000;
/** A reader that does not acknowledge for this time is gone. */
const patienceMs = 30_000;
/** Each part with this number, and its multiples, is acknowledged. */
const acknowledgedEvery = 64;
/** How many acknowledgements may be missing before a feed waits. */
const maxMissing = 3;
/** Parts that are not full come at least this far apart: a thousand returns would otherwise be hundreds of messages. */
const gatherMs = 10;
const tokenBytes = 16;
const itemsBytes = maxPartBytes - partHeadBytes;

/** Where the answer of a request goes, and from where its parts are acknowledged. */
interface Reader {
  reply: string;
  /** The bus user of the request, where its subject has it. */
  user?: string;
  /** Called once when its stream has ended. */
  onEnd?: () => void;
}

/** The streams over the bus that a master serves. */
export interface Streams {
  /** Answers a request with a feed, in parts. */
  start(feed: Feed, reader: Reader): void;
  /** Ends them all; their readers continue at another master. */
  stop(): void;
}

export function createStreams({
  bus,
  clock,
  random,
}: {
  bus: { nats: Pick<Bus["nats"], "publish" | "subscribe"> };
  clock: Clock;
  random: Random;
}): Streams {
  const ending = new Set<(reason: string) => void>();
  let isStopped = false;
  return {
    start(feed, { reply, user, onEnd = () => {} }) {
      const subject = followSubject(encodeBase64Url(random(tokenBytes)));
      const acknowledged = user === undefined ? subject : fromOperatorSubject(user, subject);
      const writer = createPartWriter({ nats: bus.nats, clock, reply, acknowledged });
      ending.add(writer.end);
      writer.onEnd(() => {
        ending.delete(writer.end);
        onEnd();
      });
      // Its subjects are served until the connection ends: a stream that begins meanwhile would outlive it.
      if (isStopped) writer.end("the master stops");
      else writer.begin(feed);
    },
    stop() {
      isStopped = true;
      for (const end of [...ending]) end("the master stops");
    },
  };
}

/** Writes the parts of one stream, and follows their acknowledgements. */
function createPartWriter({
  nats,
  clock,
  reply,
  acknowledged,
}: {
  nats: Pick<Bus["nats"], "publish" | "subscribe">;
  clock: Clock;
  reply: string;
  /** The subject of the acknowledgements. */
  acknowledged: string;
}) {
  let seq = 0;
  let place: string | undefined;
  let isDone = false;
  let stopFeed: (() => void) | undefined;
  let timer: Timer | undefined;
  const onEnd: (() => void)[] = [];
  const receipts = createReceipts(clock, () => end("the reader does not acknowledge"));
  const write = (encodeAs: (seq: number) => Uint8Array, isAlive = false) => {
    if (isDone) return;
    const isAcknowledged = isAlive || (seq + 1) % acknowledgedEvery === 0;
    const bytes = encodeAs(seq++);
    if (!isAcknowledged) return nats.publish(reply, bytes);
    receipts.expect();
    nats.publish(reply, bytes, { reply: acknowledged });
  };
  const batch = createBatch(clock, write);
  const end = (reason?: string) => {
    if (isDone) return;
    batch.flush();
    isDone = true;
    nats.publish(reply, encodePart({ seq, kind: "end", ...defined({ place, reason }) }));
    timer?.cancel();
    receipts.stop();
    subscription.unsubscribe();
    stopFeed?.();
    for (const run of onEnd) run();
  };
  const subscription = nats.subscribe(acknowledged, {
    // A server says in a header that nobody listens to the reply subject.
    callback: (error, { headers }) =>
      error === null && headers?.code === 503 ? end("the reader left") : receipts.take(),
  });
  const alive = () => write((seq) => encodePart({ seq, kind: "alive", ...defined({ place }) }), true);
  const sink: FeedSink = {
    send(event, data, id) {
      if (isDone) return;
      place = id ?? place;
      batch.add(encodeItem({ event, data, ...defined({ id }) }));
    },
    mark(id) {
      place = id;
    },
    // Readers on the bus learn by themselves that it does not answer.
    beat() {},
    hasRoom: receipts.hasRoom,
    ready: (signal) => receipts.ready(signal),
    close: end,
  };
  return {
    end,
    onEnd: (run: () => void) => void onEnd.push(run),
    begin(feed: Feed) {
      const stop = feed.start(sink);
      if (isDone) return stop();
      stopFeed = stop;
      // At once: the reader learns that it is served and from where, and this master whether it is there.
      alive();
      timer = clock.every(aliveMs, alive);
    },
  };
}

/** Gathers encoded items: the first ones are written in the same turn of the event loop, what follows soon goes together. */
function createBatch(clock: Clock, write: (encodeAs: (seq: number) => Uint8Array) => void) {
  let items: Uint8Array[] = [];
  let bytes = 0;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let later: Timer | undefined;
  const flush = () => {
    later?.cancel();
    later = undefined;
    if (items.length === 0) return;
    const ready = items;
    items = [];
    bytes = 0;
    writtenAt = clock.monotonic();
    write((seq) => encodePart({ seq, kind: "item", items: ready }));
  };
  const flushSoon = () => {
    const waitMs = writtenAt + gatherMs - clock.monotonic();
    if (waitMs <= 0) setImmediate(flush);
    else later = clock.after(waitMs, flush);
  };
  return {
    flush,
    add(item: Uint8Array) {
      const size = item.length + itemHeadBytes;
      if (bytes + size > itemsBytes) flush();
      if (size > itemsBytes) {
        const whole = itemsBytes - itemHeadBytes;
        for (let at = 0; at < item.length; at += whole) {
          const items = [item.subarray(at, at + whole)];
          const more = at + whole < item.length ? { more: true as const } : {};
          write((seq) => encodePart({ seq, kind: "item", items, ...more }));
        }
        return;
      }
      if (items.length === 0) flushSoon();
      items.push(item);
      bytes += size;
    },
  };
}

/** The acknowledgements that are missing, oldest first. */
function createReceipts(clock: Clock, onLate: () => void) {
  const missing: number[] = [];
  const hasRoom = () => missing.length <= maxMissing;
  let timer: Timer | undefined;
  let moved = Promise.withResolvers<void>();
  const arm = () => {
    timer?.cancel();
    const [oldest] = missing;
    if (oldest === undefined) return;
    timer = clock.after(Math.max(0, oldest + patienceMs - clock.monotonic()), onLate);
  };
  const move = () => {
    moved.resolve();
    moved = Promise.withResolvers();
  };
  return {
    hasRoom,
    expect() {
      missing.push(clock.monotonic());
      if (missing.length === 1) arm();
    },
    take() {
      missing.shift();
      arm();
      move();
    },
    async ready(signal: AbortSignal) {
      while (!hasRoom()) {
        const left = Promise.withResolvers<never>();
        const leave = () => left.reject(signal.reason ?? new SvcError("unavailable", "the reader left"));
        signal.addEventListener("abort", leave, { once: true });
        if (signal.aborted) leave();
        await Promise.race([moved.promise, left.promise]).finally(() =>
          signal.removeEventListener("abort", leave),
        );
      }
    },
    stop() {
      timer?.cancel();
      missing.length = 0;
      move();
    },
  };
}
