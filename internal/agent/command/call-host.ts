import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { version } from "../../base/version.ts";
import { openFactStore, runFactProgram, systemHost } from "../../host/facts/mod.ts";
import type { CallContext, EndedRun, SettingsStore, StatesService } from "../../host/modules/mod.ts";
import { dataDir, loadForCommand, type PeelConfig } from "../../program/config/mod.ts";
import { createDirectorySource } from "../../tree/files/mod.ts";
import { createRunLock, createStatesService, type RunLock } from "../../tree/run/mod.ts";
import { openWaitingReports, reportRuns, reportsDirectory } from "../compliance/mod.ts";
import { statesLockFile, templateOptions } from "../execution/mod.ts";
import { createKeyRing, identityFiles } from "../identity/mod.ts";
import { maskOf } from "../masking/mod.ts";
import type { FedSettingsStore } from "../settings/mod.ts";
import { createCommandKeys } from "../trust/mod.ts";

export interface CallHostOptions {
  /** The peel's configuration file. Absent means the default file, if it exists. */
  config?: string;
  /** Encoded peel id. Absent means the configured id. */
  id?: string;
  /** Directories on this host to use instead of the files that masters publish. */
  local?: { states?: string; settings?: string };
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  jitter: () => number;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

/** The environment of functions that are called on this host without a master. */
export async function createCallHost(
  options: CallHostOptions,
): Promise<(signal: AbortSignal) => CallContext> {
  const { env, clock, jitter, log, signal, local } = options;
  const config = loadForCommand(options);
  const data = dataDir(env);
  const peelId = options.id ?? peelIdOf(config, data, options.hostname);
  const facts = await openFactStore({
    dataDir: data,
    host: systemHost(options.hostname, env),
    own: () => ({ id: displayPeelId(peelId), svc_version: version }),
    run: (path) => runFactProgram(path, { env, clock, signal }),
    clock,
    log,
  });
  await facts.ready;
  const settings =
    local === undefined
      ? await keptSettings({ ...options, data, peelId })
      : await directorySettings(local.settings, peelId, () => facts.items());
  const context = (stop: AbortSignal): Omit<CallContext, "states"> => ({
    clock,
    facts,
    settings,
    signal: stop,
    unbounded: true,
  });
  const lock = createRunLock({
    ...(existsSync(data) ? { file: statesLockFile(data) } : {}),
    now: clock.now,
  });
  // A peel that runs here sends it to the masters. What a run for another host did is not reported.
  const isPeel = existsSync(identityFiles(join(data, "auth"), peelId).seed);
  const waiting = openWaitingReports(reportsDirectory(data), log);
  const reports = isPeel ? { onEnd: reportRuns(waiting, () => maskOf(settings.secrets()), log) } : {};
  const states =
    local === undefined
      ? await keptStates({
          ...{ ...options, ...reports, config, cacheDir: config.states_cache, peelId, context, lock },
        })
      : createStatesService({
          ...templateOptions(config),
          ...reports,
          random: options.random,
          peelId,
          lock,
          context,
          clock,
          jitter,
          sources: { open: async (environment) => openDirectory(local.states, environment) },
        });
  return (stop) => ({ ...context(stop), states });
}

/** The peel's id. It is not pinned: a call does not change a host that is not a peel yet. */
function peelIdOf(config: PeelConfig, data: string, hostname: string): string {
  if (config.id !== "") return encodePeelId(config.id);
  return readTextIfPresent(join(data, "auth", "node-id"))?.trim() ?? encodePeelId(hostname);
}

async function directorySettings(
  directory: string | undefined,
  peelId: string,
  facts: CallContext["facts"]["items"],
): Promise<KnownSettings> {
  if (directory !== undefined) {
    const { localSettings } = await import("../settings/mod.ts");
    return localSettings({ directory, peelId, facts });
  }
  return {
    resolved: true,
    reason: undefined,
    current: () => ({}),
    labels: () => ({}),
    get: (_, fallback) => fallback,
    refresh: async () => false,
    secrets: () => [],
  };
}

/** Settings whose secrets are known. */
type KnownSettings = SettingsStore & Pick<FedSettingsStore, "secrets">;

function openDirectory(directory: string | undefined, environment = "base") {
  if (directory === undefined) {
    throw new SvcError("usage", "--states is required: set the directory of the state files");
  }
  if (environment !== "base") {
    throw new SvcError(
      "not_found",
      `the environment ${environment} does not exist: a local directory is always base`,
    );
  }
  return createDirectorySource(directory);
}

/** The settings that the peel received last, from its files. */
async function keptSettings(
  options: CallHostOptions & { data: string; peelId: string },
): Promise<KnownSettings> {
  const { openPeelSettings } = await import("../settings/mod.ts");
  const files = identityFiles(join(options.data, "auth"), options.peelId);
  return openPeelSettings({
    ...options,
    dataDir: options.data,
    keys: createKeyRing(files, options.log),
    commandKeys: createCommandKeys(files.commandKeys, options.log),
  });
}

async function keptStates(
  options: Omit<CallHostOptions, "config"> & {
    config: PeelConfig;
    cacheDir: string;
    peelId: string;
    context(signal: AbortSignal): Omit<CallContext, "states">;
    lock: RunLock;
    onEnd?(run: EndedRun): void;
  },
): Promise<StatesService> {
  const { openStateFiles } = await import("../state-files/mod.ts");
  // The stored settings were verified when they arrived, and no master is contacted here.
  const files = openStateFiles({ ...options, dir: options.cacheDir, commandKeys: { current: [] } });
  return createStatesService({
    ...options,
    ...templateOptions(options.config),
    sources: { open: (environment, wanted) => files.open(environment, wanted) },
  });
}
