import type { BudgetKind } from "./budgets.ts";

const heartbeats = { kind: "heartbeats", isWatched: false } as const;
const facts = { kind: "facts", isWatched: true } as const;
const reports = { kind: "reports", isWatched: false } as const;
const events = { kind: "events", isWatched: true } as const;
const messages = { kind: "messages", isWatched: false } as const;

/** By the second token of a subject that the storage captures: a bucket, or a kind. */
const sent: Readonly<Record<string, { kind: BudgetKind; isWatched: boolean }>> = {
  "peel-heartbeat": heartbeats,
  facts,
  compliance: reports,
  "compliance-diffs": reports,
  event: events,
};

/**
 * The budget that counts what a peel sends to the storage, and whether each master counts all of it as it is sent;
 * what is not is counted where it is read.
 */
export function sentAs(subject: string): { kind: BudgetKind; isWatched: boolean } {
  return sent[subject.split(".", 2)[1] ?? ""] ?? messages;
}
