import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { streamName } from "../../bus/assets/mod.ts";
import { sequenceAt, streamEnds } from "../../bus/streams/mod.ts";
import { watchEnd } from "./end-watch.ts";
import type { EventFilter } from "./filter.ts";
import { type FeedStream, feedStreams, formatPosition, type Position } from "./position.ts";
import { type Chunk, type ChunkRequest, readChunk } from "./read-chunk.ts";
import type { ReadDeps } from "./read-message.ts";

/** Readers at a time, of all operators and of one. */
const maxReaders = 256;
const maxOfOne = 64;

/** Parts that are kept for others who want the same: each has up to 1 MiB of each stream. */
const maxShared = 8;

/** What happened in the fleet, as the bus has stored it. */
export interface EventFeed {
  /** Where the feed ends now. @throws SvcError `storage` */
  end(): Promise<Position>;
  /** The position before what was stored at a time or later, milliseconds since the Unix epoch. @throws SvcError `storage` */
  before(at: number): Promise<Position>;
  /** Reads a part. @throws SvcError `storage` */
  read(request: ChunkRequest): Promise<Chunk>;
  /**
   * Counts a reader in.
   *
   * @returns the way out, to be called once
   * @throws SvcError `rate_limited`, `unavailable` when this master stops
   */
  enter(operator: string): () => void;
  /**
   * Waits for more, and reads it. Readers at the same position share one read.
   *
   * @throws SvcError `storage`; the reason of the signal
   */
  next(from: Position, filter: EventFilter, signal: AbortSignal): Promise<Chunk>;
  /** When the bus last answered a reader that waits, on the monotonic clock. */
  readonly lastAnswerAt: number;
  /** Aborts when this master stops. */
  readonly signal: AbortSignal;
  /** Number of readers. */
  readonly readers: number;
  stop(): void;
}

export function createEventFeed(deps: ReadDeps & { clock: Clock; log: Log }): EventFeed {
  const { bus, clock, log } = deps;
  const stopping = new AbortController();
  const readers = new Map<string, number>();
  /** Parts that readers want at this moment. */
  let shared = new Map<string, Promise<Chunk>>();

  const each = async (placeIn: (stream: FeedStream) => Promise<number>): Promise<Position> => {
    const places = await Promise.all(
      feedStreams.map(async (stream) => [stream, await placeIn(stream)] as const),
    );
    return Object.fromEntries(places) as Record<FeedStream, number>;
  };
  const end = () => each(async (stream) => (await streamEnds(bus, streamName(stream))).last);
  const endWatch = watchEnd({
    endOf: end,
    onEnd() {
      shared = new Map();
    },
    clock,
    log,
  });
  /** A reader of a long past would keep all of it here. */
  const forgetOldest = () => {
    const [oldest] = shared.keys();
    if (oldest !== undefined && shared.size > maxShared) shared.delete(oldest);
  };
  const readShared = (request: ChunkRequest): Promise<Chunk> => {
    const { from, until, wanted } = request;
    const key = [formatPosition(from), formatPosition(until), ...wanted].join(" ");
    const known = shared.get(key);
    if (known !== undefined) return known;
    const chunk = readChunk(deps, request);
    shared.set(key, chunk);
    forgetOldest();
    chunk.catch(() => shared.delete(key));
    return chunk;
  };
  const total = () => [...readers.values()].reduce((sum, count) => sum + count, 0);

  return {
    end,
    async before(at) {
      const until = await end();
      return each(async (stream) => {
        const found = await sequenceAt(bus, streamName(stream), at);
        return found === undefined ? until[stream] : found - 1;
      });
    },
    read: (request) => readChunk(deps, request),
    enter(operator) {
      if (stopping.signal.aborted) throw new SvcError("unavailable", "this master stops: ask another one");
      const own = readers.get(operator) ?? 0;
      if (own >= maxOfOne || total() >= maxReaders) {
        throw new SvcError("rate_limited", "too many readers of events: end some, or ask another master");
      }
      readers.set(operator, own + 1);
      return () => {
        const left = (readers.get(operator) ?? 1) - 1;
        if (left === 0) readers.delete(operator);
        else readers.set(operator, left);
      };
    },
    async next(from, { wanted }, signal) {
      const until = await endWatch.beyond(from, signal);
      return readShared({ from, until, wanted });
    },
    get lastAnswerAt() {
      return endWatch.lastAnswerAt;
    },
    signal: stopping.signal,
    get readers() {
      return total();
    },
    stop() {
      stopping.abort(new SvcError("unavailable", "this master stops"));
      endWatch.stop();
    },
  };
}
