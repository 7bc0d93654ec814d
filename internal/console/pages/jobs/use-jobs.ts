import { type App, allPages, type List, type Query, routes, useQuery, withHead } from "../../api/mod.ts";

/** A job as masters list it. */
export type ListedJob = NonNullable<(typeof routes.listJobs)["types"]>["answer"][number];

const mostJobs = 2_000;
const pageSize = 500;
/** Jobs that change are among the newest. */
const headSize = 100;

const idOf = ({ jid }: ListedJob) => jid;

/** Jobs, newest first. Events of jobs that are new, or among the newest, cost a request for these. */
export function useJobs(
  app: App,
  filter: { status?: "running" | "failed" | "completed" | "cancelled"; function?: string },
): Query<List<ListedJob>> {
  const head = async (before: List<ListedJob>, signal: AbortSignal) =>
    withHead(before, await app.client.page(routes.listJobs, { limit: headSize, ...filter }, signal), idOf);
  return useQuery<List<ListedJob>>(
    app,
    `${filter.status} ${filter.function}`,
    {
      load: (signal) =>
        allPages(app, routes.listJobs, { limit: pageSize, ...filter }, { most: mostJobs, signal }),
      async change(before, events, signal) {
        const older = new Set(before.items.slice(headSize).map(idOf));
        const isOlder = events.some(({ tag }) => older.has(tag.split("/")[2] ?? ""));
        return isOlder ? undefined : head(before, signal);
      },
      // Without events, nothing else tells that an older one has ended.
      renew: async (before, signal) => (app.session.may("events", "read") ? head(before, signal) : undefined),
    },
    ["svc/job/"],
  );
}
