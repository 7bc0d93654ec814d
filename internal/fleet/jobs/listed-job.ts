import { createBoundedMap } from "../../base/bounded-map.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { type Content, content } from "../../wire/content.ts";
import { argsText } from "./args-text.ts";
import type { Job, JobSource, JobStatus, JobSummary, Outcome } from "./records/mod.ts";
import type { TargetSet, TargetSets } from "./target-sets.ts";

/** Texts that are shared. */
const maxTexts = 16_384;

/** What a master keeps of a job to list it: there are many, so most of it is shared with others. */
export interface ListedJob {
  readonly jid: string;
  readonly function: string;
  /** The beginning of its arguments, for people. */
  readonly argsText: string | undefined;
  readonly target: string | undefined;
  readonly schedule: string | undefined;
  readonly source: JobSource | undefined;
  readonly targets: number;
  readonly sentTo: TargetSet;
  readonly status: JobStatus;
  readonly counts: Readonly<Partial<Record<Outcome, number>>>;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly createdBy: string;
  readonly finishedAt: number | undefined;
  /** The files that it was accepted for. */
  readonly content: Content | undefined;
}

/** Makes what is kept of a job. Equal texts and counts are kept once. */
export function createLister(sets: TargetSets): (job: Job) => ListedJob {
  const texts = createBoundedMap<string>(maxTexts);
  const counts = createBoundedMap<ListedJob["counts"]>(maxTexts);
  const contents = createBoundedMap<Content>(maxTexts);
  const share = (text: string) => texts.get(text) ?? texts.set(text, copy(text));
  const shareIf = (text: string | undefined) => (text === undefined ? undefined : share(text));
  const shareCounts = (found: ListedJob["counts"]) => {
    const key = JSON.stringify(found);
    return counts.get(key) ?? counts.set(key, found);
  };
  const shareContent = (found: Content | undefined) => {
    const key = JSON.stringify(found);
    // From the text: what was read from a record is a part of it.
    return found && (contents.get(key) ?? contents.set(key, JSON.parse(key)));
  };
  return (job) => ({
    jid: copy(job.jid),
    function: share(job.function),
    argsText: shareIf(argsText(job.args)),
    target: shareIf(job.target),
    schedule: shareIf(job.schedule),
    source: job.source,
    targets: job.targets.length,
    sentTo: sets.retain(job.targets),
    status: job.settled?.status ?? "running",
    counts: shareCounts(job.settled?.counts ?? {}),
    createdAt: job.createdAt,
    createdBy: share(job.createdBy),
    finishedAt: job.settled?.finishedAt,
    content: shareContent(job.content),
  });
}

/** A text that was read from a record may be a part of that, and would keep all of it in memory. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}

/** A job as lists show it. */
export function summaryOf(job: ListedJob): JobSummary {
  return {
    jid: job.jid,
    function: job.function,
    ...defined({ args_text: job.argsText, target: job.target, schedule: job.schedule, source: job.source }),
    targets: job.targets,
    status: job.status,
    counts: { ...job.counts },
    created_at: rfc3339(job.createdAt),
    created_by: job.createdBy,
    ...(job.finishedAt === undefined ? {} : { finished_at: rfc3339(job.finishedAt) }),
    ...defined({ content: job.content && content.show(job.content) }),
  };
}
