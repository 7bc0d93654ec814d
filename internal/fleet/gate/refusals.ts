import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256 } from "../../base/sha256.ts";
import type { AuditWriter } from "../audit/mod.ts";
import type { Passenger, Stranger } from "../operation/mod.ts";
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

/** The same for all unknown senders together: each may claim any name. */
const maxOfStrangers = 120;
const maxName = 256;

/** Records refused requests, up to a limit for each operator. A refusal stands, whether or not it is recorded. */
export function createRefusalRecords(deps: RefusalDeps) {
  const { clock, log } = deps;
  const counts = createBoundedMap<{ since: number; count: number }>(maxCounted);
  const mayRecord = (sender: string, max: number): boolean => {
    const now = clock.monotonic();
    const known = counts.get(sender);
    const window = known !== undefined && now - known.since < minuteMs ? known : { since: now, count: 0 };
    window.count++;
    counts.set(sender, window);
    return window.count <= max;
  };
  return {
    async add(passenger: Passenger, thrown: unknown): Promise<void> {
      const content = contentOf(passenger, deps);
      if (mayRecord(`operator ${content.operator}`, maxPerMinute)) return record(deps, content, thrown);
      const of = { operator: content.operator, operation: passenger.operation };
      log.warn("a refusal was not recorded: this operator has too many", of);
    },
    async addStranger(stranger: Stranger, thrown: unknown): Promise<void> {
      const { operation, user } = stranger;
      // By its connection: what it says about itself costs it nothing.
      const isWithin =
        mayRecord(`user ${user ?? ""}`, maxPerMinute) && mayRecord("strangers", maxOfStrangers);
      if (isWithin) return record(deps, contentOfStranger(stranger), thrown);
      log.warn("a refusal was not recorded: there are too many", { user, operation });
    },
  };
}

type Refused = Omit<Parameters<AuditWriter["append"]>[0], "outcome" | "reason">;

async function record(
  { audit, log }: Pick<RefusalDeps, "audit" | "log">,
  content: Refused,
  thrown: unknown,
): Promise<void> {
  try {
    await audit.append({ ...content, outcome: "refused", reason: reasonOf(thrown) });
  } catch (failure) {
    const { operator, action: operation } = content;
    log.error("a refusal was not recorded", { operator, operation, reason: describeError(failure) });
  }
}

/** The name is the one that the request claims. No key signed it as far as anybody knows. */
function contentOfStranger({ operation, user, claimed, bytes, requestId }: Stranger): Refused {
  const text = (value: unknown) =>
    typeof value === "string" ? value.slice(0, maxName).toWellFormed() : undefined;
  return {
    operator: text(claimed.operator) ?? "unknown",
    key: "",
    via: "bus",
    action: operation,
    subjects: { unproven: true, ...defined({ user: text(user), claimed_key: text(claimed.key) }) },
    requestId,
    requestDigest: sha256(bytes),
  };
}
