import { rfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { type Enrollment, type EnrollmentState, findByPeel, trustOf } from "../../fleet/enrollment/mod.ts";
import { decodeJob } from "../../fleet/jobs/mod.ts";
import { type Finding, judgeEnd, type Step } from "../../program/diagnosis/mod.ts";
import { bucketOf, type DoctorContext } from "./context.ts";

/** Peels publish their facts at least this often. */
const oldFactsMs = 24 * 3600_000;

/** The finding for each enrollment state. */
const meanings: Record<EnrollmentState, (record: Enrollment) => Finding> = {
  pending: ({ id }) => ({
    level: "fail",
    message: "pending: waits for a decision",
    next: `svc enroll show ${id}, then svc enroll approve ${id}`,
  }),
  approved: ({ id }) => ({
    level: "fail",
    message: "approved, but the peel has not fetched its credentials",
    next: `check the log of the peel: it must reach a master; see svc enroll show ${id}`,
  }),
  rejected: ({ rejectReason }) => ({
    level: "fail",
    message: `rejected${because(rejectReason)}`,
    next: "restart the peel to enroll it again",
  }),
  issued: () => ({
    level: "warn",
    message: "the peel fetched its credentials, but has not connected since",
    next: "run svc-peel check on its host: it may be unable to reach the bus",
  }),
  active: () => ({ level: "ok", message: "active" }),
  revoked: ({ revokeReason, revokedAt }) => ({
    level: "fail",
    message: `revoked${revokedAt === undefined ? "" : ` at ${rfc3339(revokedAt)}`}${because(revokeReason)}`,
    next: "to enroll it again, delete its .creds file on the host, and restart the peel",
  }),
};

const because = (reason: string | undefined) => (reason === undefined || reason === "" ? "" : `: ${reason}`);

/** All checks of one peel that are possible from this machine. @param peel its encoded id */
export function peelSteps(peel: string): readonly Step<DoctorContext>[] {
  const name = displayPeelId(peel);
  const recordOf = async (context: DoctorContext) => {
    const found = await findByPeel(await bucketOf(context, "enrollments"), peel);
    if (found?.current !== undefined) return found.current.record;
    throw new SvcError("not_found", `${name} has never enrolled`);
  };
  return [
    {
      name: "enrollment",
      needs: ["storage"],
      next: "correct the name (svc enroll list --state all), or run svc-peel check on its host",
      async look(context) {
        const record = await recordOf(context);
        return meanings[record.state](record);
      },
    },
    {
      name: "trust",
      needs: ["storage"],
      async look(context) {
        const record = await recordOf(context).catch(() => undefined);
        if (record === undefined) return { level: "skip", message: "no enrollment to check" };
        const trust = trustOf(record);
        if (trust !== "MISMATCH!") {
          return {
            level: "ok",
            message: trust === "ok" ? "it trusts this fleet's CA" : "it did not report its CA",
          };
        }
        return {
          level: "fail",
          message: "the peel trusted another CA than this fleet's: there may be a man in the middle",
          next: "before you approve it, compare svc ca fingerprint with enroll-ca.crt on the host",
        };
      },
    },
    {
      name: "peel credentials",
      needs: ["enrollment"],
      async look(context) {
        const { credsExpiresAt } = await recordOf(context);
        const renew = "revoke the enrollment, and restart the peel: it enrolls again";
        return judgeEnd("its JWT", credsExpiresAt, context.clock.now(), renew);
      },
    },
    {
      name: "heartbeat",
      needs: ["enrollment"],
      async look(context) {
        const beat = await (await bucketOf(context, "peel-heartbeat")).get(peel);
        if (beat !== undefined) {
          return { level: "ok", message: `${ageOf(beat.storedAt, context)} ago` };
        }
        return {
          level: "fail",
          message: "none for 30 s: the peel is not connected",
          next: "on its host: systemctl status svc-peel, then svc-peel check",
        };
      },
    },
    {
      name: "facts",
      needs: ["enrollment"],
      async look(context) {
        const facts = await (await bucketOf(context, "facts")).get(peel);
        const next = "check the log of the peel; its facts are stored when it connects";
        if (facts === undefined) return { level: "warn", message: "no facts are stored", next };
        const old = context.clock.now() - facts.storedAt > oldFactsMs;
        const message = `stored ${ageOf(facts.storedAt, context)} ago`;
        return old ? { level: "warn", message, next } : { level: "ok", message };
      },
    },
    {
      name: "last job",
      needs: ["enrollment"],
      async look(context) {
        const entries = await (await bucketOf(context, "jobs")).entries();
        const jobs = entries.map(({ value }) => decodeJob(value));
        const last = jobs
          .filter(({ targets }) => targets.includes(peel))
          .sort((one, other) => other.createdAt - one.createdAt)[0];
        if (last === undefined) return { level: "ok", message: "none within 7 days" };
        const status = last.settled?.status ?? "running";
        const message = `${last.jid} ${last.function}: ${status}`;
        if (status !== "failed") return { level: "ok", message };
        return { level: "warn", message, next: `svc job show ${last.jid}` };
      },
    },
  ];
}

function ageOf(storedAt: number, { clock }: DoctorContext): string {
  return formatDuration(Math.max(0, Math.round((clock.now() - storedAt) / 1000) * 1000));
}
