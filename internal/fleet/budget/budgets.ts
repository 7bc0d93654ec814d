import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { type Budget, charge, demand, type Meter, newMeter, spend } from "../../base/meter.ts";

/**
 * What is counted apart: `hello`; `requests`, which are all others; `messages`, acks, returns and schedule
 * results as they come by; `schedule`, schedule results that become jobs; `facts`; `heartbeats`; `reports` of state
 * runs, and `report-events`, those of them that become events;
 * `connections`; `relayed`, all that a master relays to the storage of a cluster; and `events` and `progress`, which
 * have limits where they are used and are only watched for floods. `facts` are watched as they are sent, and paced where
 * they are read.
 */
export const budgetKinds = [
  "hello",
  "requests",
  "messages",
  "schedule",
  "facts",
  "heartbeats",
  "reports",
  "report-events",
  "connections",
  "relayed",
  "events",
  "progress",
] as const;
export type BudgetKind = (typeof budgetKinds)[number];

/** More than a fleet has peels: what is forgotten begins with a full budget. */
const maxPeels = 65_536;

/** The budgets of all peels on one master. */
export interface Budgets {
  /**
   * Counts a message of a peel; to be called before anything is decoded or stored.
   *
   * @param at when it was sent, if that is known: a backlog does not count as a flood; always of the same clock for
   * one kind
   * @returns whether it is within the budget
   */
  take(peel: string, kind: BudgetKind, bytes?: number, at?: number): boolean;
  /** The same for a message that `note` counts: it is never a flood for itself. */
  pace(peel: string, kind: BudgetKind, bytes: number): boolean;
  /** Judges one again that was refused: it spends what there is now, and is not counted as exceeded a second time. */
  paceLate(peel: string, kind: BudgetKind, bytes: number): boolean;
  /** Counts a message that is not refused here: only a flood of them is reported. */
  note(peel: string, kind: BudgetKind, bytes: number): void;
}

export interface BudgetsOptions {
  limits: Readonly<Record<BudgetKind, Budget>>;
  /** A message was beyond its budget. */
  onExceeded(kind: BudgetKind, peel: string): void;
  /** A peel floods, and does not stop; called with each further message. */
  onFlood(peel: string, kind: BudgetKind): void;
  clock: Pick<Clock, "monotonic">;
}

type Meters = Partial<Record<BudgetKind, Meter>>;

export function createBudgets({ limits, onExceeded, onFlood, clock }: BudgetsOptions): Budgets {
  const peels = createBoundedMap<Meters>(2 * maxPeels);
  const meterOf = (peel: string, kind: BudgetKind, at: number): Meter => {
    // A part of a subject would keep all of it in memory.
    const meters = peels.get(peel) ?? peels.set(Buffer.from(peel).toString(), {});
    meters[kind] ??= newMeter(limits[kind], at);
    return meters[kind];
  };
  const spendNow = (peel: string, kind: BudgetKind, bytes: number) => {
    const at = clock.monotonic();
    return spend(meterOf(peel, kind, at), limits[kind], bytes, at);
  };
  return {
    take(peel, kind, bytes = 0, at = clock.monotonic()) {
      const { within, flooding } = charge(meterOf(peel, kind, at), limits[kind], bytes, at);
      if (flooding) onFlood(peel, kind);
      if (!within) onExceeded(kind, peel);
      return within;
    },
    pace(peel, kind, bytes) {
      const within = spendNow(peel, kind, bytes);
      if (!within) onExceeded(kind, peel);
      return within;
    },
    paceLate: spendNow,
    note(peel, kind, bytes) {
      const at = clock.monotonic();
      if (demand(meterOf(peel, kind, at), limits[kind], bytes, at)) onFlood(peel, kind);
    },
  };
}
