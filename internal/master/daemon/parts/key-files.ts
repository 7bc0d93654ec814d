import { describeError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { findOpenSecrets } from "../../../program/diagnosis/mod.ts";
import type { CheckResult } from "../../../program/health/mod.ts";

/** Whether others than the user of the master can read its secrets. They may be changed while it runs. */
export const keyFiles = {
  start({ authDir, log }: { authDir: string; log: Log }) {
    const judge = () => judgeKeys(authDir);
    const { status, message, next } = judge();
    if (status !== "up") log.warn("others can read the keys of this master", { reason: message, next });
    return { checks: { keys: judge }, stop() {} };
  },
};

function judgeKeys(authDir: string): CheckResult {
  try {
    const { level, message, next = "" } = findOpenSecrets(authDir);
    return level === "ok" ? { status: "up" } : { status: "degraded", message, next };
  } catch (thrown) {
    // It has read them, and serves with what it read.
    return { status: "degraded", message: describeError(thrown) };
  }
}
