import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { AuditWriter } from "../audit/mod.ts";
import type { Passenger } from "../operation/mod.ts";
import { type ContentDeps, contentOf, reasonOf } from "./entry.ts";

/** Refusals that are recorded of one operator in a minute: a client in a loop must not fill the audit. */
const maxPerMinute = 60;
const minuteMs = 60_000;
/** How many operators are counted at the same time. */
const maxCounted = 1_000;

interface RefusalDeps extends ContentDeps {
  audit: Pick<AuditWriter, "append">;
  clock: Clock;
  log: Log;
}

/** Records refused requests, up to a limit for each operator. A refusal stands, whether or not it is recorded. */
export function createRefusalRecords(deps: RefusalDeps) {
  const { audit, clock, log } = deps;
  const counts = createBoundedMap<{ since: number; count: number }>(maxCounted);
  const mayRecord = (operator: string): boolean => {
    const now = clock.monotonic();
    const known = counts.get(operator);
    const window = known !== undefined && now - known.since < minuteMs ? known : { since: now, count: 0 };
    window.count++;
    counts.set(operator, window);
    return window.count <= maxPerMinute;
  };
  return {
    async add(passenger: Passenger, thrown: unknown): Promise<void> {
      const content = contentOf(passenger, deps);
      const of = { operator: content.operator, operation: passenger.operation };
      if (!mayRecord(content.operator)) {
        log.warn("a refusal was not recorded: this operator has too many", of);
        return;
      }
      try {
        await audit.append({ ...content, outcome: "refused", reason: reasonOf(thrown) });
      } catch (failure) {
        log.error("a refusal was not recorded", { ...of, reason: describeError(failure) });
      }
    },
  };
}
