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
import {
  createMasking,
  type Mask,
  type Masking,
  maskedLog,
  maskOf,
  namesOfHost,
  noMask,
} from "../../masking/mod.ts";
import { openPeelSettings } from "../../settings/mod.ts";
import { openStateFiles } from "../../state-files/mod.ts";
import { hasWatchdog } from "../../upgrade/mod.ts";
import type { PeelDeps } from "../options.ts";

/** Facts of this host, and what masters sent to it: settings and state files. */
export const stores = {
  async start(deps: PeelDeps) {
    const { config, dataDir, env, hostname, peelId, clock, signal } = deps;
    let masking: Masking | undefined;
    // Facts are collected before it is known which secrets are names of this host: rather more is masked until then.
    let early: Mask | undefined;
    const maskNow = () => {
      if (masking !== undefined) return masking.current();
      early ??= maskOf(settings.secrets());
      return early;
    };
    const settings = openPeelSettings({
      ...deps,
      log: maskedLog(deps.log, () => masking?.current() ?? noMask),
    });
    const log = maskedLog(deps.log, maskNow);
    const facts = await openFactStore({
      dataDir,
      isSecret: (value) => maskNow().isIn(value),
      host: systemHost(hostname, env),
      own: () => ({
        id: displayPeelId(peelId),
        svc_version: version,
        svc_watchdog: hasWatchdog(env),
        ...trustFacts(deps),
        ...weakFacts(masking),
      }),
      run: (path) => runFactProgram(path, { env, clock, signal }),
      clock,
      log,
    });
    deps.roots.onChange(() => void facts.refresh());
    deps.refusedStatements.onChange(() => void facts.refresh());
    const stateFiles = openStateFiles({ ...deps, log, dir: config.states_cache });
    const following = createMasking({
      ...{ settings, clock, log },
      names: () => namesOfHost({ clock, signal, facts }, facts.collected()),
      stateFiles: stateFiles.texts,
    });
    masking = following;
    following.onChange(() => void facts.refresh());
    const freshness = refreshPeriodically({ ...deps, facts });
    const audit = openAuditHeads({ ...deps, path: join(dataDir, "audit-heads") });
    return {
      ...{ facts, settings, stateFiles, audit, masking: following },
      log,
      stop() {
        freshness.stop();
        following.stop();
      },
    };
  },
};

/** The settings whose values are too short or too common to be masked inside of other texts. */
function weakFacts(masking: Masking | undefined): Facts {
  const names = masking?.weak() ?? [];
  return names.length === 0 ? {} : { weak_secrets: [...names] };
}

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
