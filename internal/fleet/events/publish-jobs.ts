import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { append } from "../../bus/streams/mod.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import type { Content } from "../../wire/content.ts";
import { encodeServiceEvent } from "../../wire/peel-event.ts";
import { showReleased } from "../../wire/released-content.ts";
import type { Job } from "../jobs/records/mod.ts";
import { depthOf, masterSource } from "../reactor/events/mod.ts";
import { createBacklog } from "./backlog.ts";
import { createPublisher } from "./publisher.ts";

const maxRemembered = 20_000;

/** Reports that jobs were created, and that they ended. */
export interface JobTeller {
  /** A job as it is stored now. */
  note(job: Job): void;
  /** The jobs that were stored before this master started are known. */
  loaded(): void;
  stop(): Promise<void>;
}

/** What an event says of a job. */
type Reported = Pick<
  Job,
  "jid" | "function" | "target" | "createdBy" | "settled" | "content" | "released"
> & {
  targets: number;
  depth: number;
};

type ReleasedFiles = Pick<Content, "commit" | "snapshot"> & { peels?: readonly string[] };

/** The state files that a job or rollout runs, as an event names them. */
export function filesOf({
  content,
  released,
}: Pick<Job, "content"> & { released?: ReleasedFiles }): Record<string, Plain> {
  if (content === undefined) return {};
  const { environment, commit, snapshot } = content;
  return { content: { environment, commit, snapshot }, ...(released && { released: shownIn(released) }) };
}

/** The digest is text, as that of the content. A rollout names no peels: its jobs do. */
function shownIn({ commit, snapshot, peels }: ReleasedFiles): Record<string, Plain> {
  return { ...(peels && showReleased({ commit, snapshot, peels })), commit, snapshot };
}

/**
 * Every master sees every job and reports it. Each report has a subject of its own on which the stream takes one
 * message, so that there is one report, and it does not depend on a single master.
 */
export function publishJobs({ bus, clock, log }: { bus: Bus; clock: Clock; log: Log }): JobTeller {
  const publisher = createPublisher({ clock, log });
  const backlog = createBacklog<Reported>();
  /** How much of a job is published. */
  const reported = createBoundedMap<"created" | "ended">(2 * maxRemembered);
  let isLoaded = false;

  const store = async (what: "created" | "ended", job: Reported, data: Record<string, Plain>) => {
    const { jid, createdBy } = job;
    const message = encodeServiceEvent({
      data: { jid, function: job.function, ...data, ...filesOf(job), created_by: createdBy },
      source: masterSource,
      depth: job.depth,
    });
    await append(bus, eventSubject(masterSource, `svc.job.${jid}.${what}`), message, { after: 0 });
    reported.set(jid, what);
  };
  const report = (job: Reported) => {
    const { jid, targets, target, settled } = job;
    if (reported.get(jid) === "ended" || (reported.get(jid) === "created" && settled === undefined)) return;
    publisher.report(jid, async () => {
      if (reported.get(jid) === undefined) await store("created", job, { targets, ...defined({ target }) });
      if (settled === undefined || reported.get(jid) === "ended") return;
      const { status, counts } = settled;
      await store("ended", job, { status, counts: { ...defined(counts) } });
    });
  };
  return {
    note({ jid, function: name, target, targets, createdBy, createdAt, settled, metadata, ...job }) {
      // Its result is an event, and a tombstone never was a job.
      if (job.schedule !== undefined || job.forbidden === true) return;
      const { content, released } = job;
      const fields = { jid, function: name, createdBy, ...defined({ target, settled, content, released }) };
      const known: Reported = { ...fields, targets: targets.length, depth: depthOf(metadata) };
      if (isLoaded) report(known);
      else backlog.add(known, settled?.finishedAt ?? createdAt);
    },
    loaded() {
      isLoaded = true;
      for (const job of backlog.take(clock.now())) report(job);
    },
    stop: publisher.stop,
  };
}
