import { rfc3339 } from "../../base/clock.ts";
import { sayDuration } from "../../base/duration.ts";
import { toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  awaitsRecovery,
  type Enrollment,
  type EnrollmentState,
  fromStored,
  trustOf,
} from "../../fleet/enrollment/record/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { clockDifferenceOf } from "../../fleet/peels/mod.ts";
import type { Finding, Step } from "../../program/diagnosis/mod.ts";
import { differenceWords } from "../clock-difference.ts";
import { request } from "../request.ts";
import { judgeAdministrators } from "./administrators.ts";
import { judgeCommandKeys } from "./command-keys.ts";
import type { DoctorContext } from "./context.ts";
import { judgeClone, judgeCredentials, recoveryWindowOf } from "./credentials.ts";
import { readReportedTrust, readWeakSecrets } from "./reported.ts";
import { judgeRoots } from "./roots.ts";
import { judgeStatements } from "./statements.ts";

/** Peels publish their facts at least this often. */
const oldFactsMs = 24 * 3600_000;

/** The finding for each enrollment state. */
const meanings: Record<EnrollmentState, (record: Enrollment) => Finding> = {
  pending: ({ id }) => ({
    level: "fail",
    message: "pending: waits for a decision",
    next: `svc enroll show ${id}, then svc enroll approve ${id}`,
  }),
  approved: (record) =>
    awaitsRecovery(record)
      ? {
          level: "fail",
          message: "taken over by a succession, and the peel has not joined this fleet yet",
          next: "on its host: svc-peel check, which says whether it accepts the statement of succession, and why not",
        }
      : {
          level: "fail",
          message: "approved, but the peel has not fetched its credentials",
          next: "on its host: systemctl status svc-peel, then svc-peel check: it must reach a master over HTTPS",
        },
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
  revoked: ({ peelId, revokeReason, revokedAt }) => ({
    level: "fail",
    message: `revoked${revokedAt === undefined ? "" : ` at ${rfc3339(revokedAt)}`}${because(revokeReason)}`,
    next: `to enroll it again: on its host, stop svc-peel, delete ${peelId}.creds and ${peelId}.enrollment in its auth_dir, and start it`,
  }),
};

const because = (reason: string | undefined) => (reason === undefined || reason === "" ? "" : `: ${reason}`);

/** What is known of one peel, read once for all steps. */
function readsOf(peel: string) {
  const facts = shared(async ({ reads }) =>
    (await reads()).facts(peel).catch((thrown) => {
      if (toSvcError(thrown).kind === "not_found") return undefined;
      throw thrown;
    }),
  );
  const instance = shared(async ({ reads }) => (await reads()).heartbeat(peel));
  return {
    record: shared(async ({ reads }) => fromStored((await (await reads()).enrollment({ peel })).enrollment)),
    instance,
    beat: async (context: DoctorContext) => (await instance(context)).heartbeat,
    facts,
    async report(context: DoctorContext) {
      const found = await facts(context);
      return found === undefined ? undefined : readReportedTrust(found.value);
    },
  };
}

type PeelReads = ReturnType<typeof readsOf>;

/** All checks of one peel that are possible from this machine. @param peel its encoded id */
export function peelSteps(peel: string): readonly Step<DoctorContext>[] {
  const reads = readsOf(peel);
  return [
    {
      name: "enrollment",
      needs: ["storage"],
      next: "correct the name (svc enroll list --state all), or run svc-peel check on its host",
      async check(context) {
        const record = await reads.record(context);
        return meanings[record.state](record);
      },
    },
    { name: "trust", needs: ["storage"], check: (context) => judgeTrust(reads, context) },
    ...stepsOfRecord(reads),
    ...stepsOfReports(reads),
    { ...needsEnrollment("last job"), check: (context) => judgeLastJob(peel, context) },
  ];
}

const needsEnrollment = (name: string, next = "see the step storage") => ({
  ...{ name, needs: ["enrollment"], next },
});

/** What the record of the enrollment and the masters say. */
const stepsOfRecord = ({ record, beat, instance, report }: PeelReads): readonly Step<DoctorContext>[] => [
  {
    ...needsEnrollment("peel credentials"),
    async check(context) {
      const window = recoveryWindowOf((await context.masters()).masters);
      return judgeCredentials(await record(context), context.clock.now(), window);
    },
  },
  {
    ...needsEnrollment("clone"),
    check: async (context) => judgeClone(await record(context), await instance(context), context.clock.now()),
  },
  {
    ...needsEnrollment("root", "see svc ca rotate status"),
    async check(context) {
      const isAlive = (await beat(context)) !== undefined;
      return judgeRoots(await report(context), (await context.masters()).masters, isAlive);
    },
  },
];

/** What the peel itself reports. */
const stepsOfReports = ({ beat, report, facts }: PeelReads): readonly Step<DoctorContext>[] => [
  {
    ...needsEnrollment("command keys", "see svc keys status"),
    async check(context) {
      const { masters } = await context.masters();
      return judgeCommandKeys(
        await beat(context),
        masters.map(({ keys }) => keys),
      );
    },
  },
  {
    ...needsEnrollment("administrators", "see svc operator administrators"),
    async check(context) {
      const own = await beat(context);
      const needsFleet = own?.administrators !== undefined && own.administrators !== "";
      const fleet = needsFleet ? await readAdministrators(await context.connect()) : undefined;
      return judgeAdministrators(own, fleet);
    },
  },
  {
    ...needsEnrollment("statements"),
    check: async (context) => judgeStatements(await report(context)),
  },
  {
    ...needsEnrollment("heartbeat"),
    check: async (context) => judgeHeartbeat(await beat(context), context),
  },
  { ...needsEnrollment("facts"), check: async (context) => judgeFacts(await facts(context), context) },
];

async function judgeTrust({ record: recordOf }: PeelReads, context: DoctorContext): Promise<Finding> {
  const record = await recordOf(context).catch(() => undefined);
  if (record === undefined)
    return { level: "skip", message: "no enrollment to check", next: "see the step enrollment" };
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
}

function judgeHeartbeat(beat: Awaited<ReturnType<PeelReads["beat"]>>, context: DoctorContext): Finding {
  if (beat === undefined) {
    return {
      level: "fail",
      message: "none for 30 s: the peel is not connected",
      next: "on its host: systemctl status svc-peel, then svc-peel check",
    };
  }
  const message = `${ageOf(beat.stored_at, context)} ago`;
  if (beat.disk === "full") {
    return {
      level: "fail",
      message: `${message}, and its data directory has no room: it takes no job that changes something`,
      next: "make room on the disk of its data directory (/var/lib/svc by default), on its host: it continues by itself",
    };
  }
  const difference = clockDifferenceOf({ ...beat, storedAt: beat.stored_at });
  if (difference === undefined) return { level: "ok", message };
  return {
    level: "fail",
    message: `${message}, and its clock is ${differenceWords(difference)} of the clock of the bus`,
    next: "set the clock of its host (timedatectl set-ntp true): jobs expire by it",
  };
}

function judgeFacts(facts: Awaited<ReturnType<PeelReads["facts"]>>, context: DoctorContext): Finding {
  const next = "on its host: systemctl restart svc-peel: it stores its facts when it connects";
  if (facts === undefined) return { level: "warn", message: "no facts are stored", next };
  const storedAt = Date.parse(facts.stored_at);
  const old = context.clock.now() - storedAt > oldFactsMs;
  const weak = readWeakSecrets(facts.value);
  const weakly = weak === "" ? "" : `; secrets of its settings are too weak to be masked: ${weak}`;
  const message = `stored ${ageOf(storedAt, context)} ago${weakly}`;
  if (!old && weak !== "") {
    return {
      level: "warn",
      message,
      next: "use values of at least 10 characters, which nothing on the host is named",
    };
  }
  return old ? { level: "warn", message, next } : { level: "ok", message };
}

async function judgeLastJob(peel: string, context: DoctorContext): Promise<Finding> {
  const last = await (await context.reads()).lastJob(peel);
  if (last === undefined) return { level: "ok", message: "none within 7 days" };
  const message = `${last.jid} ${last.function}: ${last.status}`;
  if (last.status !== "failed") return { level: "ok", message };
  return { level: "warn", message, next: `svc job show ${last.jid}` };
}

/** Reads once for all steps. */
function shared<T>(read: (context: DoctorContext) => Promise<T>): (context: DoctorContext) => Promise<T> {
  let reading: Promise<T> | undefined;
  return (context) => {
    reading ??= read(context);
    return reading;
  };
}

/** What the masters say; `undefined` where none answers, or this operator may not ask. */
function readAdministrators(bus: Bus) {
  return request(bus, operatorOperations.showAdministrators, {}, { isHasty: true }).catch(() => undefined);
}

function ageOf(storedAt: number, { clock }: DoctorContext): string {
  return sayDuration(Math.max(0, Math.round((clock.now() - storedAt) / 1000) * 1000));
}
