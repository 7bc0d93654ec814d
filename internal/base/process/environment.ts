import type { Account } from "./process.ts";

/** Where programs are looked up, independent of the daemon's own PATH. */
export const programPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The base environment of every program. The daemon's own environment is not passed on: it may hold
 * settings of the runtime, proxies and secrets.
 */
export function cleanEnvironment(account: Account | undefined): Record<string, string> {
  const whose =
    account === undefined
      ? { HOME: "/" }
      : { HOME: account.home, USER: account.name, LOGNAME: account.name, SHELL: account.shell };
  return { PATH: programPath, LANG: "C.UTF-8", ...whose };
}
