import { sleep, systemClock } from "../../internal/base/clock.ts";
import { defined } from "../../internal/base/defined.ts";
import type { MasterUnit } from "./daemons.ts";
import type { FaultSpan } from "./history.ts";
import type { Site } from "./site.ts";

const clock = systemClock;
const withinMs = 60_000;
/** A job that waits for a peel ends only with its time: others are started meanwhile. */
const jobEveryMs = 1_000;
const checkEveryMs = 250;

/** How long the parts of a recovery took; a part is absent when it was not in time. */
export type Recovery = Pick<FaultSpan, "readyMs" | "firstJobMs" | "recoveredMs">;

/** Resolves when each master is ready, and had a job done by every peel; after a minute at the latest. */
export async function recover(site: Site): Promise<Recovery> {
  const begun = clock.monotonic();
  const sinceMs = () => Math.round(clock.monotonic() - begun);
  const late = AbortSignal.timeout(withinMs);
  const [ready, worked] = await Promise.all([
    Promise.all(site.masters.map((master) => untilReady(master, late, sinceMs))),
    Promise.all(site.masters.map((master) => untilWorked(site, master, late, sinceMs))),
  ]);
  const inTime = worked.filter((ms) => ms !== undefined);
  return defined({
    readyMs: maxOf(ready),
    firstJobMs: inTime.length === 0 ? undefined : Math.min(...inTime),
    recoveredMs: maxOf(worked),
  });
}

function maxOf(all: readonly (number | undefined)[]): number | undefined {
  return all.reduce((max: number | undefined, ms) => {
    return max === undefined || ms === undefined ? undefined : Math.max(max, ms);
  }, 0);
}

async function untilReady(
  { healthUrl }: MasterUnit,
  late: AbortSignal,
  sinceMs: () => number,
): Promise<number | undefined> {
  while (!late.aborted) {
    const isReady = await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return sinceMs();
    await sleep(clock, checkEveryMs);
  }
  return undefined;
}

async function untilWorked(
  site: Site,
  master: MasterUnit,
  late: AbortSignal,
  sinceMs: () => number,
): Promise<number | undefined> {
  let workedMs: number | undefined;
  const worked = new AbortController();
  const over = AbortSignal.any([late, worked.signal]);
  const attempts: Promise<void>[] = [];
  while (!over.aborted) {
    const attempt = hasWorked(site, master, over).then((done) => {
      if (!done) return;
      workedMs ??= sinceMs();
      worked.abort();
    });
    attempts.push(attempt);
    await sleep(clock, jobEveryMs, over).catch(() => {});
  }
  // Those that still wait for an answer would be asked for while the next fault lasts.
  await Promise.all(attempts);
  return workedMs;
}

/** Has every peel do a job. */
async function hasWorked(
  { request, recorder, peels }: Site,
  master: MasterUnit,
  over: AbortSignal,
): Promise<boolean> {
  const targets = peels.map(({ host }) => host.name);
  const body = { targets, function: "test.ping", timeout: "5s" };
  const made = await recorder.call(
    { door: "rest", master: master.host.name, operation: "dispatch" },
    request(master, { method: "POST", path: "/api/v1/jobs", body }),
    (json) => ({ job: (json as { jid: string }).jid }),
  );
  const jid = (made.json as { jid?: string } | undefined)?.jid;
  for (let polls = 0; jid !== undefined && polls < 30 && !over.aborted; polls++) {
    const { json } = await request(master, { path: `/api/v1/jobs/${jid}` });
    const job = json as { status: string } | undefined;
    if (job?.status === "completed") return true;
    if (job !== undefined && job.status !== "running") return false;
    await sleep(clock, checkEveryMs);
  }
  return false;
}
