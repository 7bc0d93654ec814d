import { type RefusalReason, refusalReasons } from "../../wire/command.ts";
import { endings } from "../../wire/return.ts";

/** How a job ended on this peel. */
export type JobEnd = "ok" | "failed" | (typeof endings)[number];

/** Counters of a peel since its start. */
export interface PeelCounts {
  refused: Record<RefusalReason, number>;
  /** Commands that were received again. */
  repeated: number;
  jobs: Record<JobEnd, number>;
  /** Messages that were dropped because the outbox was full or the stream does not accept them. */
  outboxDropped: number;
  /** Messages that the bus refused to store. */
  outboxRefused: number;
  /** Scheduled runs that were skipped because the maximum number of runs was in progress. */
  scheduleSkipped: number;
  /** Number of connections to the bus, including the first. */
  connects: number;
  /** When the bus last stored the facts, milliseconds since the Unix epoch. */
  factsStoredAt: number | undefined;
}

export function createCounts(): PeelCounts {
  const zeros = <Key extends string>(keys: readonly Key[]) =>
    Object.fromEntries(keys.map((key) => [key, 0])) as Record<Key, number>;
  return {
    refused: zeros(refusalReasons),
    repeated: 0,
    jobs: zeros(["ok", "failed", ...endings]),
    outboxDropped: 0,
    outboxRefused: 0,
    scheduleSkipped: 0,
    connects: 0,
    factsStoredAt: undefined,
  };
}
