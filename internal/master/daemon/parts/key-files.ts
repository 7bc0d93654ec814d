import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { findOpenSecrets } from "../../../program/diagnosis/mod.ts";
import type { CheckResult } from "../../../program/health/mod.ts";
import { judgeSettingsKeys, type SettingsKeys } from "../../keys/mod.ts";

interface KeyFilesNeed {
  authDir: string;
  settingsKeys: SettingsKeys;
  log: Log;
}

/** Whether its secrets are there, and whether others can read them. They may be changed while it runs. */
export const keyFiles = {
  start({ authDir, settingsKeys, log }: KeyFilesNeed) {
    const judge = () => {
      const open = judgeModes(authDir);
      return open.status === "up" ? judgeSettingsKeys(settingsKeys, authDir) : open;
    };
    const { status, message, next } = judge();
    if (status !== "up") log.warn("the keys of this master are not in order", { reason: message, next });
    return { checks: { keys: judge }, stop() {} };
  },
};

function judgeModes(authDir: string): CheckResult {
  try {
    const { level, message, next = "" } = findOpenSecrets(authDir);
    return level === "ok" ? { status: "up" } : { status: "degraded", message, next };
  } catch (thrown) {
    // It has read them, and serves with what it read.
    return { status: "degraded", message: describeError(thrown) };
  }
}
