import { decodeBase64 } from "../../base/base64.ts";
import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { followFeed } from "../../doors/bus/mod.ts";
import { type JobView, jobOperations, type Progress, type SeenReturn } from "../../fleet/jobs/mod.ts";
import type { JobReturn } from "../../wire/return.ts";
import { openReturn } from "../../wire/sealed-return.ts";
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
  const reader = createReader(following, bus);
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

function createReader({ onProgress = () => {}, onReturn }: JobFollowing, bus: Pick<Bus, "requester">) {
  const returns: Record<string, SeenReturn> = {};
  /** The peels of which everything that they returned is known. */
  const opened = new Set<string>();
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
      if (event === "end") {
        const { hint, ...end } = data as unknown as FollowedJob;
        const isOpen = opened.size > 0 && opened.size === Object.keys(returns).length;
        return { ...end, ...(isOpen ? {} : defined({ hint })), returns };
      }
      const { jid, peel_id: peel, counts } = data;
      if (event === "begin") targets = data.targets;
      const known = { targets: targets ?? 0, counts };
      if (event === "begin") onProgress(known);
      else if (event === "ack") onProgress({ ...known, event: { jid, peel, at: 0 } });
      else if (event === "return") {
        const { returned, isOpen } = withOpened(returnOf(data), { jid, peel }, bus);
        if (isOpen) opened.add(peel);
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

/** The return with what it hides, where that is sealed to the operator of this connection. */
function withOpened(
  { sealed = "", ...returned }: SealedReturn,
  of: { jid: string; peel: string },
  { requester }: Pick<Bus, "requester">,
): { returned: SeenReturn; isOpen: boolean } {
  const box = sealed === "" ? undefined : decodeBase64(sealed);
  if (box === undefined || requester === undefined) return { returned, isOpen: false };
  return attempt(
    () => ({ returned: { ...returned, return: openReturn(box, of, requester.unseal) }, isOpen: true }),
    { returned, isOpen: false },
  );
}

/** A return as a master sends it, with what it hides as base64. */
type SealedReturn = SeenReturn & { sealed?: string };

/** The fields of the return alone. */
function returnOf(data: JobNews): SealedReturn {
  const {
    jid: _,
    peel: __,
    peel_id: ___,
    counts: ____,
    ...returned
  } = data as unknown as SealedReturn & JobNews & { peel: string };
  return returned;
}
