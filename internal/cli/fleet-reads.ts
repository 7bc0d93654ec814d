import type { Bus } from "../bus/connection/mod.ts";
import { clusterOperations } from "../fleet/cluster/mod.ts";
import { enrollmentOperations } from "../fleet/enrollment/mod.ts";
import type { EnrollmentSummary } from "../fleet/enrollment/record/mod.ts";
import { jobOperations } from "../fleet/jobs/mod.ts";
import type { JobSummary } from "../fleet/jobs/records/mod.ts";
import { masterOperations } from "../fleet/masters/mod.ts";
import { peelOperations } from "../fleet/peels/mod.ts";
import { releaseOperations } from "../fleet/releases/mod.ts";
import { type RolloutSummary, rolloutOperations } from "../fleet/rollout/mod.ts";
import { allPages } from "./all-pages.ts";
import { type AnswerTo, request } from "./request.ts";

/** Below the 5 s in which a command must say that no master answers; a master asks each other one for 3 s at most. */
const timeoutMs = 4_000;
const page = 1_000;

export type Masters = AnswerTo<typeof masterOperations.listMasters>;
export type StorageProbe = AnswerTo<typeof masterOperations.probeStorage>;
export type PeelSurvey = AnswerTo<typeof peelOperations.surveyPeels>;
export type Stray = AnswerTo<typeof enrollmentOperations.listStrays>["strays"][number];
export type ForeignConsumer = AnswerTo<typeof clusterOperations.lintBus>["foreign"][number];
type Environment = AnswerTo<typeof releaseOperations.listReleases>["environments"][number];
/** State files that wait for a release. */
export type Candidate = { environment: string } & NonNullable<Environment["candidate"]>;
export type StateFiles = AnswerTo<typeof releaseOperations.listFiles>;
type Beat = AnswerTo<typeof peelOperations.showHeartbeat>;

/** What svc status and svc doctor read: from the masters, or from what is stored. */
export interface FleetReads {
  masters(): Promise<Masters>;
  probe(): Promise<StorageProbe>;
  survey(): Promise<PeelSurvey>;
  pending(): Promise<EnrollmentSummary[]>;
  strays(): Promise<Stray[]>;
  /** Those that run, without runs of schedules. */
  jobs(): Promise<Pick<JobSummary, "jid" | "function" | "targets" | "created_at" | "deadline" | "content">[]>;
  /** Those that have not ended, oldest first. */
  rollouts(): Promise<RolloutSummary[]>;
  /** One by its id, or the one of a peel that is in force, or its last one. */
  enrollment(
    which: { id: string } | { peel: string },
  ): Promise<AnswerTo<typeof enrollmentOperations.showEnrollment>>;
  heartbeat(peel: string): Promise<Beat>;
  /** @throws SvcError `not_found` for a peel that has none, or is not a member */
  facts(peel: string): Promise<AnswerTo<typeof peelOperations.getFacts>>;
  /** State files that wait for a release; absent where no master is contacted. */
  candidates?(): Promise<Candidate[]>;
  /** Consumers on the bus that no master made; absent where no master is contacted. */
  foreignConsumers?(): Promise<ForeignConsumer[]>;
  /** The state files in force, and what is refused; absent where no master is contacted. */
  files?(): Promise<StateFiles>;
  lastJob(peel: string): Promise<Pick<JobSummary, "jid" | "function" | "status"> | undefined>;
}

/** Reads through the masters. Each fails at once where none serves it. */
export function readFleet(bus: Bus): FleetReads {
  const at = { isHasty: true, timeoutMs } as const;
  const rollouts = (status: "running" | "paused") =>
    allPages(
      (after) => request(bus, rolloutOperations.listRollouts, { status, limit: page, ...after }, at),
      "rollouts",
    );
  return {
    masters: () => request(bus, masterOperations.listMasters, {}, at),
    probe: () => request(bus, masterOperations.probeStorage, {}, at),
    survey: () => request(bus, peelOperations.surveyPeels, {}, at),
    strays: async () => (await request(bus, enrollmentOperations.listStrays, {}, at)).strays,
    pending: () =>
      allPages(
        (after) => request(bus, enrollmentOperations.listEnrollments, { limit: page, ...after }, at),
        "enrollments",
      ),
    async jobs() {
      const requested = { status: "running", limit: page } as const;
      const found = await allPages(
        (after) => request(bus, jobOperations.listJobs, { ...requested, ...after }, at),
        "jobs",
      );
      return found.filter(({ schedule }) => schedule === undefined);
    },
    async rollouts() {
      const found = (await Promise.all([rollouts("running"), rollouts("paused")])).flat();
      return found.sort((one, other) => (one.created_at < other.created_at ? -1 : 1));
    },
    enrollment: (which) => request(bus, enrollmentOperations.showEnrollment, which, at),
    heartbeat: (id) => request(bus, peelOperations.showHeartbeat, { id }, at),
    facts: (id) => request(bus, peelOperations.getFacts, { id }, at),
    async candidates() {
      const { environments } = await request(bus, releaseOperations.listReleases, {}, at);
      return environments.flatMap(({ environment, candidate }) =>
        candidate === undefined ? [] : [{ environment, ...candidate }],
      );
    },
    foreignConsumers: async () => (await request(bus, clusterOperations.lintBus, {}, at)).foreign,
    files: () => request(bus, releaseOperations.listFiles, {}, at),
    lastJob: async (target) => (await request(bus, jobOperations.listJobs, { target, limit: 1 }, at)).jobs[0],
  };
}
