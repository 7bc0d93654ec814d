import { rfc3339 } from "../../base/clock.ts";
import { sayDuration } from "../../base/duration.ts";
import { recoverableUntil } from "../../fleet/enrollment/credentials/mod.ts";
import { type Enrollment, memberStates } from "../../fleet/enrollment/record/mod.ts";
import type { Finding } from "../../program/diagnosis/mod.ts";
import { settleCopy } from "./identities.ts";

/** The default of `enroll.recovery_window`, where no master reports its own. */
const usualWindowMs = 8_760 * 3600_000;
const dayMs = 24 * 3600_000;
/** A peel renews at two thirds of the lifetime, at most a tenth later. */
const renewsBy = 2 / 3 + 1 / 10;

type Credentials = Pick<
  Enrollment,
  "id" | "state" | "issuedAt" | "renewedAt" | "recoveredAt" | "credsExpiresAt" | "renewals"
>;

/** What running masters report of `enroll.recovery_window`. */
export interface RecoveryWindow {
  ms: number;
  /** Words for the window in a message. */
  named: string;
}

/**
 * The window that every running master grants.
 *
 * @param masters their heartbeats
 */
export function recoveryWindowOf(
  masters: readonly { recovery_window_ms?: number | undefined }[],
): RecoveryWindow {
  const reported = masters.flatMap(({ recovery_window_ms }) => recovery_window_ms ?? []);
  if (reported.length === 0) return { ms: usualWindowMs, named: "the usual enroll.recovery_window" };
  return { ms: Math.min(...reported), named: "the enroll.recovery_window of the masters" };
}

/** Whether a peel renews its credentials in time, or may recover them. */
export function judgeCredentials(record: Credentials, now: number, window: RecoveryWindow): Finding {
  const { id, credsExpiresAt } = record;
  if (credsExpiresAt === undefined) {
    return { level: "skip", message: "it has no credentials yet", next: "see the step enrollment" };
  }
  if (!memberStates.has(record.state)) {
    return { level: "skip", message: `the enrollment is ${record.state}`, next: "see the step enrollment" };
  }
  const ends = rfc3339(credsExpiresAt);
  if (credsExpiresAt <= now) {
    const until = recoverableUntil(record, window.ms);
    const again = `revoke the enrollment ${id}, and enroll the peel again`;
    if (until === undefined) {
      return {
        level: "fail",
        message: `its credentials ended at ${ends}, and enroll.recovery_window is 0: it cannot recover them`,
        next: again,
      };
    }
    if (until < now) {
      return {
        level: "fail",
        message: `its credentials ended at ${ends}, longer ago than ${window.named}`,
        next: again,
      };
    }
    return {
      level: "fail",
      message: `its credentials ended at ${ends}; it may recover them until ${rfc3339(until)}, by ${window.named}`,
      next: "start the peel on its host: it recovers by itself when it reaches a master over HTTPS; svc-peel check finds out what is wrong",
    };
  }
  const since = Math.max(record.issuedAt ?? 0, record.renewedAt ?? 0, record.recoveredAt ?? 0);
  const message = `valid until ${ends}, renewed ${record.renewals ?? 0} times`;
  const dueAt = since + (credsExpiresAt - since) * renewsBy;
  if (since === 0 || now <= dueAt) return { level: "ok", message };
  return {
    level: "warn",
    message: `${message}; the renewal is due since ${sayDuration(Math.floor((now - dueAt) / 1000) * 1000)}, and failed or was not tried`,
    next: "on its host: svc-peel check; once what it names is corrected, the peel renews by itself",
  };
}

/** What masters saw of the processes of a peel. */
interface Instances {
  one_instance_since?: string;
  restored_at?: string;
}

/** Whether two hosts appear to hold the identity of the peel. A copy that does not run is not seen. */
export function judgeClone(
  { id, cloneSuspected, cloneSeenAt, copiedAt }: Enrollment,
  { one_instance_since: since, restored_at: restoredAt }: Instances,
  now: number,
): Finding {
  if (cloneSuspected !== true && copiedAt !== undefined && now - copiedAt < dayMs) {
    return {
      level: "warn",
      message: `a copy of its host asked to join at ${rfc3339(copiedAt)}, with a key of its own`,
      next: settleCopy(id),
    };
  }
  if (cloneSuspected !== true) {
    const only =
      since === undefined
        ? "no message of it named its process yet: until then, only a renewal shows a second host"
        : `only one instance of it was seen since ${since}`;
    const restored =
      restoredAt === undefined ? "" : `; its host was set back to an earlier state at ${restoredAt}`;
    return { level: "ok", message: `${only}${restored}` };
  }
  const seen = cloneSeenAt === undefined ? "" : `, last seen at ${rfc3339(cloneSeenAt)}`;
  return {
    level: "fail",
    message: `another host holds the identity of this peel${seen}: its data directory was copied`,
    next: `find the other host; then svc enroll clear-clone ${id}, or svc enroll revoke ${id} if the seed was stolen`,
  };
}
