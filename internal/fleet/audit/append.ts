import type { Clock, Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256 } from "../../base/sha256.ts";
import {
  appendNext,
  auditSubject,
  type Bus,
  isClustered,
  lastOn,
  type StreamEnds,
  streamEnds,
} from "../../bus/mod.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { beginning, type Content, genuineEntry, type Link, writeEntry } from "./entry.ts";

export const auditStream = "audit";

/** How long an append may take, whatever happens to the bus: an operator waits for it. */
const maxMs = 4_500;
/** Of one attempt: a part of it, so that a lost answer does not cost the rest. */
const attemptMs = 4_000;
/** How many entries are under way at the same time. */
const batchSize = 64;
/** How many entries wait at most: more than a master is asked at the same time. */
const maxWaiting = 10_000;
const retryAfterMs = 2_000;

/** Writes the audit of a fleet. */
export interface AuditWriter {
  /**
   * Writes an entry at the end of the chain. It waits for other masters that write at the same moment.
   *
   * @returns its place in the chain, as soon as the bus has stored it
   * @throws SvcError `unavailable` within 5 s when it is not known to be stored
   */
  append(content: Omit<Content, "at" | "master">): Promise<Link>;
  /**
   * Looks for what other masters wrote.
   *
   * @param ends the ends of the audit, asked for just now
   * @param known `head` before they were asked for: what was stored while the answer was under way is not in them
   * @throws SvcError `storage`
   */
  refresh(ends: StreamEnds, known: Link | undefined): Promise<void>;
  /** The newest entry that this master knows, with its time; absent before the first. */
  readonly head: (Link & { at: number }) | undefined;
}

interface Waiting {
  content: Content;
  stored(link: Link): void;
  failed(thrown: unknown): void;
  timer: Timer;
  isOver: boolean;
}

export interface AppendDeps {
  bus: Bus;
  /** Name of this master. */
  master: string;
  /** Signs the entries; may change at any time. */
  signer: Pick<KeyPair, "publicKey" | "sign">;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  clock: Clock;
  log: Log;
}

/**
 * A writer of the audit. What arrives while a batch is under way waits and goes with the next one: on a lone server
 * the entries of a batch follow each other without waiting, and each names the one before, so that the bus stores
 * none after one that it refuses.
 */
export function createAuditWriter({ bus, master, signer, keys, clock, log }: AppendDeps): AuditWriter {
  const waiting: Waiting[] = [];
  let head: Link | undefined;
  /** The newest entry that was seen, which `head` may be behind of for a moment. */
  let newest: (Link & { at: number }) | undefined;
  let running = false;
  let isCut = false;
  /**
   * A batch names the message before by its ID, for one that is not stored yet. Servers of a cluster stop the whole
   * stream when that ID does not match ("critical write error: last msgid mismatch", seen with all of its replicas).
   */
  const maxAtOnce = () => (isClustered(bus) ? 1 : batchSize);

  const note = (link: Link, at: number) => {
    if (newest === undefined || link.seq > newest.seq) newest = { ...link, at };
  };
  const read = async ({ last }: Pick<StreamEnds, "last">, known: Link | undefined): Promise<Link> => {
    const isShort = known !== undefined && last < known.seq;
    if (isShort && !isCut) {
      log.error("the audit ends before an entry that this master knows", {
        ...{ last, known: known.seq },
        next: "compare it with the peels: svc audit verify --witness '*'",
      });
    }
    isCut = isShort;
    if (last === 0) return beginning();
    const message = await lastOn(bus, auditStream, auditSubject(">"));
    // Everything is older than the retention, or the last one was removed.
    if (message === undefined || message.sequence < last)
      return newest?.seq === last ? newest : { seq: last, hash: beginning().hash };
    const link = { seq: message.sequence, hash: sha256(message.data) };
    const at = genuineEntry(message.data, link.seq, keys())?.at;
    // Peels get no head that another party wrote. The chain continues after it, and the verification finds it.
    if (at !== undefined) note(link, at);
    return link;
  };
  const settle = (one: Waiting, run: () => void) => {
    if (one.isOver) return;
    one.isOver = true;
    one.timer.cancel();
    run();
  };

  /** Sends a batch. @returns what must be sent again, because other masters were faster */
  const send = async (batch: readonly Waiting[]): Promise<Waiting[]> => {
    if (head === undefined) {
      const known = newest;
      head = await read(await streamEnds(bus, auditStream), known);
    }
    let at = head;
    const sent = batch.map((one, index) => {
      const { bytes, link } = writeEntry(one.content, at, signer);
      const afterId = index === 0 ? undefined : idOf(at);
      const options = {
        id: idOf(link),
        after: at.seq,
        timeoutMs: attemptMs,
        ...(afterId === undefined ? {} : { afterId }),
      };
      at = link;
      return {
        one,
        link,
        result: appendNext(bus, auditStream, auditSubject(one.content.action), bytes, options),
      };
    });
    const results = await Promise.allSettled(sent.map(({ result }) => result));
    // An entry that is stored proves that those before it are.
    const last = results.findLastIndex(
      (result) => result.status === "fulfilled" && result.value === "stored",
    );
    for (const { one, link } of sent.slice(0, last + 1)) {
      note(link, one.content.at);
      head = link;
      settle(one, () => one.stored(link));
    }
    const rest = sent.slice(last + 1);
    if (rest.length === 0) return [];
    head = undefined;
    const failure = results.slice(last + 1).find((result) => result.status === "rejected");
    if (failure === undefined) return rest.map(({ one }) => one);
    for (const { one } of rest) settle(one, () => one.failed(failure.reason));
    return [];
  };

  const run = async () => {
    running = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxAtOnce()).filter(({ isOver }) => !isOver);
      if (batch.length === 0) continue;
      try {
        waiting.unshift(...(await send(batch)));
      } catch (thrown) {
        head = undefined;
        for (const one of batch) settle(one, () => one.failed(thrown));
      }
    }
    running = false;
  };

  return {
    append(draft) {
      const { promise, resolve, reject } = Promise.withResolvers<Link>();
      const failed = (thrown: unknown) => reject(notWritten(thrown));
      if (waiting.length >= maxWaiting) {
        return Promise.reject(notWritten(new SvcError("unavailable", "too many requests wait for it")));
      }
      const one: Waiting = {
        content: { ...draft, at: clock.now(), master },
        stored: resolve,
        failed,
        isOver: false,
        timer: clock.after(maxMs, () =>
          settle(one, () => failed(new SvcError("unavailable", "the bus does not answer in time"))),
        ),
      };
      waiting.push(one);
      if (!running) void run();
      return promise;
    },
    async refresh(ends, known) {
      // Nobody wrote since the last look. Whether the entry is still the same, `openAuditMemory` compares.
      if (ends.last === newest?.seq) {
        isCut = false;
        return;
      }
      const link = await read(ends, known);
      if (!running && (head === undefined || link.seq > head.seq)) head = link;
    },
    get head() {
      return newest;
    },
  };
}

const idOf = ({ hash }: Link): string => Buffer.from(hash).toString("hex");

function notWritten(thrown: unknown): SvcError {
  const reason = thrown instanceof SvcError ? thrown.message : describeError(thrown);
  const next = reason.includes("svc doctor") ? "" : ": check the bus with svc doctor";
  return new SvcError("unavailable", `the audit cannot be written, so nothing is done: ${reason}${next}`, {
    cause: thrown,
    // A cluster elects a leader within seconds.
    retryAfterMs,
  });
}
