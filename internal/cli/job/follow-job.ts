import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { followFeed } from "../../doors/bus/mod.ts";
import { type JobView, jobOperations, type Progress, type SeenReturn } from "../../fleet/jobs/mod.ts";
import type { JobReturn } from "../../wire/return.ts";
import { hinted } from "../hints.ts";
import { requesterName } from "../request.ts";

/** How long a job is followed again after its master was lost: longer than one takes to start again. */
const patienceMs = 60_000;
const pauseMs = 250;
/** Characters of returns that are kept where all of them are. */
const maxKept = 16 * 1024 * 1024;

/** A job as it ended, or as it is now. */
export type FollowedJob = JobView & { signed?: { subject: string; envelope: string } };

export interface JobFollowing {
  signal?: AbortSignal;
  /** Ends it with what is known now, or when nobody is waited for but peels that are not connected. */
  until?: "now" | "due";
  /** Whether a master has said that it exists: then one that stops at that moment is not the end. */
  isKnown?: boolean;
  /** Only the return of this peel. */
  peel?: string;
  /** Gets every event, also earlier ones; one may come again after a master was lost. */
  onProgress?(news: Progress): void;
  /** Takes what each target returned, in place of the view: for those who keep less of it. */
  onReturn?(peel: string, returned: JobReturn, targets: number): void;
}

/** What an item of the feed has, whatever happened. */
interface JobNews {
  jid: string;
  peel_id: string;
  counts: Progress["counts"];
  targets: number;
}

/**
 * Follows a job through the masters until it has ended. Where its master is lost, another one follows it from the start.
 *
 * @throws SvcError `not_found`; what the masters answer; the reason of the signal
 */
export async function followJob(bus: Bus, jid: string, following: JobFollowing = {}): Promise<FollowedJob> {
  const { signal = new AbortController().signal, peel } = following;
  const reader = createReader(following);
  let { until } = following;
  let receivedAt = bus.clock.monotonic();
  for (;;) {
    try {
      return await hinted(jobOperations.streamJob.hints.svc, async () => {
        const input = { jid, ...defined({ until, peel }) };
        for await (const { event, data } of followFeed(bus, jobOperations.streamJob, input, signal, {
          operator: requesterName(bus),
        })) {
          receivedAt = bus.clock.monotonic();
          const end = reader.take(event, data as JobNews);
          if (end !== undefined) return end;
        }
        throw new SvcError("unavailable", "the job was not followed to its end: check the masters");
      });
    } catch (thrown) {
      if (until === "due" && isOfEarlierMaster(thrown)) {
        until = undefined;
        continue;
      }
      const mayPass = thrown instanceof SvcError && thrown.kind === "unavailable";
      const isPatient = reader.isBegun || following.isKnown === true;
      if (!mayPass || !isPatient || bus.clock.monotonic() - receivedAt > patienceMs) throw thrown;
      await sleep(bus.clock, pauseMs, signal);
    }
  }
}

/** Masters of the version before follow a job to its end only. */
const isOfEarlierMaster = (thrown: unknown) =>
  thrown instanceof SvcError && thrown.kind === "bad_request" && thrown.message.startsWith("until");

function createReader({ onProgress = () => {}, onReturn }: JobFollowing) {
  const returns: Record<string, SeenReturn> = {};
  let targets: number | undefined;
  let kept = 0;
  const remember = (peel: string, returned: SeenReturn): SeenReturn => {
    const { return: value, error, ...rest } = returned;
    if (onReturn !== undefined) {
      onReturn(peel, returned, targets ?? 0);
      return rest;
    }
    kept += JSON.stringify(value)?.length ?? 0;
    const shown = kept > maxKept ? { truncated: true as const } : defined({ return: value });
    return { ...rest, ...shown, ...defined({ error }) };
  };
  return {
    /** Whether a master has answered. */
    get isBegun() {
      return targets !== undefined;
    },
    /** @returns the job when it has ended */
    take(event: string, data: JobNews): FollowedJob | undefined {
      if (event === "end") return { ...(data as unknown as FollowedJob), returns };
      const { jid, peel_id: peel, counts } = data;
      if (event === "begin") targets = data.targets;
      const known = { targets: targets ?? 0, counts };
      if (event === "begin") onProgress(known);
      else if (event === "ack") onProgress({ ...known, event: { jid, peel, at: 0 } });
      else if (event === "return") {
        const returned = returnOf(data);
        returns[peel] = remember(peel, returned);
        onProgress({ ...known, event: { jid, peel, at: 0, return: returned } });
      } else {
        const { jid: _, peel_id: __, counts: ___, ...said } = data;
        const news = { ...said, peel };
        onProgress({
          ...known,
          ...(event === "output" ? { output: news } : { running: news }),
        } as unknown as Progress);
      }
      return undefined;
    },
  };
}

/** The fields of the return alone. */
function returnOf(data: JobNews): SeenReturn {
  const {
    jid: _,
    peel: __,
    peel_id: ___,
    counts: ____,
    ...returned
  } = data as unknown as SeenReturn & JobNews & { peel: string };
  return returned;
}
