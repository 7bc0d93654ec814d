import { join } from "node:path";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { version } from "../../../base/version.ts";
import {
  type Facts,
  openFactStore,
  refreshPeriodically,
  runFactProgram,
  systemHost,
} from "../../../host/facts/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { openAuditHeads } from "../../link/mod.ts";
import { openPeelSettings } from "../../settings/mod.ts";
import { openStateFiles } from "../../state-files/mod.ts";
import { hasWatchdog } from "../../upgrade/mod.ts";
import type { PeelDeps } from "../options.ts";

/** Facts of this host, and what masters sent to it: settings and state files. */
export const stores = {
  async start(deps: PeelDeps) {
    const { config, dataDir, env, hostname, peelId, clock, log, signal } = deps;
    const facts = await openFactStore({
      dataDir,
      host: systemHost(hostname, env),
      own: () => ({
        id: displayPeelId(peelId),
        svc_version: version,
        svc_watchdog: hasWatchdog(env),
        ...trustFacts(deps),
      }),
      run: (path) => runFactProgram(path, { env, clock, signal }),
      clock,
      log,
    });
    deps.roots.onChange(() => void facts.refresh());
    deps.refusedStatements.onChange(() => void facts.refresh());
    const settings = openPeelSettings(deps);
    const stateFiles = openStateFiles({ ...deps, dir: config.states_cache });
    const freshness = refreshPeriodically({ ...deps, facts });
    const audit = openAuditHeads({ ...deps, path: join(dataDir, "audit-heads") });
    return { facts, settings, stateFiles, audit, stop: () => freshness.stop() };
  },
};

/** Which roots this peel trusts, the file that keeps it from following a rotation, and what it refuses to follow. */
function trustFacts({ roots, refusedStatements, config, env }: PeelDeps): Facts {
  const trusted = roots.trusted();
  const refused = refusedStatements.current();
  const named = config.bus_ca || env.BUS_CA_FILE;
  return {
    ...(trusted === undefined ? {} : { trust_roots: [...trusted] }),
    ...(named ? { bus_ca_file: named } : {}),
    ...(refused.length === 0 ? {} : { refused_statements: refused.map((one) => ({ ...one })) }),
  };
}

export type Stores = OffersOf<typeof stores>;
