import type { Account } from "./process.ts";

/** Where programs are looked for, whatever the daemon itself was started with. */
export const programPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The environment that every program starts from. The daemon's own is not passed on: it may hold settings
 * of the runtime, proxies and secrets that are nobody else's business.
 */
export function cleanEnvironment(account: Account | undefined): Record<string, string> {
  const whose =
    account === undefined
      ? { HOME: "/" }
      : { HOME: account.home, USER: account.name, LOGNAME: account.name, SHELL: account.shell };
  return { PATH: programPath, LANG: "C.UTF-8", ...whose };
}
