import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Budget, charge, type Meter, newMeter } from "../../base/meter.ts";
import { createSlots, type Slots } from "../../base/slots.ts";

/** How much one key, token or session may do on one master. */
export interface OperatorLimits {
  perSecond: number;
  /** Requests at once. */
  burst: number;
  /** How many requests are worked on at the same time. */
  atOnce: number;
  /** How many wait for that. */
  waiting: number;
  streams: number;
  /** Wrong signatures in one second, beyond which the key is suspended. */
  forged: number;
  suspendedMs: number;
}

export const operatorLimits: OperatorLimits = {
  ...{ perSecond: 50, burst: 200, atOnce: 8, waiting: 256, streams: 16 },
  ...{ forged: 50, suspendedMs: 60_000 },
};

/** The sender of what comes on the subjects of earlier versions: the bus does not say who that is. */
export const unnamedSender = "";

/** The budgets of operators on one master. */
export interface OperatorBudgets {
  /**
   * Does the work of a request, as soon as less than 8 of its sender are worked on.
   *
   * @param sender key of the bus user, token or session
   * @param bytes that it holds in memory until it is done
   * @throws SvcError `rate_limited`, before anything is done
   */
  run<T>(sender: string, work: () => Promise<T>, bytes?: number): Promise<T>;
  /** Counts a stream until it is given back. @throws SvcError `rate_limited` */
  beginStream(sender: string): () => void;
  /** A signature that this sender sent was wrong. */
  noteForged(sender: string): void;
  /** Whose requests these are, as far as it is proved. */
  noteName(sender: string, operator: string): void;
  /** Who sends ten times the budget for ten seconds, or did so a minute ago. */
  flooding(): readonly string[];
}

export interface OperatorBudgetsOptions {
  limits?: OperatorLimits;
  /** A request was refused. @param operator `unknown` before it is proved */
  onLimited(operator: string): void;
  clock: Pick<Clock, "monotonic">;
  log: Pick<Log, "warn">;
}

/** Senders that are remembered; a fleet has fewer, and who is forgotten begins with a full budget. */
const maxSenders = 8_192;
const secondMs = 1_000;
/** What the requests of one sender hold in memory, those that wait with them. */
const maxHeldBytes = 16 * 1024 * 1024;
/** How often one sender is logged, and for how long its flood is shown. */
const loggedMs = 60_000;
const flood = "an operator sends ten times as many requests as it may; svc operator disable ends it";
/** When a request is sent again that finds everything busy. */
const busyMs = 1_000;

interface Sender {
  name: string | undefined;
  meter: Meter;
  slots: Slots;
  streams: number;
  heldBytes: number;
  forged: { since: number; count: number };
  suspendedUntil: number;
  loggedAt: number;
  floodedAt: number;
}

export function createOperatorBudgets(options: OperatorBudgetsOptions): OperatorBudgets {
  const { limits = operatorLimits, clock } = options;
  const budget: Budget = { perMinute: 60 * limits.perSecond, burst: limits.burst };
  const senders = createBoundedMap<Sender>(maxSenders);
  const flooded = new Set<Sender>();
  const senderOf = (id: string): Sender =>
    // A part of a subject would keep all of it in memory.
    senders.get(id) ?? senders.set(Buffer.from(id).toString(), newSender(limits, budget, clock.monotonic()));
  const refuse = (sender: Sender, refusal: SvcError): SvcError => {
    noteRefusal(sender, refusal, options);
    return refusal;
  };
  return {
    async run(id, work, bytes = 0) {
      const sender = senderOf(id);
      const now = clock.monotonic();
      const { floodedAt } = sender;
      const refusal = refusalOf(sender, budget, now);
      if (sender.floodedAt === now) {
        flooded.add(sender);
        if (now - floodedAt > loggedMs) options.log.warn(flood, { operator: nameOf(sender), sender: id });
      }
      if (refusal !== undefined) throw refuse(sender, refusal);
      if (sender.heldBytes + bytes > maxHeldBytes) {
        throw refuse(
          sender,
          limited("the requests of this operator that wait are too large together", busyMs),
        );
      }
      sender.heldBytes += bytes;
      try {
        const giveBack = await sender.slots.take().catch(() => {
          throw refuse(sender, limited(`${limits.waiting} requests of this operator wait already`, busyMs));
        });
        return await work().finally(giveBack);
      } finally {
        sender.heldBytes -= bytes;
      }
    },
    beginStream(id) {
      const sender = senderOf(id);
      if (sender.streams >= limits.streams) {
        throw refuse(sender, limited(`this operator follows ${limits.streams} streams already`, busyMs));
      }
      sender.streams++;
      let isOpen = true;
      return () => {
        if (isOpen) sender.streams--;
        isOpen = false;
      };
    },
    noteForged(id) {
      const sender = senderOf(id);
      const now = clock.monotonic();
      if (now - sender.forged.since >= secondMs) sender.forged = { since: now, count: 0 };
      if (++sender.forged.count > limits.forged) sender.suspendedUntil = now + limits.suspendedMs;
    },
    noteName(id, operator) {
      senderOf(id).name = operator;
    },
    flooding() {
      const since = clock.monotonic() - loggedMs;
      for (const sender of flooded) if (sender.floodedAt < since) flooded.delete(sender);
      return [...new Set([...flooded].map(nameOf))];
    },
  };
}

function newSender({ atOnce, waiting }: OperatorLimits, budget: Budget, now: number): Sender {
  const never = Number.NEGATIVE_INFINITY;
  return {
    ...{
      name: undefined,
      meter: newMeter(budget, now),
      slots: createSlots({ atOnce, waiting }),
      streams: 0,
      heldBytes: 0,
    },
    ...{ forged: { since: never, count: 0 }, suspendedUntil: never, loggedAt: never, floodedAt: never },
  };
}

const nameOf = ({ name }: Sender): string => name ?? "unknown";

/** Charges a request. @returns why it is refused */
function refusalOf(sender: Sender, budget: Budget, now: number): SvcError | undefined {
  const { meter, suspendedUntil } = sender;
  const { within, flooding } = charge(meter, budget, 0, now);
  if (flooding) sender.floodedAt = now;
  if (now < suspendedUntil) {
    return limited("too many requests with this key had wrong signatures", suspendedUntil - now);
  }
  if (within) return undefined;
  return limited("too many requests of this operator", ((1 - meter.messages) * 60_000) / budget.perMinute);
}

function limited(reason: string, waitMs: number): SvcError {
  const retryAfterMs = Math.max(1, Math.ceil(waitMs));
  const wait = formatDuration(Math.max(secondMs, Math.ceil(waitMs / secondMs) * secondMs));
  return new SvcError("rate_limited", `${reason}: try again in ${wait}`, { retryAfterMs });
}

function noteRefusal(
  sender: Sender,
  { message }: SvcError,
  { onLimited, clock, log }: OperatorBudgetsOptions,
) {
  const operator = nameOf(sender);
  onLimited(operator);
  const now = clock.monotonic();
  if (now - sender.loggedAt < loggedMs) return;
  sender.loggedAt = now;
  log.warn("requests of an operator are refused", { operator, reason: message });
}
