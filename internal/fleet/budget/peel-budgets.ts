import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Budget } from "../../base/meter.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { SystemBus } from "../../bus/servers/mod.ts";
import { removeSubject } from "../../bus/streams/mod.ts";
import { ackSubject, eventSubject, returnSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import type { MasterConfig } from "../../program/config/mod.ts";
import type { SuspendOperationDeps } from "../enrollment/mod.ts";
import {
  disconnect,
  type SuspensionEffects,
  suspend,
  watchExcessConnections,
} from "../enrollment/revocation/mod.ts";
import type { Directory } from "../enrollment/store/mod.ts";
import { type BudgetKind, type Budgets, createBudgets } from "./budgets.ts";
import { createLogLines, type LogLines } from "./log-lines.ts";
import { watchPauses } from "./pauses.ts";
import { watchUnread } from "./watch-unread.ts";

const mebibyte = 1024 * 1024;
/** The name of a suspension for flooding, in the record of the peel. */
const operator = "svc-master";
/** How soon a suspension that failed is tried again, while the peel floods. */
const againMs = 10_000;
/** How often the streams are searched for messages of a peel that flooded. */
const maxPasses = 5;
const helloBurst = 5;
/**
 * A peel sends its facts when they change, and after its functions set some: at most 256 KiB, five times a second, which
 * is within ten times this. Decoded, they take many times their bytes, so that few come at once.
 */
export const factsOfOne = {
  perMinute: 300,
  bytesPerMinute: 16 * mebibyte,
  burstBytes: 4 * mebibyte,
  torrent: 1_000,
} satisfies Budget;
/** The facts that one master decodes, of all peels together: what 10,000 of them may have changed at once. */
export const factsOfAll = { perMinute: 1_000_000, bytesPerMinute: 128 * mebibyte } satisfies Budget;
/** It reports a run of states when it ends, and its differences. */
const reports: Budget = { perMinute: 300 };
/** Reports beyond it do not become events. */
const reportEvents: Budget = { perMinute: 60 };
/** It sends one every 10 s. */
const heartbeats: Budget = { perMinute: 60 };
/**
 * All that a peel sends to the storage: several times one of its budgets, and more than its outbox keeps. What is
 * beyond it the peel sends again.
 */
const relayedFactor = 5;
/** It connects again every 2 s at most. */
const connects: Budget = { perMinute: 60 };

export interface MasterBudgets {
  budgets: Budgets;
  lines: LogLines;
  /** What follows from a suspension. */
  suspension: SuspensionEffects;
  stop(): void;
}

export interface MasterBudgetsDeps extends Omit<SuspendOperationDeps, "suspension"> {
  config: MasterConfig;
  bus: Bus;
  /** The connection that messages of peels arrive on. */
  peelBus: Bus;
  system: Pick<SystemBus, "followConnections">;
  /** Public key of the peels' account. */
  account: string;
  directory: Pick<Directory, "idOf" | "isSuspended">;
  /** Whether masters relay what peels send to the storage. */
  relayed(): boolean;
  metrics: { budgetExceeded(kind: BudgetKind): void; peelSuspended(): void };
  /** Reports a suspension to the reactor. @throws SvcError `unavailable` */
  reportSuspended(peelId: string, reason: string): Promise<void>;
  clock: Clock;
  log: Log;
}

/** The budgets of peels, and what happens to a peel that floods. */
export function startBudgets(deps: MasterBudgetsDeps): MasterBudgets {
  const { config, bus, directory, metrics, clock, log } = deps;
  const lines = createLogLines(config["budget.log_lines"], clock, log);
  const suspension = createSuspensionEffects(bus, deps.reportSuspended);
  /** When the suspension of a peel was begun, on the monotonic clock. */
  const begun = new Map<string, number>();
  const stopping = new AbortController();
  const onFlood = (peelId: string, kind: BudgetKind) => {
    if (!config["budget.suspend"] || directory.isSuspended(peelId)) return;
    const now = clock.monotonic();
    if (now - (begun.get(peelId) ?? Number.NEGATIVE_INFINITY) < againMs) return;
    const id = directory.idOf(peelId);
    if (id === undefined) return;
    begun.set(peelId, now);
    const reason = `sent more than ten times its budget of ${kind}`;
    suspend({ ...deps, ...deps.enforce, ...suspension, log }, { id, operator, reason }).then(
      ({ purged }) => {
        metrics.peelSuspended();
        log.error("peel suspended", { peel_id: peelId, enrollment_id: id, reason, purged });
      },
      (thrown) => log.error("peel not suspended", { peel_id: peelId, reason: describeError(thrown) }),
    );
  };
  const budgets = createBudgets({
    limits: limitsOf(config),
    onExceeded(kind, peelId) {
      metrics.budgetExceeded(kind);
      lines.say("warn", "budget of a peel exceeded", peelId, { budget: kind });
    },
    onFlood,
    clock,
  });
  /** Peels whose connections are being ended. */
  const ending = new Set<string>();
  const endConnections = (peelId: string) => {
    const id = directory.idOf(peelId);
    if (id === undefined || ending.has(peelId)) return;
    ending.add(peelId);
    metrics.budgetExceeded("connections");
    lines.say("warn", "too many connections of a peel: all of them are ended", peelId);
    disconnect({ ...deps, ...deps.enforce }, id, stopping.signal)
      .catch((thrown) => {
        if (stopping.signal.aborted) return;
        lines.say("error", "connections of a peel not ended", peelId, { reason: describeError(thrown) });
      })
      .finally(() => ending.delete(peelId));
  };
  const connections = watchExcessConnections({
    ...{ system: deps.system, account: deps.account, max: config["budget.connections"] },
    // The name in the JWT, which a master signed.
    onConnect: ({ name }) => void budgets.take(name, "connections"),
    onExcess: ({ name }) => endConnections(name),
  });
  const pauses = watchPauses(clock);
  const watching = watchUnread({
    ...{ bus: deps.peelBus, budgets, relayed: deps.relayed },
    isLate: () => pauses.isLate,
  });
  return {
    ...{ budgets, lines, suspension },
    stop() {
      stopping.abort(new Error("the master stops"));
      watching.stop();
      pauses.stop();
      connections.stop();
      lines.stop();
    },
  };
}

/** The budgets of one peel. */
export function limitsOf(config: MasterConfig): Record<BudgetKind, Budget> {
  const messages: Budget = {
    perMinute: config["budget.messages"],
    bytesPerMinute: config["budget.bytes"],
  };
  return {
    hello: { perMinute: config["budget.hello"], burst: helloBurst },
    requests: { perMinute: config["budget.requests"] },
    messages,
    schedule: messages,
    facts: factsOfOne,
    heartbeats,
    reports,
    "report-events": reportEvents,
    connections: connects,
    relayed: {
      perMinute: relayedFactor * config["budget.messages"],
      bytesPerMinute: relayedFactor * config["budget.bytes"],
    },
    events: messages,
    progress: messages,
  };
}

function createSuspensionEffects(
  bus: Bus,
  reportSuspended: MasterBudgetsDeps["reportSuspended"],
): SuspensionEffects {
  const removeAll = async (peelId: string): Promise<number> => {
    let removed = 0;
    for (const subjectOf of [ackSubject, returnSubject, scheduleSubject]) {
      removed += await removeSubject(bus, "job-events", subjectOf("*", peelId));
    }
    return removed + (await removeSubject(bus, "events", eventSubject(peelId, ">")));
  };
  return {
    async purge(peelId) {
      let purged = 0;
      // A stream may still store what the server had received when it closed the connection.
      for (let pass = 0; pass < maxPasses; pass++) {
        const removed = await removeAll(peelId);
        purged += removed;
        if (removed === 0) break;
      }
      return purged;
    },
    report: reportSuspended,
  };
}
