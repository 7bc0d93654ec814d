import { rfc3339 } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { createLog } from "../base/log.ts";
import type { Bus } from "../bus/connection/mod.ts";
import { type Bucket, openBucket } from "../bus/storage/mod.ts";
import { enrollmentOperations } from "../fleet/enrollment/mod.ts";
import { createDirectory } from "../fleet/enrollment/store/mod.ts";
import { decodeJob, type Job } from "../fleet/jobs/records/mod.ts";
import { masterOperations, requestReadiness } from "../fleet/masters/mod.ts";
import { peelOperations } from "../fleet/peels/mod.ts";
import { decodeRollout, isLive, summaryOf } from "../fleet/rollout/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { content } from "../wire/content.ts";
import { runDirectly } from "./direct.ts";
import type { FleetReads } from "./fleet-reads.ts";

/**
 * Reads what is stored, with direct.creds, for when no master answers: the same operations, run here. No master judges
 * the records, so one that others changed looks like any other.
 */
export function readDirectly(bus: Bus, cli: Pick<Cli, "clock" | "stderr">): FleetReads {
  const { clock } = cli;
  const open = (name: Parameters<typeof openBucket>[1]) => openBucket(bus, name);
  const known = async () => {
    const enrollments = await open("enrollments");
    const log = createLog({ level: "error", format: "text", clock, write: (line) => cli.stderr.write(line) });
    const directory = createDirectory({ enrollments, log });
    await directory.ready;
    directory.stop();
    const caughtUp = async () => {};
    return { enrollments, directory: { ...directory, caughtUp }, pins: () => [] };
  };
  return {
    masters: async () =>
      runDirectly(
        masterOperations.listMasters,
        {
          requestReadiness: (name: string) => requestReadiness(bus, name),
          ...{ heartbeats: await open("master-heartbeat"), leases: await open("leases") },
          ...{ driven: () => new Map(), self: "" },
        },
        {},
        cli,
      ),
    probe: () => runDirectly(masterOperations.probeStorage, { bus, probed: "probe" }, {}, cli),
    survey: async () =>
      runDirectly(
        peelOperations.surveyPeels,
        { ...(await known()), peelHeartbeats: await open("peel-heartbeat"), clock },
        {},
        cli,
      ),
    async pending() {
      const { enrollments } = await runDirectly(
        enrollmentOperations.listEnrollments,
        await known(),
        { limit: 1_000 },
        cli,
      );
      return enrollments;
    },
    async strays() {
      const deps = { refused: await open("revocations"), clock };
      return (await runDirectly(enrollmentOperations.listStrays, deps, {}, cli)).strays;
    },
    async jobs() {
      const jobs = await readJobs(await open("jobs"));
      return jobs
        .filter(({ settled, schedule }) => settled === undefined && schedule === undefined)
        .map(rowOf);
    },
    async rollouts() {
      const entries = await (await open("rollouts")).entries();
      // The lists of peels have keys of several tokens.
      const rollouts = entries.flatMap(({ key, value }) => (key.includes(".") ? [] : [decodeRollout(value)]));
      return rollouts
        .filter(isLive)
        .sort((one, other) => one.createdAt - other.createdAt)
        .map(summaryOf);
    },
    enrollment: async (which) => runDirectly(enrollmentOperations.showEnrollment, await known(), which, cli),
    async heartbeat(id) {
      const peelHeartbeats = await open("peel-heartbeat");
      return runDirectly(peelOperations.showHeartbeat, { peelHeartbeats }, { id }, cli);
    },
    facts: async (id) =>
      runDirectly(peelOperations.getFacts, { ...(await known()), facts: await open("facts") }, { id }, cli),
    async lastJob(peel) {
      const jobs = (await readJobs(await open("jobs"))).filter(({ targets }) => targets.includes(peel));
      const [last] = jobs.sort((one, other) => other.createdAt - one.createdAt);
      return last === undefined ? undefined : rowOf(last);
    },
  };
}

async function readJobs(bucket: Bucket): Promise<Job[]> {
  return (await bucket.entries()).map(({ value }) => decodeJob(value));
}

const rowOf = ({ jid, function: name, targets, createdAt, deadline, settled, content: files }: Job) => ({
  ...{ jid, function: name, targets: targets.length, status: settled?.status ?? ("running" as const) },
  ...{ created_at: rfc3339(createdAt), deadline: rfc3339(deadline) },
  ...defined({ content: files && content.show(files) }),
});
