import { defined } from "../../../base/defined.ts";
import type { IdentityService } from "../../../host/modules/mod.ts";
import type { Rest } from "../../../program/daemon/mod.ts";
import type { CheckResult, OffersOf } from "../../../program/health/mod.ts";
import { openWaitingReports, reportRuns, reportsDirectory } from "../../compliance/mod.ts";
import { createPeelStates } from "../../execution/mod.ts";
import { credentialsExpiry } from "../../identity/mod.ts";
import { maskData } from "../../masking/mod.ts";
import { upgradeFiles, upgradesOfHost } from "../../upgrade/mod.ts";
import { type Local, openOutbox, startLocal } from "../local.ts";
import type { PeelView } from "../metrics.ts";
import type { PeelDeps } from "../options.ts";
import { createSendEvent } from "../send-event.ts";
import type { Stores } from "./stores.ts";

/** What runs calls: each finds this host around it, and what it returns waits for a bus. */
export const local = {
  start(deps: PeelDeps & Stores & Pick<Rest, "during">) {
    const { dataDir, files, facts, settings, audit, masking, clock, log } = deps;
    const waiting = openOutbox(deps);
    const sendEvent = createSendEvent({ ...deps, ...waiting });
    const around = (signal: AbortSignal) => ({ clock, facts, settings, signal });
    const mask = masking.current;
    const dir = reportsDirectory(dataDir);
    const reports = { ...openWaitingReports(dir, log), dir };
    const states = createPeelStates({
      ...deps,
      context: (signal) => ({
        ...around(signal),
        sendEvent: (tag, data) => sendEvent(tag, maskData(mask(), data)),
      }),
      onEnd: reportRuns(reports, mask, log),
    });
    const { upgrades, watchdog, attach } = upgradesOfHost(deps);
    let identity: IdentityService | undefined;
    const local = startLocal({
      ...deps,
      ...waiting,
      context: (signal) => ({ ...around(signal), sendEvent, states, audit, ...defined({ identity }) }),
      mask,
      upgrades,
      isWatched: watchdog !== undefined,
    });
    const { executor, outbox, counts } = local;
    const shown: Omit<PeelView, "connected" | "renewals" | "spans"> = {
      refused: () => counts.refused,
      jobs: () => counts.jobs,
      queued: () => executor.queued,
      outbox: () => ({
        messages: outbox.messages,
        bytes: outbox.bytes,
        dropped: counts.outboxDropped,
        refused: counts.outboxRefused,
      }),
      scheduleSkipped: () => counts.scheduleSkipped,
      connects: () => counts.connects,
      factsStoredAt: () => counts.factsStoredAt,
      credentialsExpiry: () => credentialsExpiry(files.credentials),
      watchdogRestarts: () => watchdog?.restarts ?? 0,
      lastUpgrade: () => upgradeFiles(dataDir).state().outcome,
    };
    const attachIdentity = (service: IdentityService) => {
      identity = service;
    };
    return {
      ...{ local, shown, reports, attachUpgrades: attach, attachIdentity },
      checks: { disk: () => checkDisk(local) },
      stop: local.stop,
    };
  },
};

/** A peel with a full disk still answers, and runs what changes nothing. */
function checkDisk({ fullDisk }: Pick<Local, "fullDisk">): CheckResult {
  const full = fullDisk();
  return full === undefined ? { status: "up" } : { status: "degraded", ...full };
}

export type LocalPhase = OffersOf<typeof local>;
