import type { Clock, Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256 } from "../../base/sha256.ts";
import { type Bus, isClustered } from "../../bus/connection/mod.ts";
import { appendNext, lastOn, type StreamEnds, streamEnds } from "../../bus/streams/mod.ts";
import { auditSubject } from "../../bus/subjects/subjects.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { beginning, type Content, genuineEntry, type Link, writeEntry } from "./entry.ts";

export const auditStream = "audit";

/** How long an append may take, whatever happens to the bus: an operator waits for it. */
const maxMs = 4_500;
/** Of one attempt: a part of it, so that a lost answer does not cost the rest. */
const attemptMs = 4_000;
/** How many entries are under way at the same time. */
const batchSize = 64;
/** How many entries wait at most: more than a master serves at the same time. */
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

/** The end of the chain as this master knows it, and what waits to be written behind it. */
interface Writing extends AppendDeps {
  readonly waiting: Waiting[];
  /** What the next entry follows; absent while that is not known. */
  head: Link | undefined;
  /** The newest entry that was seen, which `head` may be behind of for a moment. */
  newest: (Link & { at: number }) | undefined;
  running: boolean;
  isCut: boolean;
}

/**
 * A writer of the audit. What arrives while a batch is under way waits and goes with the next one: on a lone server
 * the entries of a batch follow each other without waiting, and each names the one before, so that the bus stores
 * none after one that it refuses.
 */
export function createAuditWriter(deps: AppendDeps): AuditWriter {
  const { clock, master } = deps;
  const waiting: Waiting[] = [];
  const writing: Writing = {
    ...deps,
    ...{ waiting, head: undefined, newest: undefined, running: false, isCut: false },
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
      if (!writing.running) void run(writing);
      return promise;
    },
    async refresh(ends, known) {
      // Nobody wrote since the last check. Whether the entry is still the same, `openAuditMemory` compares.
      if (ends.last === writing.newest?.seq) {
        writing.isCut = false;
        return;
      }
      const link = await readEnd(writing, ends, known);
      const { running, head } = writing;
      if (!running && (head === undefined || link.seq > head.seq)) writing.head = link;
    },
    get head() {
      return writing.newest;
    },
  };
}

function settle(one: Waiting, run: () => void): void {
  if (one.isOver) return;
  one.isOver = true;
  one.timer.cancel();
  run();
}

function note(writing: Writing, link: Link, at: number): void {
  if (writing.newest === undefined || link.seq > writing.newest.seq) writing.newest = { ...link, at };
}

async function readEnd(
  writing: Writing,
  { last }: Pick<StreamEnds, "last">,
  known: Link | undefined,
): Promise<Link> {
  const { bus, log, newest, keys } = writing;
  const isShort = known !== undefined && last < known.seq;
  if (isShort && !writing.isCut) {
    log.error("the audit ends before an entry that this master knows", {
      ...{ last, known: known.seq },
      next: "compare it with the peels: svc audit verify --witness '*'",
    });
  }
  writing.isCut = isShort;
  if (last === 0) return beginning();
  const message = await lastOn(bus, auditStream, auditSubject(">"));
  // Everything is older than the retention, or the last one was removed.
  if (message === undefined || message.sequence < last)
    return newest?.seq === last ? newest : { seq: last, hash: beginning().hash };
  const link = { seq: message.sequence, hash: sha256(message.data) };
  const at = genuineEntry(message.data, link.seq, keys())?.at;
  // Peels get no head that another party wrote. The chain continues after it, and the verification finds it.
  if (at !== undefined) note(writing, link, at);
  return link;
}

async function run(writing: Writing): Promise<void> {
  const { waiting, bus } = writing;
  writing.running = true;
  while (waiting.length > 0) {
    // A batch names the message before by its ID, for one that is not stored yet. Servers of a cluster stop the whole
    // stream when that ID does not match ("critical write error: last msgid mismatch", seen with all of its replicas).
    const maxAtOnce = isClustered(bus) ? 1 : batchSize;
    const batch = waiting.splice(0, maxAtOnce).filter(({ isOver }) => !isOver);
    if (batch.length === 0) continue;
    try {
      waiting.unshift(...(await send(writing, batch)));
    } catch (thrown) {
      writing.head = undefined;
      for (const one of batch) settle(one, () => one.failed(thrown));
    }
  }
  writing.running = false;
}

/** Sends a batch. @returns what must be sent again, because other masters were faster */
async function send(writing: Writing, batch: readonly Waiting[]): Promise<Waiting[]> {
  if (writing.head === undefined) {
    const known = writing.newest;
    writing.head = await readEnd(writing, await streamEnds(writing.bus, auditStream), known);
  }
  const sent = publish(writing, batch, writing.head);
  const results = await Promise.allSettled(sent.map(({ result }) => result));
  // An entry that is stored proves that those before it are.
  const last = results.findLastIndex((result) => result.status === "fulfilled" && result.value === "stored");
  for (const { one, link } of sent.slice(0, last + 1)) {
    note(writing, link, one.content.at);
    writing.head = link;
    settle(one, () => one.stored(link));
  }
  const rest = sent.slice(last + 1);
  if (rest.length === 0) return [];
  writing.head = undefined;
  const failure = results.slice(last + 1).find((result) => result.status === "rejected");
  if (failure === undefined) return rest.map(({ one }) => one);
  for (const { one } of rest) settle(one, () => one.failed(failure.reason));
  return [];
}

/** Sends entries that follow each other, without waiting in between. */
function publish({ bus, signer }: Writing, batch: readonly Waiting[], head: Link) {
  let before = head;
  return batch.map((one, index) => {
    const { bytes, link } = writeEntry(one.content, before, signer);
    const result = appendNext(bus, auditStream, auditSubject(one.content.action), bytes, {
      ...{ id: idOf(link), after: before.seq, timeoutMs: attemptMs },
      ...(index === 0 ? {} : { afterId: idOf(before) }),
    });
    before = link;
    return { one, link, result };
  });
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
