import { defined } from "../../../base/defined.ts";
import { createOperatorBudgets } from "../../../fleet/requests/mod.ts";
import type { Parts } from "../../../program/health/mod.ts";
import { tracing } from "../../../program/tracing/mod.ts";
import { followAccountKeys, followCommandKeys, followSettingsKeys, loadMasterKeys } from "../../keys/mod.ts";
import { createMasterMetrics, type MasterView } from "../../metrics/mod.ts";
import { masterName } from "../name.ts";
import type { MasterDeps, MasterOptions } from "../options.ts";
import { keyFiles } from "./key-files.ts";

const accountSigning = {
  start(options: Parameters<typeof followAccountKeys>[0]) {
    const accountKeys = followAccountKeys(options);
    return { accountKeys, stop: accountKeys.stop };
  },
};
const commandKeys = {
  start(options: Parameters<typeof followCommandKeys>[0]) {
    const keyring = followCommandKeys(options);
    return { keyring, stop: keyring.stop };
  },
};
const settingsSeed = {
  start(options: Parameters<typeof followSettingsKeys>[0]) {
    const settingsKeys = followSettingsKeys(options);
    return { settingsKeys, stop: settingsKeys.stop };
  },
};

/** What every part of a master may use, and what does not need the bus: name, keys, metrics, traces. */
export async function startBase(
  options: MasterOptions,
  parts: Pick<Parts<MasterView>, "start">,
  view: () => Partial<MasterView>,
): Promise<MasterDeps> {
  const { config, hostname, clock, random, log } = options;
  const { auth_dir: authDir } = config;
  const name = masterName(hostname, random);
  const keys = loadMasterKeys(authDir);
  const { settingsKeys } = await parts.start(settingsSeed, { authDir, keys: keys.settings, clock, log });
  await parts.start(keyFiles, { authDir, settingsKeys, log });
  const { keyring } = await parts.start(commandKeys, { authDir, keys: keys.command, clock, log });
  const { accountKeys } = await parts.start(accountSigning, {
    ...{ authDir, keys: keys.accountSigning, account: keys.account, clock, log },
  });
  const { tracer } = await parts.start(tracing, {
    service: "svc-master",
    ...{ instance: name, config, clock, log },
  });
  const metrics = createMasterMetrics(view);
  return {
    ...options,
    ...{ name, tracer, keys, keyring, accountKeys, settingsKeys },
    awaited: new Map(),
    metrics,
    budgets: createOperatorBudgets({
      ...{ onLimited: metrics.operatorLimited, clock, log },
      ...defined({ limits: options.operatorLimits }),
    }),
    signedReads: { required: config["operators.require_signed"], judge: undefined },
  };
}
