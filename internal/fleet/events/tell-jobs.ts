import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import type { Plain } from "../../base/msgpack.ts";
import { append, type Bus, eventSubject } from "../../bus/mod.ts";
import { encodeServiceEvent } from "../../wire/peel-event.ts";
import type { Job } from "../jobs/mod.ts";
import { depthOf, masterSource } from "../reactor/mod.ts";
import { createBacklog } from "./backlog.ts";
import { createTeller } from "./teller.ts";

const mostRemembered = 20_000;

/** Reports that jobs were created, and that they ended. */
export interface JobTeller {
  /** A job as it is stored now. */
  note(job: Job): void;
  /** The jobs that were stored before this master started are known. */
  loaded(): void;
  stop(): Promise<void>;
}

/** What an event says of a job. */
type Told = Pick<Job, "jid" | "function" | "target" | "createdBy" | "settled"> & {
  targets: number;
  depth: number;
};

/**
 * Every master sees every job and reports it. Each report has a subject of its own on which the stream takes one
 * message, so that there is one report, and it does not depend on a single master.
 */
export function tellJobs({ bus, clock, log }: { bus: Bus; clock: Clock; log: Log }): JobTeller {
  const teller = createTeller({ clock, log });
  const backlog = createBacklog<Told>();
  /** How much of a job is published. */
  const told = createBoundedMap<"created" | "ended">(2 * mostRemembered);
  let isLoaded = false;

  const store = async (what: "created" | "ended", job: Told, data: Record<string, Plain>) => {
    const { jid, createdBy } = job;
    const message = encodeServiceEvent({
      data: { jid, function: job.function, ...data, created_by: createdBy },
      source: masterSource,
      depth: job.depth,
    });
    await append(bus, eventSubject(masterSource, `svc.job.${jid}.${what}`), message, { after: 0 });
    told.set(jid, what);
  };
  const tell = (job: Told) => {
    const { jid, targets, target, settled } = job;
    if (told.get(jid) === "ended" || (told.get(jid) === "created" && settled === undefined)) return;
    teller.tell(jid, async () => {
      if (told.get(jid) === undefined) await store("created", job, { targets, ...defined({ target }) });
      if (settled === undefined || told.get(jid) === "ended") return;
      const { status, counts } = settled;
      await store("ended", job, { status, counts: { ...defined(counts) } });
    });
  };
  return {
    note({ jid, function: name, target, targets, createdBy, createdAt, settled, metadata, ...job }) {
      // Its result is an event, and a tombstone never was a job.
      if (job.schedule !== undefined || job.forbidden === true) return;
      const fields = { jid, function: name, createdBy, ...defined({ target, settled }) };
      const known: Told = { ...fields, targets: targets.length, depth: depthOf(metadata) };
      if (isLoaded) tell(known);
      else backlog.add(known, settled?.finishedAt ?? createdAt);
    },
    loaded() {
      isLoaded = true;
      for (const job of backlog.take(clock.now())) tell(job);
    },
    stop: teller.stop,
  };
}
