import { expect, setDefaultTimeout, test } from "bun:test";
import { headers } from "nats";
import { connectTo } from "../harness/bus.ts";
import { replicasBecome, startCluster } from "../harness/cluster.ts";
import { startMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, type PeelConnection } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// What a message asks of the storage with its headers is not in its subject, so the permissions of a peel do not cover
// it. A cluster replicates some of them before it judges them.

setDefaultTimeout(120_000);

const reply = "_INBOX_peel-a.answer";

/** Headers that mean something to the storage, with values that do not hold, that hold, and that cannot be read. */
const hostile: readonly (readonly [string, string])[] = [
  ["Nats-Expected-Last-Msg-Id", "never"],
  ["Nats-Expected-Last-Sequence", "999999"],
  ["Nats-Expected-Last-Sequence", "-1"],
  ["Nats-Expected-Last-Subject-Sequence", "999999"],
  ["Nats-Expected-Last-Subject-Sequence", "x"],
  ["Nats-Expected-Last-Subject-Sequence-Subject", "$KV.enrollments.>"],
  ["Nats-Expected-Stream", "KV_enrollments"],
  ["Nats-Msg-Id", "one"],
  ["Nats-Rollup", "all"],
  ["Nats-Rollup", "none"],
  ["Nats-TTL", "1s"],
  ["Nats-TTL", "x"],
  ["Nats-Incr", "+1"],
  ["Nats-Batch-Id", "b"],
  ["Nats-Batch-Commit", "1"],
  ["Nats-Stream-Source", "events 1"],
  ["Nats-Schedule", "@at 2020-01-01T00:00:00Z"],
  ["Nats-Schedule-Next", "purge"],
  ["Nats-Required-Api-Level", "99"],
  ["Nats-Trace-Dest", "svc.event.peel-a.trace"],
  ["Nats-Trace-Only", "true"],
  ["KV-Operation", "PURGE"],
];

/** What masters tell of that bucket, on servers that stop its stream. */
const stopped = /"storage":\{"status":"(?:up"|degraded","message":"KV_probe: no answer, or no leader: )/;

const stored = (peel: string) => [
  `$KV.peel-heartbeat.${peel}`,
  `$KV.facts.${peel}`,
  `$KV.compliance.${peel}`,
  `$KV.compliance-diffs.${peel}`,
  `svc.job.job-1.ack.${peel}`,
  `svc.job.job-1.return.${peel}`,
  `svc.job.job-1.schedule.${peel}`,
  `svc.event.${peel}.tag`,
];

test("no header of a peel stops a stream on a cluster", async () => {
  await using cluster = await startCluster();
  await using master = await startMaster(cluster.bus);
  await replicasBecome(cluster.bus, 3);
  const [peelA, peelB] = [await enrollPeel(master, "peel-a"), await enrollPeel(master, "peel-b")];
  await using a = await connectPeel(cluster.bus, peelA);
  await using b = await connectPeel(cluster.bus, peelB);
  for (const subject of stored("peel-b")) await untilTaken(b, subject);
  for (const [name, value] of hostile) {
    const head = headers();
    head.set(name, value);
    // Two at once, after one that is under way.
    for (const subject of stored("peel-a")) {
      a.nats.publish(subject, "before", { reply });
      a.nats.publish(subject, "hostile", { headers: head, reply });
      a.nats.publish(subject, "hostile", { headers: head });
    }
    await a.nats.flush();
    const refused = await Promise.all(stored("peel-b").map((subject) => isRefused(b, subject)));
    expect([name, value, stored("peel-b").filter((_, at) => refused[at])]).toEqual([name, value, []]);
  }
  // Operators may write to one bucket, which no master relies on.
  const operator = await connectTo(cluster.bus, "admin");
  const head = headers();
  head.set("Nats-Expected-Last-Msg-Id", "never");
  await operator.nats.request("$KV.probe.x", "hostile", { timeout: 5_000, headers: head }).catch(() => {});
  await operator.drain();
  const ready = await fetch(`${master.healthUrl}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(stopped) as never]);
});

/** A new stream has a leader a moment later. */
async function untilTaken(peel: PeelConnection, subject: string): Promise<void> {
  await until(async () => !(await isRefused(peel, subject)) || undefined, undefined, 30_000);
}

async function isRefused({ nats }: PeelConnection, subject: string): Promise<boolean> {
  try {
    const reply = await nats.request(subject, "honest", { timeout: 5_000 });
    return reply.json<{ error?: unknown }>().error !== undefined;
  } catch {
    return true;
  }
}
