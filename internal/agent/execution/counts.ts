import { type RefusalReason, refusalReasons } from "../../fleet/jobs/command.ts";
import { endings } from "../../fleet/jobs/outcome.ts";

/** How a job ended on this peel. */
export type JobEnd = "ok" | "failed" | (typeof endings)[number];

/** What a peel counts of its work since it started. */
export interface PeelCounts {
  refused: Record<RefusalReason, number>;
  /** Commands that came again. */
  repeated: number;
  jobs: Record<JobEnd, number>;
  /** Messages that were given up because the outbox was full, or the stream never takes them. */
  outboxDropped: number;
  /** Answers of the bus that it did not store a message. */
  outboxRefused: number;
  /** Runs of the schedule that were left out because as many as may overlap were under way. */
  scheduleSkipped: number;
  /** How often the bus was reached, the first time included. */
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
