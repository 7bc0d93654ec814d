import { type Backoff, createBackoff } from "../../base/backoff.ts";
import type { Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { createOutboxFiles, type KeptMessage } from "./outbox-files.ts";

const pauses = { firstMs: 500, maxMs: 30_000 };

export interface Message extends KeptMessage {
  /** Whether to keep the message on disk until the stream has it. Otherwise it is kept in memory. */
  durable: boolean;
  /** Expiry of the message, milliseconds since the Unix epoch. */
  until?: number;
}

/** A message that waits. */
export interface Entry {
  number: number;
  message: Message;
  onDisk: boolean;
  sending: boolean;
  backoff: Backoff;
  /** Runs while it waits for its next attempt. */
  retry: Timer | undefined;
  settle(isStored: boolean): void;
}

/** The messages that wait, in order, in memory and on disk. */
export interface Entries {
  /** The oldest first. Entries may leave meanwhile. */
  all(): Iterable<Entry>;
  /** @param retains whether it is kept on disk, if it is durable */
  add(message: Message, retains: boolean, settle: Entry["settle"]): Entry;
  /** Takes an entry out. @param isStored whether the stream has it */
  leave(entry: Entry, isStored: boolean): void;
  /** Replaces what an entry says. */
  replace(entry: Entry, payload: Uint8Array): void;
  /** Whether nothing that waits on the same subject is older. */
  isNext(entry: Entry): boolean;
  has(subject: string): boolean;
  readonly count: number;
  readonly bytes: number;
}

/** Reads what waits on disk. @param options.jitter a number in [0, 1) */
export function openEntries(options: { dir: string; jitter: () => number; log: Log }): Entries {
  const { jitter, log } = options;
  const files = createOutboxFiles(options.dir, log);
  const entries = new Map<number, Entry>();
  /** Numbers of the messages of each subject, in order. */
  const bySubject = new Map<string, Set<number>>();
  let nextNumber = 1;
  let bytes = 0;

  const insert = (given: Pick<Entry, "number" | "message" | "onDisk" | "settle">): Entry => {
    const backoff = createBackoff({ ...pauses, jitter });
    const entry = { ...given, sending: false, backoff, retry: undefined };
    const { subject, payload } = entry.message;
    entries.set(entry.number, entry);
    bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(entry.number));
    bytes += payload.length;
    return entry;
  };
  const store = (number: number, { subject, payload, droppable }: KeptMessage): boolean => {
    try {
      files.store(number, { subject, payload, ...defined({ droppable }) });
      return true;
    } catch (thrown) {
      log.error("kept in memory alone, and lost if the peel stops before the bus has it", {
        subject,
        error: describeError(thrown),
      });
      return false;
    }
  };

  for (const { number, message } of files.load()) {
    insert({ number, message: { ...message, durable: true }, onDisk: true, settle() {} });
    nextNumber = number + 1;
  }
  return {
    all: () => entries.values(),
    add(message, retains, settle) {
      const number = nextNumber++;
      return insert({
        number,
        message,
        onDisk: message.durable && retains && store(number, message),
        settle,
      });
    },
    leave(entry, isStored) {
      const { subject, payload } = entry.message;
      entry.retry?.cancel();
      if (!entries.delete(entry.number)) return;
      const siblings = bySubject.get(subject);
      siblings?.delete(entry.number);
      if (siblings?.size === 0) bySubject.delete(subject);
      bytes -= payload.length;
      if (entry.onDisk) files.remove(entry.number);
      entry.settle(isStored);
    },
    replace(entry, payload) {
      bytes += payload.length - entry.message.payload.length;
      entry.message = { ...entry.message, payload };
      if (entry.onDisk) entry.onDisk = store(entry.number, entry.message);
    },
    isNext({ number, message }) {
      for (const first of bySubject.get(message.subject) ?? []) return first === number;
      return false;
    },
    has: (subject) => bySubject.has(subject),
    get count() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
  };
}
