import type { Clock } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { assertStored, isTooLarge } from "../../bus/jetstream/mod.ts";
import type { Connection } from "./connection.ts";
import { type Entries, type Entry, type Message, openEntries } from "./outbox-entries.ts";
import type { KeptMessage } from "./outbox-files.ts";

const requestTimeoutMs = 5_000;
const maxInFlight = 32;
const maxMessages = 1000;
const maxBytes = 64 * 1024 * 1024;

export interface Kept {
  /** Whether it is on disk, and so survives a restart of the peel. */
  onDisk: boolean;
  /** Resolves to whether the stream has stored it. False when it expired or was dropped. */
  stored: Promise<boolean>;
}

/** Messages that wait to be stored by the bus. Messages of one subject are stored in order. */
export interface Outbox {
  put(message: Message): Kept;
  /** Whether a message on this subject is waiting. */
  has(subject: string): boolean;
  /** Sends the waiting messages, now and after each connect. */
  attach(connection: Connection): void;
  readonly messages: number;
  readonly bytes: number;
  /** Stops sending and writing. Messages on disk wait for the next start. */
  stop(): void;
}

export interface OutboxOptions {
  /** `<data dir>/outbox`. */
  dir: string;
  /** Shortens a message that is too large for the stream; `undefined` drops it. */
  shorten(message: KeptMessage, reason: string): Uint8Array | undefined;
  counts: { outboxDropped: number; outboxRefused: number };
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { clock, log, counts } = options;
  const entries = openEntries(options);
  let connection: Connection | undefined;
  let detach = () => {};
  let inFlight = 0;
  let stopped = false;

  const pump = () => {
    if (stopped || connection?.connected !== true) return;
    for (const entry of entries.all()) {
      if (inFlight >= maxInFlight) return;
      if (!entry.sending && entry.retry === undefined && entries.isNext(entry)) void send(connection, entry);
    }
  };
  const later = (entry: Entry) => {
    const waitMs = entry.backoff.next();
    entry.retry = clock.after(waitMs, () => {
      entry.retry = undefined;
      pump();
    });
    return waitMs;
  };
  const send = async (over: Connection, entry: Entry) => {
    const { subject, until } = entry.message;
    if (until !== undefined && until <= clock.now()) {
      log.warn("given up: the bus did not store it in time", { subject });
      return entries.leave(entry, false);
    }
    entry.sending = true;
    inFlight++;
    try {
      assertStored(await over.request(subject, entry.message.payload, requestTimeoutMs));
      entries.leave(entry, true);
    } catch (thrown) {
      if (stopped) return;
      const reason = describeError(thrown);
      // A refusal comes from the bus. Anything else is a missing response.
      if (thrown instanceof SvcError) counts.outboxRefused++;
      if (isTooLarge(thrown)) shorten(entries, entry, reason, options);
      else log.warn("not stored by the bus yet", { subject, reason, retry_in_ms: later(entry) });
    } finally {
      entry.sending = false;
      inFlight--;
      pump();
    }
  };

  return {
    put(message) {
      const { promise: stored, resolve: settle } = Promise.withResolvers<boolean>();
      const { onDisk } = entries.add(message, !stopped, settle);
      bound(entries, options);
      pump();
      return { onDisk, stored };
    },
    has: entries.has,
    attach(to) {
      detach();
      connection = to;
      detach = to.onConnect(() => {
        for (const entry of entries.all()) retryNow(entry);
        pump();
      });
    },
    get messages() {
      return entries.count;
    },
    get bytes() {
      return entries.bytes;
    },
    stop() {
      stopped = true;
      detach();
      for (const { retry } of entries.all()) retry?.cancel();
    },
  };
}

function retryNow(entry: Entry): void {
  entry.retry?.cancel();
  entry.retry = undefined;
  entry.backoff.reset();
}

/** Shortens a message that the stream does not take, or drops it. */
function shorten(entries: Entries, entry: Entry, reason: string, options: OutboxOptions): void {
  const { log, counts } = options;
  const { subject, payload } = entry.message;
  const shorter = options.shorten(entry.message, reason);
  log.error("too large for the bus", { subject, bytes: payload.length, reason, dropped: !shorter });
  if (shorter !== undefined && shorter.length < payload.length) {
    entries.replace(entry, shorter);
    return;
  }
  counts.outboxDropped++;
  entries.leave(entry, false);
}

/** Drops the oldest droppable messages while there are too many. */
function bound(entries: Entries, { log, counts }: OutboxOptions): void {
  for (const entry of entries.all()) {
    if (entries.count <= maxMessages && entries.bytes <= maxBytes) return;
    if (entry.message.droppable !== true || entry.sending) continue;
    counts.outboxDropped++;
    log.error("the outbox is full; the oldest result of the schedule, or event, is dropped", {
      subject: entry.message.subject,
    });
    entries.leave(entry, false);
  }
}
