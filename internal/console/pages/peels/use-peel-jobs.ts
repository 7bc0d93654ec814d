import { useRef } from "preact/hooks";
import { encodePeelId } from "../../../base/names/peel-id.ts";
import { ApiError, type App, type ListedJob, type Query, routes, useQuery } from "../../api/mod.ts";

/** A job as one of its peels has it. */
export interface PeelJob extends ListedJob {
  /** What became of it on this peel; absent while nobody knows. */
  outcome?: string;
  durationMs?: number;
}

const maxJobs = 50;
/** Requests at a time. */
const atOnce = 4;

/**
 * The newest jobs that were sent to a peel, each with what became of it there. What has ended is read once.
 *
 * @param mayShow whether the session may read what peels returned
 * @param off nothing is read
 */
export function usePeelJobs(
  app: App,
  peel: string,
  mayShow: boolean,
  off = false,
): Query<{ items: readonly PeelJob[]; more: boolean }> {
  const ended = useRef(new Map<string, PeelJob>());
  const load = async (signal: AbortSignal) => {
    const { items, next } = await app.client.page(routes.listJobs, { target: peel, limit: maxJobs }, signal);
    const read = mayShow ? await inTurn(items, (job) => withOutcome(job, signal)) : items;
    return { items: read, more: next !== undefined };
  };
  const withOutcome = async (job: ListedJob, signal: AbortSignal): Promise<PeelJob> => {
    const known = ended.current.get(job.jid);
    if (known !== undefined) return { ...known, ...job };
    const shown = await app.client.call(routes.getJob, { jid: job.jid, peel }, signal).catch((thrown) => {
      // Masters forgot it meanwhile, or the roles do not reach all of its peels: the row stays.
      if (thrown instanceof ApiError && (thrown.status === 404 || thrown.status === 403)) return undefined;
      throw thrown;
    });
    if (shown === undefined) return job;
    const id = encodePeelId(peel);
    const { duration_ms: durationMs } = shown.returns[id] ?? {};
    const outcome = shown.outcomes[id] ?? "pending";
    const found = { ...job, outcome, ...(durationMs === undefined ? {} : { durationMs }) };
    if (outcome !== "pending" && job.status !== "running") ended.current.set(job.jid, found);
    return found;
  };
  return useQuery(app, `${peel} jobs`, off ? undefined : load, ["svc/job/"]);
}

/** Runs something for each item, a few at a time, and keeps their order. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += atOnce) {
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(run))));
  }
  return results;
}
