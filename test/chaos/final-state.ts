import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { linesOf } from "../harness/jobs.ts";
import { connectInTime, type Guest } from "./applicants.ts";
import { describeDifferences } from "./check/replicas.ts";
import type { MasterUnit } from "./daemons.ts";
import { callsOf, type EndedJob, type FinalState } from "./history.ts";
import { readReplicas } from "./replicas.ts";
import type { BusServer } from "./servers.ts";
import { effectsOf, type Site } from "./site.ts";
import type { Unit } from "./unit.ts";

interface ShownJob {
  status: string;
  targets: string[];
  outcomes: Record<string, string>;
  counts: Record<string, number>;
  metadata: { token?: string };
}

const clock = systemClock;
const jobsWithinMs = 60_000;
const replicasWithinMs = 30_000;
/** Masters enforce an unconfirmed revocation again. */
const outWithinMs = 30_000;
const atOnce = 8;

/** Reads everything that the checks need; it stops the masters and the peels. */
export async function readFinalState(
  site: Site,
  guests: readonly Guest[],
  seen: FinalState["seen"],
  differing: Readonly<Record<string, number>>,
): Promise<FinalState> {
  const { masters, peels, servers, recorder } = site;
  await untilEnded(site);
  const tokens = new Map(callsOf(recorder.history, "dispatch").map(({ job, token }) => [job, token]));
  const jids = new Set<string>();
  for (const master of masters)
    for (const { jid } of await pages<{ jid: string }>(site, master, "jobs")) jids.add(jid);
  for (const jid of tokens.keys()) if (jid !== undefined) jids.add(jid);
  const jobs: Record<string, Record<string, EndedJob | null>> = {};
  const enrollments: Record<string, { id: string; peel: string; state: string }[]> = {};
  const rollouts: Record<string, string[]> = {};
  for (const master of masters) {
    const { name } = master.host;
    const shown = await inGroups(
      [...jids],
      async (jid) => [jid, await show(site, master, jid, tokens)] as const,
    );
    jobs[name] = Object.fromEntries(shown);
    const records = await pages<{ id: string; peel_id: string; state: string }>(
      site,
      master,
      "enrollments?state=all",
    );
    enrollments[name] = records.map(({ id, peel_id, state }) => ({ id, peel: peel_id, state }));
    rollouts[name] = (await pages<{ id: string }>(site, master, "rollouts")).map(({ id }) => id);
  }
  const gone = new Set(
    Object.values(enrollments).flatMap((list) =>
      list.flatMap(({ id, state }) => (state === "revoked" ? [id] : [])),
    ),
  );
  const revoked = await untilOut(
    site,
    guests.filter(({ enrollment }) => gone.has(enrollment)),
  );
  await Promise.all(guests.map(({ connection }) => connection?.nats.close()));
  // What they write all the time would make the replicas differ.
  await Promise.all([...peels, ...masters].map((unit) => unit.end("SIGTERM")));
  return {
    enrollments,
    jobs,
    rollouts,
    effects: Object.fromEntries(peels.map((peel) => [peel.host.name, linesOf(effectsOf(peel))])),
    revoked,
    seen,
    replicas: await untilEqual(servers.list),
    differing,
    servers: servers.list.length,
  };
}

/** Waits until no job runs and every return has been taken, for a limited time. */
async function untilEnded(site: Site): Promise<void> {
  const until = clock.monotonic() + jobsWithinMs;
  for (const master of site.masters) {
    while (clock.monotonic() < until) {
      const jobs = await site.request(master, { path: "/api/v1/jobs?status=running" });
      const rollouts = await site.request(master, { path: "/api/v1/rollouts?status=running" });
      if ([jobs, rollouts].every(({ json }) => Array.isArray(json) && json.length === 0)) break;
      await sleep(clock, 500);
    }
  }
  while (clock.monotonic() < until && !site.peels.every(hasSent)) await sleep(clock, 500);
}

function hasSent({ dir }: Unit): boolean {
  const outbox = join(dir, "outbox");
  return !existsSync(outbox) || readdirSync(outbox).length === 0;
}

/** Reads as fast as the budget of one operator allows. */
async function read(site: Site, master: MasterUnit, path: string): ReturnType<Site["request"]> {
  for (;;) {
    const answer = await site.request(master, { path });
    if (answer.status !== 429) return answer;
    await sleep(clock, 1_000);
  }
}

/** All pages of a list. */
async function pages<T>(site: Site, master: MasterUnit, list: string): Promise<T[]> {
  const found: T[] = [];
  for (let path: string | undefined = `/api/v1/${list}`; path !== undefined; ) {
    const page = await read(site, master, path);
    if (page.status !== 200) throw new Error(`${master.host.name}: ${path} is ${page.status} ${page.error}`);
    found.push(...(page.json as T[]));
    path = page.next;
  }
  return found;
}

async function show(
  site: Site,
  master: MasterUnit,
  jid: string,
  tokens: ReadonlyMap<string | undefined, string | undefined>,
): Promise<EndedJob | null> {
  const { status, json, error } = await read(site, master, `/api/v1/jobs/${jid}`);
  if (status === 404) return null;
  if (status !== 200) throw new Error(`${master.host.name}: ${jid} is ${status} ${error}`);
  const { targets, outcomes, counts, metadata } = json as ShownJob;
  const token = tokens.get(jid) ?? metadata.token;
  return {
    targets,
    outcomes,
    counts,
    ...(token === undefined ? {} : { token, failing: token.endsWith("-failing") }),
  };
}

/** Attempts of guests to connect, and whether the connections they had are still there. */
async function triesOf(site: Site, guests: readonly Guest[]): Promise<FinalState["revoked"][number][]> {
  const { list, caPem } = site.servers;
  const held = guests.flatMap(({ enrollment, connection }) =>
    connection === undefined
      ? []
      : [{ enrollment, server: "its first server", connected: connection.bus.connected }],
  );
  const tried = await inGroups(
    guests.flatMap((guest) => list.map((server) => ({ guest, server }))),
    async ({ guest, server }) => {
      const connection = await connectInTime(server, caPem, guest);
      await connection?.nats.close();
      return { enrollment: guest.enrollment, server: server.host.name, connected: connection !== undefined };
    },
  );
  return [...held, ...tried];
}

/** The same for the guests that are revoked, until none is connected or for a limited time. */
async function untilOut(site: Site, guests: readonly Guest[]): Promise<FinalState["revoked"]> {
  const until = clock.monotonic() + outWithinMs;
  for (;;) {
    const tries = await triesOf(site, guests);
    if (!tries.some(({ connected }) => connected) || clock.monotonic() > until) return tries;
    await sleep(clock, 1_000);
  }
}

/** Each stream as each server stores it, read until all are equal or for a limited time. */
async function untilEqual(servers: readonly BusServer[]): Promise<FinalState["replicas"]> {
  const until = clock.monotonic() + replicasWithinMs;
  for (;;) {
    const replicas = await readReplicas(servers);
    if (describeDifferences(replicas, servers.length).length === 0 || clock.monotonic() > until)
      return replicas;
    await sleep(clock, 1_000);
  }
}

async function inGroups<T, R>(list: readonly T[], run: (each: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  for (let from = 0; from < list.length; from += atOnce) {
    found.push(...(await Promise.all(list.slice(from, from + atOnce).map(run))));
  }
  return found;
}
