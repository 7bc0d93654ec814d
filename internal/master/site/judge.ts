import { rfc3339 } from "../../base/clock.ts";
import { remainingLife } from "../../identity/ca/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { HeldCertificate } from "./held-certificate.ts";

/** What keeps a bus server from getting another certificate. */
export interface Obstacle {
  reason: string;
  /** Whether it may pass by itself, as when no master answers. */
  mayPass: boolean;
}

/** A certificate with less of its life left should have been replaced. */
const minLife = 1 / 3;

/**
 * Judges the certificate of a bus server without a master: `certificate` of /readyz.
 *
 * @param obstacle of the last attempt, if that failed
 */
export function judgeBusCertificate(
  held: HeldCertificate | undefined,
  obstacle: Obstacle | undefined,
  now: number,
): CheckResult {
  const because = obstacle === undefined ? "" : `: ${obstacle.reason}`;
  if (held === undefined) return { status: "down", message: `nats-server.crt has no certificate${because}` };
  const end = rfc3339(held.until);
  if (held.until <= now) return { status: "down", message: `the certificate ended at ${end}${because}` };
  const isLate = remainingLife(held.from, held.until, now) < minLife;
  const message = `the certificate ends at ${end}${because}`;
  // While it lasts long, and came from masters before, a master may be away for a moment.
  const isTrouble = obstacle !== undefined && !(obstacle.mayPass && held.isOwn);
  return { status: isLate || isTrouble ? "degraded" : "up", message };
}
