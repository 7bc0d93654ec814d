import { abortable } from "../../base/abortable.ts";
import { rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError, toSvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import { hasFailed } from "../../fleet/masters/mod.ts";
import type { RolloutSummary } from "../../fleet/rollout/mod.ts";
import { soonMs } from "../../program/diagnosis/mod.ts";
import type {
  Candidate,
  FleetReads,
  ForeignConsumer,
  Masters,
  PeelSurvey,
  StateFiles,
  Stray,
} from "../fleet-reads.ts";
import { limitedSources } from "../limited-sources.ts";
import { notesOnReleases } from "../release-notes.ts";
import { NoMaster } from "../request.ts";

/** The state of a fleet. */
export interface FleetStatus {
  peels: Omit<PeelSurvey, "suspended" | "clones" | "copied" | "credentials" | "ending">;
  pending: EnrollmentSummary[];
  /** Members that are kept off the bus. */
  suspended: PeelSurvey["suspended"];
  /** Members whose identity two hosts appear to hold. */
  clones: PeelSurvey["clones"];
  /** Members of which a copy of the host asked to join within a day. */
  copied: NonNullable<PeelSurvey["copied"]>;
  /** Members whose credentials have ended, or end soon: peels renew them by themselves. */
  credentials: PeelSurvey["credentials"];
  /** Users of the bus that are refused because no valid record has their key. */
  strays: Omit<Stray, "creds_expires_at">[];
  jobs: Awaited<ReturnType<FleetReads["jobs"]>>;
  /** State files that wait for a release. */
  candidates: Candidate[];
  /** Unfinished rollouts, oldest first. */
  rollouts: RolloutSummary[];
  /** With what each says of itself. */
  masters: (Omit<Masters["masters"][number], "since" | "answers" | "leases" | "rollouts" | "keys"> & {
    started_at: string;
  })[];
  leases: Masters["leases"];
  /** The state files in force, and what is refused. */
  files: StateFiles;
  /** Expiries within 30 days, earliest first. */
  ending: { what: string; ends_at: string }[];
  /** What was not read, or may not be: of that, the fields above say nothing. */
  not_shown: StatusPart[];
  /** Remarks for the operator. */
  notes: string[];
}

/** How many parts there are while storage is not examined. */
const allParts = 7;

/** What is read on its own. */
export type StatusPart =
  | ("masters" | "storage" | "peels" | "pending enrollments" | "strays")
  | ("jobs" | "rollouts" | "state files");

const nothing: PeelSurvey = {
  ...{ states: {}, alive: 0, silent: [], silent_count: 0, versions: {}, wrong_clocks: [], refusing: [] },
  without_health: [],
  insisting: 0,
  ...{
    suspended: [],
    clones: [],
    credentials: { ended: 0, within_7_days: 0, within_30_days: 0 },
    ending: [],
  },
};
const unknown: Masters = { masters: [], leases: [] };
const noFiles: StateFiles = { environments: [] };

/** An operator who may not see these sees the rest. */
async function readOptional({ foreignConsumers, candidates }: FleetReads, late: AbortSignal) {
  const read = <T>(reading: (() => Promise<T[]>) | undefined): Promise<T[]> | T[] =>
    reading === undefined ? [] : abortable(reading(), late).catch(() => []);
  const [foreign, waiting] = await Promise.all([read(foreignConsumers), read(candidates)]);
  return { foreign, candidates: waiting };
}

/** Masters of the version before say nothing of them, and neither does what is stored. */
const readFiles = async ({ files }: FleetReads): Promise<StateFiles> => {
  if (files === undefined) return noFiles;
  return files().catch((thrown) => {
    if (thrown instanceof NoMaster) return noFiles;
    throw thrown;
  });
};

/**
 * Reads the state of a fleet. What does not answer is missing, and named in the notes.
 *
 * @param options.certificateEnds expiry of the certificate of the bus server, milliseconds since the Unix epoch; absent
 *   when it is not known
 * @param options.late when it aborts, what was not read by then is missing
 * @param options.now milliseconds since the Unix epoch
 * @throws SvcError `unavailable` when no master answers
 * @returns also whether something did not answer, or a master is not ready
 */
export async function readStatus(
  reads: FleetReads,
  options: { certificateEnds: number | undefined; late: AbortSignal; now: number },
): Promise<{ status: FleetStatus; failed: boolean }> {
  const { certificateEnds, late, now } = options;
  const notes: string[] = [];
  let failed = false;
  const missing = new Set<StatusPart>();
  const part = <T>(what: StatusPart, reading: Promise<T>, otherwise: T): Promise<T> =>
    abortable(reading, late).catch((thrown) => {
      if (thrown instanceof NoMaster) throw thrown.waiting === undefined ? nobody() : thrown;
      failed ||= toSvcError(thrown).kind !== "forbidden";
      missing.add(what);
      const reason = thrown instanceof SvcError ? thrown.message : describeError(thrown);
      notes.push(`cannot show ${what}: ${reason}`);
      return otherwise;
    });
  const [{ foreign, candidates }, masters, survey, pending, strays, jobs, rollouts, files] =
    await Promise.all([
      readOptional(reads, late),
      part("masters", reads.masters(), unknown),
      part("peels", reads.survey(), nothing),
      part("pending enrollments", reads.pending(), []),
      part("strays", reads.strays(), []),
      part("jobs", reads.jobs(), []),
      part("rollouts", reads.rollouts(), []),
      part("state files", readFiles(reads), noFiles),
    ]);
  notes.push(
    ...notesOnReleases(survey, now),
    ...notesOnMasters(masters),
    ...limitedSources(masters)
      .slice(0, maxLimited)
      .map(({ message, next }) => `${message}; ${next}`),
    ...foreign.slice(0, maxForeign).map(noteOnForeign),
  );
  if (masters !== unknown && masters.masters.length === 0) {
    const problem = await part(
      "storage",
      reads.probe().then((found) => found.problem),
      undefined,
    );
    failed ||= problem !== undefined;
    notes.push(
      problem === undefined
        ? "no master is running: enrollments, jobs and revocations are not processed"
        : `masters cannot store their heartbeats: ${problem}`,
    );
  }
  const { suspended, clones, copied = [], credentials, ending, ...peels } = survey;
  const status: FleetStatus = {
    ...{ peels, pending, suspended, clones, copied, credentials, strays, jobs, candidates, rollouts },
    masters: masters.masters.map(({ since, answers: _, leases: __, rollouts: ___, keys: ____, ...one }) => ({
      ...one,
      started_at: since,
    })),
    leases: masters.leases,
    files,
    ending: endingOf(masters, ending, certificateEnds, now),
    not_shown: [...missing],
    notes,
  };
  // Who may see nothing at all has the wrong credentials, or too few roles.
  const isEmpty = missing.size >= allParts;
  return { status, failed: failed || isEmpty || masters.masters.some(hasFailed) };
}

const nobody = () =>
  new SvcError(
    "unavailable",
    "no master is answering: start svc-master, or see what is stored with svc status --direct",
  );

/** How many limited sources are named. */
const maxLimited = 5;

/** How many foreign consumers are named; `svc bus lint` names all. */
const maxForeign = 5;

function noteOnForeign({ stream, name, delivers_to: to }: ForeignConsumer): string {
  const where = to === undefined ? "" : `, which has the bus publish to ${to}`;
  return `no master made the consumer ${name} of ${stream}${where}: see svc bus lint`;
}

function notesOnMasters({ masters }: Masters): string[] {
  return masters.flatMap(({ name, readiness, reason, next, health }) => [
    ...(readiness === "up"
      ? []
      : [
          `master ${name} is ${readiness}: ${reason ?? "no reason given"}${next === undefined ? "" : `; next: ${next}`}`,
        ]),
    ...(health === "off"
      ? [`master ${name} serves no health and no metrics: another program listens on its health_addr`]
      : []),
  ]);
}

function endingOf(
  { masters }: Masters,
  members: PeelSurvey["ending"],
  certificateEnds: number | undefined,
  now: number,
): FleetStatus["ending"] {
  const ends = [
    { what: "certificate of the bus", at: certificateEnds ?? Number.NaN },
    ...masters.map(({ name, certificate_ends_at }) => ({
      what: `certificate of the master ${name}`,
      at: Date.parse(certificate_ends_at ?? ""),
    })),
    ...members.map(({ peel_id, ends_at }) => ({
      what: `credentials of ${displayPeelId(peel_id)}`,
      at: Date.parse(ends_at),
    })),
  ];
  return ends
    .filter(({ at }) => at - now < soonMs)
    .sort((one, other) => one.at - other.at)
    .map(({ what, at }) => ({ what, ends_at: rfc3339(at) }));
}
