import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { headers } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { isOlderVersion } from "../../internal/base/dotted-version.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { oldestForReplicas } from "../../internal/bus/servers/replica-servers.ts";
import { backUpBus, restoreBus } from "../../internal/bus/storage/backup.ts";
import { checkMaster } from "../../internal/master/command/check.ts";
import { connectTo, natsServerVersions, replicatingServers, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { replicas, startCluster } from "../harness/cluster.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster } from "../harness/master.ts";
import { enrollPeel, observedLog, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// What a fleet needs from each version of nats-server that make tools unpacked, and what is refused where a
// version does not give it. A machine without old versions tries less.

// A consumer that cannot be created during an election is tried again after a minute.
setDefaultTimeout(180_000);

const versions = natsServerVersions();
const isOld = ({ version }: { version: string }) => isOlderVersion(version, oldestForReplicas);
const old = versions.filter(isOld).slice(-1);
const replicable = replicatingServers();

/** A master that asked for replicas before all servers had joined asks again after 10, 20 and 40 s. */
const untilThreeReplicas = (bus: TestBus) =>
  until(
    () => replicas(bus),
    (found) => Bun.deepEquals(found, [3]),
    120_000,
  );

async function checked(bus: TestBus, step: string, ...flags: string[]) {
  const argv = ["--config", join(bus.dir, "master.yaml"), "--bus-url", bus.url, "--bus-ca", bus.caFile];
  const results = await checkMaster({
    argv: [...argv, "--auth-dir", bus.authDir, ...flags],
    env: { SVC_DATA_DIR: bus.dir },
    hostname: "localhost",
    clock: systemClock,
    random: systemRandom,
    log: recordingLog(),
  });
  return results.find((one) => one.step === step);
}

test.each(versions)("a single server of $version carries a fleet", async ({ path }) => {
  await using bus = await startBus({ server: path });
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  const peel = await enrollPeel(master, "single");
  expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
  await bus.restart("SIGKILL");
  await readinessBecomes(master.healthUrl, 200);
  expect((await cli(bus, "enroll", "list", "--state", "revoked")).stdout).toContain("single");
  expect(await checked(bus, "bus servers")).toMatchObject({ level: "ok" });
});

test.each(replicable)(
  "on a cluster of $version one of two writers with one expected revision loses",
  async ({ path }) => {
    await using cluster = await startCluster(3, () => ({ server: path }));
    await using master = await startMaster(cluster.bus);
    await readinessBecomes(master.healthUrl, 200);
    await untilThreeReplicas(cluster.bus);
    const [one, other] = await Promise.all(
      cluster.nodes.slice(0, 2).map((node) => connectTo(cluster.through(node), "master")),
    );
    if (one === undefined || other === undefined) throw new Error("two servers are missing");
    const write = async ({ nats }: typeof one, round: number, expected: number) => {
      const head = headers();
      head.set("Nats-Expected-Last-Subject-Sequence", `${expected}`);
      const answer = await nats.request(`$KV.rollouts.raced`, `${round}`, { headers: head, timeout: 30_000 });
      return answer.json<{ seq?: number; error?: object }>();
    };
    let sequence = 0;
    for (let round = 0; round < 200; round++) {
      const answers = await Promise.all([write(one, round, sequence), write(other, round, sequence)]);
      const stored = answers.filter(({ error }) => error === undefined);
      expect(stored).toHaveLength(1);
      sequence = stored[0]?.seq ?? 0;
    }
    await Promise.all([one.nats.close(), other.nats.close()]);
  },
);

const [newer] = replicable;
const mixed = newer === undefined ? [] : old.map((one) => ({ older: one, newer }));

test.each(mixed)(
  "one server of $older.version in a cluster: no replicas, until it is upgraded",
  async ({ older, newer }) => {
    let last = older.path;
    await using cluster = await startCluster(3, (name) => ({ server: name === "n2" ? last : newer.path }));
    const { bus } = cluster;
    const reason = `on every server of the cluster, and n2 runs ${older.version}`;
    {
      // With one replica compare-and-swap holds there, so a fleet may work.
      await using master = await startMaster(bus, { flags: ["--storage-replicas", "1"] });
      await readinessBecomes(master.healthUrl, 200);
      await enrollPeel(master, "kept");
      expect(await checked(bus, "bus servers", "--storage-replicas", "1")).toMatchObject({
        level: "warn",
        message: expect.stringContaining(reason),
      });
      expect((await cli(bus, "doctor")).stdout).toMatch(new RegExp(`warn +bus servers .*${reason}`));
    }
    expect(await checked(bus, "bus servers")).toMatchObject({
      level: "fail",
      message: expect.stringContaining(reason),
      next: expect.stringContaining("storage_replicas: 1"),
    });
    const connection = await connectTo(bus, "master");
    const saved = join(bus.dir, "saved");
    await backUpBus(connection, saved, async () => undefined);
    await expect(restoreBus(connection, saved, 3)).rejects.toThrow(reason);
    await connection.nats.close();

    const log = observedLog();
    const waiting = startMaster(bus, { log });
    const refusal = await log.logged("storage is not ready");
    expect(refusal.fields.error).toContain(reason);
    expect(await replicas(bus)).toEqual([1]);
    const [, , n2] = cluster.nodes;
    await n2?.stop();
    last = newer.path;
    await n2?.start();
    await using master = await waiting;
    await readinessBecomes(master.healthUrl, 200);
    await untilThreeReplicas(bus);
    expect((await cli(bus, "enroll", "list", "--state", "all")).stdout).toContain("kept");
    expect(await checked(bus, "bus servers")).toMatchObject({ level: "ok" });
    expect(existsSync(saved)).toBe(true);
  },
);
