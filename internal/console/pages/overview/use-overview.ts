import {
  ApiError,
  type App,
  type Query,
  routes,
  useAnswer,
  useJobs,
  usePeels,
  useQuery,
} from "../../api/mod.ts";

const maxJobs = 500;
/** Of each status. */
const maxRollouts = 20;
const dayMs = 24 * 60 * 60_000;

/**
 * What the overview shows, each part read again when events change it. What the session may not read is absent.
 *
 * @returns no `value` before each part has been read once, or could not be
 */
export function useOverview(app: App) {
  const { client, session } = app;
  const peels = usePeels(app, "", { off: !session.may("facts", "read") });
  const jobs = useJobs(app, { withinMs: dayMs }, { max: maxJobs, off: !session.may("jobs", "list") });
  const pending = useQuery(
    app,
    "pending",
    session.may("enrollments", "list")
      ? (signal) => client.page(routes.listEnrollments, { state: "pending" }, signal)
      : undefined,
    ["svc/enrollment/"],
  );
  const states = useAnswer(app, routes.countStates, session.may("states", "read") ? {} : undefined, [
    "svc/compliance/",
    "svc/enrollment/",
  ]);
  const mayApprovals = session.may("approvals", "list");
  const approvals = useAnswer(app, routes.listApprovals, mayApprovals ? {} : undefined, ["svc/approval/"]);
  // Those that have not ended: they come first.
  const rollouts = useQuery(
    app,
    "rollouts",
    session.may("rollouts", "list") ? (signal) => readRollouts(app, signal) : undefined,
    ["svc/rollout/"],
  );
  const releases = useQuery(
    app,
    "releases",
    session.may("states", "read")
      ? {
          load: (signal) => readWaitingFiles(app, signal),
          // Files are compared for it.
          renew: async (before: WaitingFiles) => (before.isKnown ? before : undefined),
        }
      : undefined,
    ["svc/states/"],
  );
  // No event says how masters are.
  const masters = useQuery(app, "masters", (signal) => readMasters(app, signal));

  const parts: readonly Pick<Query<unknown>, "value" | "problem" | "off">[] = [
    ...[peels, jobs, pending, states, approvals, rollouts, releases, masters],
  ];
  const isRead = parts.every(
    ({ value, problem, off }) => off || value !== undefined || problem !== undefined,
  );
  const known = {
    ...{ peels: peels.value, jobs: jobs.value, pending: pending.value, states: states.value },
    ...{ rollouts: rollouts.value, releases: releases.value?.files },
    ...{ approvals: approvals.value, masters: masters.value?.masters, breakers: masters.value?.breakers },
  };
  return {
    value: isRead ? known : undefined,
    problem: parts.find(({ problem }) => problem !== undefined)?.problem,
  };
}

/** What is known of the fleet; each part is absent for those who may not read it. */
export type Overview = NonNullable<ReturnType<typeof useOverview>["value"]>;

async function readRollouts({ client }: App, signal: AbortSignal) {
  const of = (status: "running" | "paused") =>
    client.page(routes.listRollouts, { status, limit: maxRollouts }, signal).then(({ items }) => items);
  return (await Promise.all([of("paused"), of("running")])).flat();
}

/** Files that wait for an operator to release them. */
interface WaitingFiles {
  /** Before the first publication nobody knows. */
  isKnown: boolean;
  files: { environment: string; since: string }[];
}

async function readWaitingFiles({ client }: App, signal: AbortSignal): Promise<WaitingFiles> {
  try {
    const { environments } = await client.call(routes.listReleases, {}, signal);
    const files = environments.flatMap(({ environment, candidate }) =>
      candidate === undefined ? [] : [{ environment, since: candidate.since }],
    );
    return { isKnown: true, files };
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 503) return { isKnown: false, files: [] };
    throw thrown;
  }
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
