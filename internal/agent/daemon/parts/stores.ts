import { displayPeelId } from "../../../base/peel-id.ts";
import { version } from "../../../base/version.ts";
import { keepFresh, openFactStore, runFactProgram, systemHost } from "../../../host/facts/mod.ts";
import type { OffersOf } from "../../../program/health/mod.ts";
import { openStateFiles } from "../../state-files/mod.ts";
import type { PeelDeps } from "../options.ts";
import { openPeelSettings } from "../settings.ts";

/** What is known of this host, and what masters told it: facts, settings and state files. */
export const stores = {
  async start(deps: PeelDeps) {
    const { config, dataDir, env, hostname, peelId, clock, log, signal } = deps;
    const facts = await openFactStore({
      dataDir,
      host: systemHost(hostname, env),
      own: { id: displayPeelId(peelId), svc_version: version },
      run: (path) => runFactProgram(path, { env, clock, signal }),
      clock,
      log,
    });
    const settings = openPeelSettings(deps);
    const stateFiles = openStateFiles({ ...deps, dir: config.states_cache });
    const freshness = keepFresh({ ...deps, facts });
    return { facts, settings, stateFiles, stop: () => freshness.stop() };
  },
};

export type Stores = OffersOf<typeof stores>;
