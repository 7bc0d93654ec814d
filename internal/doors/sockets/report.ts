import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { closeReasons } from "./table.ts";

const reportEveryMs = 60_000;

/** Why the listener closed a connection. */
export const frontReasons = [...closeReasons, "handshake_time"] as const;
export type FrontReason = (typeof frontReasons)[number];

/** Counts what is closed, and logs it at most once a minute: strangers must not fill the log. */
export function createReport({
  onClosed,
  clock,
  log,
}: {
  onClosed(reason: FrontReason, ip: string): void;
  clock: Pick<Clock, "monotonic">;
  log: Log;
}): (reason: FrontReason, ip: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (reason, ip) => {
    onClosed(reason, ip);
    since++;
    const now = clock.monotonic();
    if (now - reportedAt < reportEveryMs) return;
    log.warn("connections were closed", { reason, source_ip: ip, connections: since });
    reportedAt = now;
    since = 0;
  };
}
