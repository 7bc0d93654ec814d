import * as v from "valibot";
import { type Clock, sleep, type Timer } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { newRequestId } from "../../base/request-id.ts";
import { type Bus, streamAsOperator } from "../../bus/connection/mod.ts";
import { openReply } from "../../bus/subjects/envelope.ts";
import type { BusLines } from "../../fleet/operation/door-table/mod.ts";
import type { feed, InputSchema, Operation } from "../../fleet/operation/mod.ts";
import { type FeedItem, type FeedPart, openItem, openItems, openPart } from "../../wire/feed-part.ts";

/** How long a master has to begin its answer. */
const answerMs = 5_000;
/** A master that sends nothing for this time is dead: while it lives, something comes each 10 s. */
const patienceMs = 30_000;
const pauseMs = 250;
/** How often a request that reached nobody is sent again: longer than masters take to connect to a restarted bus. */
const moreAttempts = 12;
/** The same for a reader that was cut off: longer than a master takes to start again. */
const attemptsToContinue = 120;

/** An operation that streams, with its lines of the bus. */
export interface FeedBinding<Deps, Input extends InputSchema> {
  operation: Operation<Deps, Input, typeof feed>;
  bus: Pick<BusLines, "subject" | "token">;
}

/** How a reader follows. */
export interface Following {
  /** The caller, where no operator signs. */
  operator?: string | undefined;
  /**
   * Makes a reader that was cut off wait for a master without end. It learns when no master continued at once, and when
   * one continues after that.
   */
  patience?: { begin(reason: SvcError): void; end(): void };
}

/**
 * Follows what an operation streams, as the operator of the connection. Where its master dies or stops, it continues
 * at another one behind the last item, if the operation has a field `after` and its items have places. Parts are
 * acknowledged as they are taken: a master waits for a slow reader, and cuts it off after 30 s.
 *
 * @param input the fields of the operation
 * @param signal ends it; its reason is thrown
 * @throws SvcError what the master answered; `forbidden` without permission to ask; `unavailable` when no master answers,
 *   or the stream broke off and cannot continue
 */
export async function* followFeed<Deps, Input extends InputSchema>(
  bus: Bus,
  { operation, bus: { subject: pattern, token = "" } }: FeedBinding<Deps, Input>,
  input: v.InferInput<Input>,
  signal: AbortSignal,
  { operator = bus.requester?.name, patience }: Following = {},
): AsyncGenerator<FeedItem, void> {
  const { [token]: inSubject, ...fields } = input as Record<string, unknown>;
  const subject = pattern.replace("*", String(inSubject));
  const canContinue = Object.hasOwn(operation.input.entries, "after");
  let after: string | undefined;
  let isWaiting = false;
  for (let failures = 0; ; ) {
    const place = after === undefined ? {} : { after };
    const requested = { ...fields, ...place, operator, request_id: newRequestId() };
    try {
      for await (const { items, place } of readParts(
        bus,
        { subject, operation: operation.name },
        encode(requested),
        signal,
      )) {
        failures = 0;
        if (isWaiting) patience?.end();
        isWaiting = false;
        for (const item of items) {
          after = item.id ?? after;
          yield item;
        }
        after = place ?? after;
      }
      return;
    } catch (thrown) {
      const isBegun = after !== undefined;
      if (!(thrown instanceof SvcError) || !mayPass(thrown, isBegun) || (isBegun && !canContinue))
        throw thrown;
      failures++;
      const isPatient = isBegun && patience !== undefined;
      if (!isPatient && failures > (isBegun ? attemptsToContinue : moreAttempts)) throw thrown;
      if (isPatient && failures === 2) {
        patience.begin(thrown);
        isWaiting = true;
      }
    }
    await sleep(bus.clock, pauseMs, signal);
  }
}

/** Whether another attempt may help. @param isBegun whether there is a place to continue from */
function mayPass(thrown: SvcError, isBegun: boolean): boolean {
  if (!isBegun) return thrown instanceof Unserved;
  return thrown instanceof CutOff || thrown.kind === "unavailable" || thrown.kind === "rate_limited";
}

/** The stream did not come to its end. */
class CutOff extends SvcError {
  constructor(reason: string) {
    super("unavailable", `${reason}: check the masters with svc status`);
  }
}

/** No master serves the subject. */
class Unserved extends CutOff {
  constructor() {
    super("no master is answering");
  }
}

interface Read {
  items: FeedItem[];
  place?: string;
}

/** Sends one request, and reads its answer to the end. @throws CutOff when it breaks off */
async function* readParts(
  bus: Bus,
  { subject, operation }: { subject: string; operation: string },
  request: Uint8Array,
  signal: AbortSignal,
): AsyncGenerator<Read, void> {
  signal.throwIfAborted();
  const arrived = createQueue<Parameters<Parameters<typeof streamAsOperator>[3]>[0]>(bus.clock, signal);
  const streaming = streamAsOperator(bus, subject, request, arrived.put, bus.span, operation);
  const pieces: Uint8Array[] = [];
  try {
    for (let seq = 0; ; seq++) {
      const message = await arrived.take(seq === 0 ? answerMs : patienceMs);
      if (message instanceof SvcError) throw message;
      if (message === "unserved") throw new Unserved();
      if (message === undefined) throw new CutOff(`no answer on ${subject}`);
      const part = openPart(message.data);
      if (part === undefined) openReply(v.object({}), message.data);
      if (part?.seq !== seq) throw new CutOff("a part of the answer is missing");
      message.acknowledge?.();
      if (part.kind === "item") {
        yield { items: itemsOf(part, pieces) };
        continue;
      }
      if (part.place !== undefined) yield { items: [], place: part.place };
      if (part.kind === "alive") continue;
      if (part.reason !== undefined) throw new CutOff(part.reason);
      return;
    }
  } finally {
    streaming.stop();
    arrived.stop();
  }
}

/** @param pieces what came before of an item that is larger than a part */
function itemsOf({ items, more }: Extract<FeedPart, { kind: "item" }>, pieces: Uint8Array[]): FeedItem[] {
  if (more !== true && pieces.length === 0) return openItems(items);
  pieces.push(...items);
  return more === true ? [] : [openItem(Buffer.concat(pieces.splice(0)))];
}

/** What arrives and is not taken yet. */
function createQueue<T>(clock: Clock, signal: AbortSignal) {
  const waiting: T[] = [];
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  return {
    put(one: T) {
      waiting.push(one);
      wake();
    },
    /** @returns `undefined` when nothing arrives in time. @throws the reason of the signal */
    async take(timeoutMs: number): Promise<T | undefined> {
      if (waiting.length === 0 && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer: Timer = clock.after(timeoutMs, resolve);
        await promise;
        timer.cancel();
      }
      signal.throwIfAborted();
      return waiting.shift();
    },
    stop: () => signal.removeEventListener("abort", onAbort),
  };
}
