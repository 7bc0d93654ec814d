import { ApiError, type App, allPages, routes } from "../../api/mod.ts";

const mostPeels = 50_000;
const mostJobs = 500;
const dayMs = 24 * 60 * 60_000;

/** What the overview reads; what the session may not read is absent. */
export async function readOverview(app: App, signal: AbortSignal) {
  const { client, session, clock } = app;
  const may = <T>(kind: Parameters<typeof session.may>[0], action: string, read: () => Promise<T>) =>
    session.may(kind, action) ? read() : Promise.resolve(undefined);
  const since = new Date(clock.now() - dayMs).toISOString();
  const [peels, pending, jobs, states, approvals, rollouts, { masters, breakers }] = await Promise.all([
    may("facts", "read", () =>
      allPages(app, routes.listPeels, { limit: 1_000 }, { most: mostPeels, signal }),
    ),
    may("enrollments", "list", () => client.page(routes.listEnrollments, { state: "pending" }, signal)),
    may("jobs", "list", () => client.page(routes.listJobs, { since, limit: mostJobs }, signal)),
    may("states", "read", () => client.call(routes.countStates, {}, signal)),
    may("approvals", "list", () => client.call(routes.listApprovals, {}, signal)),
    may("rollouts", "list", () => client.page(routes.listRollouts, {}, signal)),
    readMasters(app, signal),
  ]);
  return { peels, pending, jobs, states, approvals, rollouts, masters, breakers };
}

/** The masters, and the open breakers of the one that reacts, if there is one. */
async function readMasters({ client, session }: App, signal: AbortSignal) {
  const masters = session.may("masters", "read")
    ? await client.call(routes.listMasters, {}, signal)
    : undefined;
  // Without a holder nobody could answer for the reactor, which a fleet need not have.
  const reacts = masters === undefined || masters.leases.some(({ name }) => name === "reactor");
  if (!reacts || !session.may("reactor", "status")) return { masters, breakers: undefined };
  const breakers = await client.call(routes.showReactor, {}, signal).then(
    (status) => status.breakers,
    (thrown) => {
      // Its master is changing: the rest of the page is worth reading.
      if (thrown instanceof ApiError && thrown.status === 503) return undefined;
      throw thrown;
    },
  );
  return { masters, breakers };
}
