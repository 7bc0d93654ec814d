import { type Backoff, createBackoff } from "../../base/backoff.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { assertStored, isTooLarge } from "../../bus/mod.ts";
import type { Connection } from "./connection.ts";
import { createOutboxFiles, type KeptMessage } from "./outbox-files.ts";

const requestTimeoutMs = 5_000;
const pauses = { firstMs: 500, longestMs: 30_000 };
const mostInFlight = 32;
const mostMessages = 1000;
const mostBytes = 64 * 1024 * 1024;

export interface Message extends KeptMessage {
  /** Whether to keep the message on disk until the stream has it. Otherwise it is kept in memory. */
  durable: boolean;
  /** Expiry of the message, milliseconds since the Unix epoch. */
  until?: number;
}

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

interface Entry {
  number: number;
  message: Message;
  onDisk: boolean;
  sending: boolean;
  backoff: Backoff;
  /** Runs while it waits for its next attempt. */
  retry: Timer | undefined;
  settle(isStored: boolean): void;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { clock, log, counts } = options;
  const files = createOutboxFiles(options.dir, log);
  const entries = new Map<number, Entry>();
  /** Numbers of the messages of each subject, in order. */
  const bySubject = new Map<string, Set<number>>();
  let connection: Connection | undefined;
  let detach = () => {};
  let nextNumber = 1;
  let bytes = 0;
  let inFlight = 0;
  let stopped = false;

  const entryOf = (given: Pick<Entry, "number" | "message" | "onDisk" | "settle">): Entry => {
    const { jitter } = options;
    const backoff = createBackoff({ ...pauses, jitter });
    return { ...given, sending: false, backoff, retry: undefined };
  };
  const add = (entry: Entry) => {
    const { subject, payload } = entry.message;
    entries.set(entry.number, entry);
    bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(entry.number));
    bytes += payload.length;
  };
  const leave = (entry: Entry, isStored: boolean) => {
    const { subject, payload } = entry.message;
    entry.retry?.cancel();
    if (!entries.delete(entry.number)) return;
    const siblings = bySubject.get(subject);
    siblings?.delete(entry.number);
    if (siblings?.size === 0) bySubject.delete(subject);
    bytes -= payload.length;
    if (entry.onDisk) files.remove(entry.number);
    entry.settle(isStored);
  };
  const isNext = ({ number, message }: Entry) => {
    for (const first of bySubject.get(message.subject) ?? []) return first === number;
    return false;
  };
  const pump = () => {
    if (stopped || connection?.connected !== true) return;
    for (const entry of entries.values()) {
      if (inFlight >= mostInFlight) return;
      if (!entry.sending && entry.retry === undefined && isNext(entry)) void send(connection, entry);
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
      return leave(entry, false);
    }
    entry.sending = true;
    inFlight++;
    try {
      assertStored(await over.request(subject, entry.message.payload, requestTimeoutMs));
      leave(entry, true);
    } catch (thrown) {
      if (stopped) return;
      const reason = describeError(thrown);
      // A refusal comes from the bus. Anything else is a missing response.
      if (thrown instanceof SvcError) counts.outboxRefused++;
      if (isTooLarge(thrown)) shorten(entry, reason);
      else log.warn("not stored by the bus yet", { subject, reason, retry_in_ms: later(entry) });
    } finally {
      entry.sending = false;
      inFlight--;
      pump();
    }
  };
  const shorten = (entry: Entry, reason: string) => {
    const { subject, payload } = entry.message;
    const shorter = options.shorten(entry.message, reason);
    log.error("too large for the bus", { subject, bytes: payload.length, reason, dropped: !shorter });
    if (shorter === undefined || shorter.length >= payload.length) {
      counts.outboxDropped++;
      return leave(entry, false);
    }
    bytes += shorter.length - payload.length;
    entry.message = { ...entry.message, payload: shorter };
    if (entry.onDisk) entry.onDisk = keep(entry.number, entry.message);
  };
  const keep = (number: number, { subject, payload, droppable }: KeptMessage): boolean => {
    try {
      files.keep(number, { subject, payload, ...defined({ droppable }) });
      return true;
    } catch (thrown) {
      log.error("kept in memory alone, and lost if the peel stops before the bus has it", {
        subject,
        error: describeError(thrown),
      });
      return false;
    }
  };
  /** Drops the oldest droppable messages while there are too many. */
  const bound = () => {
    for (const entry of entries.values()) {
      if (entries.size <= mostMessages && bytes <= mostBytes) return;
      if (entry.message.droppable !== true || entry.sending) continue;
      counts.outboxDropped++;
      log.error("the outbox is full; the oldest result of the schedule, or event, is dropped", {
        subject: entry.message.subject,
      });
      leave(entry, false);
    }
  };

  for (const { number, message } of files.load()) {
    add(entryOf({ number, message: { ...message, durable: true }, onDisk: true, settle() {} }));
    nextNumber = number + 1;
  }

  return {
    put(message) {
      const number = nextNumber++;
      const onDisk = message.durable && !stopped && keep(number, message);
      const { promise: stored, resolve: settle } = Promise.withResolvers<boolean>();
      add(entryOf({ number, message, onDisk, settle }));
      bound();
      pump();
      return { onDisk, stored };
    },
    has: (subject) => bySubject.has(subject),
    attach(to) {
      detach();
      connection = to;
      detach = to.onConnect(() => {
        for (const entry of entries.values()) {
          entry.retry?.cancel();
          entry.retry = undefined;
          entry.backoff.reset();
        }
        pump();
      });
    },
    get messages() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
    stop() {
      stopped = true;
      detach();
      for (const { retry } of entries.values()) retry?.cancel();
    },
  };
}
