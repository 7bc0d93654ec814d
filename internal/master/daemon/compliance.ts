import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { openBucket } from "../../bus/storage/mod.ts";
import { type Budgets, type LogLines, paceOf, paceWatch } from "../../fleet/budget/mod.ts";
import {
  type ComplianceView,
  countStatuses,
  followCompliance,
  usualStaleMs,
} from "../../fleet/compliance/mod.ts";

/** How long a start waits for the reports; then it continues, and says until they are read that they are not. */
const startMs = 10_000;

export interface MasterCompliance {
  compliance: ComplianceView;
  /** How many members have each status; `undefined` until the reports are read. */
  counts(): Record<string, number> | undefined;
  stop(): void;
}

/**
 * Follows what peels report of their state runs. Their differences are read for an answer only, and watched for
 * floods.
 *
 * @throws the reason of the signal
 */
export async function startCompliance(options: {
  /** Where messages of peels arrive. */
  peelBus: Bus;
  /** Encoded peel ids of the fleet's members. */
  members(): readonly string[];
  budgets: Pick<Budgets, "take" | "pace" | "paceLate" | "note">;
  lines: Pick<LogLines, "say">;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): Promise<MasterCompliance> {
  const { peelBus, budgets, clock, log, signal } = options;
  const bucket = await openBucket(peelBus, "compliance");
  const reports = paceWatch(bucket, paceOf(budgets, "reports"), clock);
  const compliance = followCompliance({ ...options, reports });
  const late = new AbortController();
  try {
    await Promise.race([compliance.ready, sleep(clock, startMs, AbortSignal.any([signal, late.signal]))]);
  } catch (thrown) {
    compliance.stop();
    throw thrown;
  } finally {
    late.abort();
  }
  if (!compliance.running) log.warn("the reports of state runs are not read yet");
  return {
    compliance,
    counts() {
      if (!compliance.running) return undefined;
      return countStatuses(options.members().map(compliance.runOf), clock.now(), usualStaleMs);
    },
    stop: () => compliance.stop(),
  };
}
