import { type Outcome, outcomeOf } from "../../kit/outcome.ts";

/** The lanes of the timeline of a host. */
export const lanes = ["Enrollment", "Facts", "States", "Jobs"] as const;

/** Something that happened to a host. */
export interface Entry {
  lane: (typeof lanes)[number];
  /** Milliseconds since the Unix epoch. */
  at: number;
  outcome: Outcome;
  word: string;
  said: string;
  to: string;
}

/** What the timeline is made of; what may not be read is absent. */
export interface Sources {
  id: string;
  peel: {
    enrollment_id: string;
    silent_since?: string | undefined;
    last_run?: { run_at: string; status: string; environment: string; commit: string } | undefined;
  };
  /** With what became of them on this host, where that is known. */
  jobs?: readonly {
    jid: string;
    function: string;
    status: string;
    outcome?: string;
    created_at: string;
    created_by: string;
  }[];
  changes?: readonly { at: string; name: string }[];
  enrollment?: Readonly<Record<string, unknown>>;
}

const maxNamed = 4;

/** All of it, newest first. What states did is a job as well: it is in the lane of states. */
export function timelineOf({ id, peel, jobs = [], changes = [], enrollment = {} }: Sources): Entry[] {
  const entries: (Entry | undefined)[] = [
    ...jobs.map((job): Entry => {
      const isRun = job.function.startsWith("state.");
      return {
        ...{ lane: isRun ? "States" : "Jobs", at: Date.parse(job.created_at) },
        to: job.outcome === undefined ? `/jobs/${job.jid}` : `/jobs/${job.jid}/${id}`,
        ...{ outcome: outcomeOf(job.outcome ?? job.status), word: job.outcome ?? job.status },
        said: `${job.function} by ${job.created_by}`,
      };
    }),
    ...[...Map.groupBy(changes, ({ at }) => at)].map(([at, found]): Entry => {
      const names = found.slice(0, maxNamed).map(({ name }) => name);
      const more = found.length > names.length ? ` and ${found.length - names.length} more` : "";
      return {
        ...{ lane: "Facts", at: Date.parse(at), outcome: "changed", word: "changed" },
        ...{ said: `${names.join(", ")}${more}`, to: `/peels/${id}/facts` },
      };
    }),
    runEntry(id, peel.last_run),
    silenceEntry(id, peel.silent_since),
    ...enrollmentEntries(peel.enrollment_id, enrollment),
  ];
  return entries
    .filter((entry) => entry !== undefined)
    .filter(({ at }) => !Number.isNaN(at))
    .toSorted((one, other) => other.at - one.at);
}

function runEntry(id: string, run: Sources["peel"]["last_run"]): Entry | undefined {
  if (run === undefined) return undefined;
  const files = run.commit === "" ? run.environment : `${run.environment} at ${run.commit.slice(0, 12)}`;
  return {
    ...{ lane: "States", at: Date.parse(run.run_at), outcome: outcomeOf(run.status), word: run.status },
    ...{ said: `the last run of the states, of ${files}`, to: `/peels/${id}/states` },
  };
}

function silenceEntry(id: string, since: string | undefined): Entry | undefined {
  if (since === undefined) return undefined;
  return {
    ...{ lane: "Enrollment", at: Date.parse(since), outcome: "offline", word: "silent" },
    ...{ said: "its last heartbeat", to: `/peels/${id}` },
  };
}

/** The times that a record of an enrollment has, in the order of a life. */
const steps = [
  ["created_at", "running", "asked", "the host asked to join"],
  ["decided_at", "ok", "decided", "the request was decided"],
  ["activated_at", "ok", "active", "it connected for the first time"],
  ["renewed_at", "ok", "renewed", "its credentials were renewed"],
  ["recovered_at", "changed", "recovered", "it recovered its credentials"],
  ["rekeyed_at", "changed", "new keys", "it changed its keys"],
  ["clone_seen_at", "failed", "clone", "a second holder of its identity was seen"],
  ["copied_at", "failed", "copy", "a copy of the host asked to join"],
  ["revoked_at", "failed", "revoked", "it was revoked"],
] as const satisfies readonly (readonly [string, Outcome, string, string])[];

function enrollmentEntries(enrollmentId: string, record: Readonly<Record<string, unknown>>): Entry[] {
  return steps.flatMap(([field, outcome, word, said]): Entry[] => {
    const at = record[field];
    if (typeof at !== "string") return [];
    const to = `/enrollments/${enrollmentId}`;
    return [{ lane: "Enrollment", at: Date.parse(at), outcome, word, said, to }];
  });
}
