import { defined } from "../../base/defined.ts";
import type { App } from "./app.ts";
import { type List, withHead } from "./list.ts";
import { everyPage } from "./paged.ts";
import { type Query, useQuery } from "./query.ts";
import { routes } from "./routes.ts";

/** A job as masters list it. */
export type ListedJob = NonNullable<(typeof routes.listJobs)["types"]>["answer"][number];

/** Which jobs. */
export interface JobFilter {
  status?: "running" | "failed" | "completed" | "cancelled";
  function?: string;
  /** Only those that were created within this time, in milliseconds. */
  withinMs?: number;
}

const pageSize = 500;
/** Jobs that change are among the newest. */
const headSize = 100;

const idOf = ({ jid }: ListedJob) => jid;

/**
 * Jobs, newest first. Events of jobs that are new, or among the newest, cost a request for these.
 *
 * @param options.max jobs at which the list stops
 * @param options.off nothing is read
 */
export function useJobs(
  app: App,
  { withinMs, ...filter }: JobFilter,
  { max, off = false }: { max: number; off?: boolean },
): Query<List<ListedJob>> {
  const page = (limit: number, cursor: string | undefined, signal: AbortSignal) => {
    const since = withinMs === undefined ? undefined : new Date(app.clock.now() - withinMs).toISOString();
    return app.client.page(routes.listJobs, { ...filter, ...defined({ since, cursor }), limit }, signal);
  };
  const head = async (before: List<ListedJob>, signal: AbortSignal) =>
    withHead(before, await page(headSize, undefined, signal), idOf);
  const reading = {
    load: (signal: AbortSignal) => everyPage((cursor) => page(pageSize, cursor, signal), max),
    async change(before: List<ListedJob>, events: readonly { tag: string }[], signal: AbortSignal) {
      const older = new Set(before.items.slice(headSize).map(idOf));
      const isOlder = events.some(({ tag }) => older.has(tag.split("/")[2] ?? ""));
      return isOlder ? undefined : head(before, signal);
    },
    // Without events, nothing else tells that an older one has ended.
    renew: async (before: List<ListedJob>, signal: AbortSignal) =>
      app.session.may("events", "read") ? head(before, signal) : undefined,
  };
  const key = [filter.status, filter.function, withinMs].join(" ");
  return useQuery<List<ListedJob>>(app, key, off ? undefined : reading, ["svc/job/"]);
}
