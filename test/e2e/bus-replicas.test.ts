import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { checkReplicas } from "../../internal/bus/replicas/check.ts";
import { createSystemBus } from "../../internal/bus/servers/system.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { connectTo } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { type Node, startCluster, type TestCluster } from "../harness/cluster.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { startMaster } from "../harness/master.ts";
import { observedLog } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Replicas of one stream that hold different messages, although each server calls itself current. A block is
// removed from the store of one server while it is stopped: what is left is valid, and the server does not ask
// the others for what it had already acknowledged.

setDefaultTimeout(150_000);

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startCluster();
}, 60_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

const second = (): Node => {
  const node = cluster.nodes[1];
  if (node === undefined) throw new Error("the cluster has no second server");
  return node;
};

/** The system clock, except that a comparison is due after a moment instead of a minute. */
const impatient: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms === 60_000 ? 1_000 : ms, run),
};

async function check() {
  const [bus, systemBus] = [await connectTo(cluster.bus, "master"), await connectTo(cluster.bus, "system")];
  const system = await createSystemBus(systemBus);
  const account = readClaims(await Bun.file(join(cluster.bus.authDir, "masters.jwt")).text()).sub;
  try {
    return await checkReplicas({
      bus,
      system,
      account,
      connectTo: async (address) => connectTo({ ...cluster.bus, url: `tls://${address}` }, "master"),
      offset: 0.5,
      signal: new AbortController().signal,
    });
  } finally {
    system.stop();
    await Promise.all([bus.nats.close(), systemBus.nats.close()]);
  }
}

/** The directory of the blocks of a stream on a server. */
function blocksOf(node: Node, stream: string): string {
  const root = join(node.store, "jetstream");
  const found = readdirSync(root)
    .map((account) => join(root, account, "streams", stream, "msgs"))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${node.name} does not hold ${stream}`);
  return found;
}

test("a replica that lacks messages is named by masters and by doctor, until it is rebuilt", async () => {
  const log = observedLog();
  await using master = await startMaster(cluster.bus, { clock: impatient, log });
  await readinessBecomes(master.healthUrl, 200);
  const healthy = await log.logged("replicas compared");
  expect(healthy.fields).toMatchObject({ differences: 0 });
  expect(Number(healthy.fields.streams)).toBeGreaterThan(15);
  expect(Number(healthy.fields.sampled)).toBeGreaterThan(10);

  const bus = await connectTo(cluster.bus, "master");
  const manager = await bus.nats.jetstreamManager({ checkAPI: false });
  // More than one block, which has at most 8 MB.
  await manager.streams.add({
    ...{ name: "planted", subjects: ["planted.*"], num_replicas: 3, max_bytes: 40 * 1024 * 1024 },
    ...{ allow_direct: true },
  } as never);
  const payload = new Uint8Array(100_000);
  for (let i = 0; i < 300; i++) await bus.nats.request(`planted.${i}`, payload, { timeout: 30_000 });
  const node = second();
  await node.stop();
  const blocks = blocksOf(node, "planted");
  const names = readdirSync(blocks).filter((name) => name.endsWith(".blk"));
  expect(names.length).toBeGreaterThan(2);
  rmSync(join(blocks, "2.blk"));
  rmSync(join(blocks, "index.db"), { force: true });
  await node.start();

  const differs = await log.logged("replicas differ");
  expect(differs.fields).toMatchObject({
    stream: "planted",
    server: node.name,
    reason: expect.stringContaining(`planted on ${node.name} lacks messages`),
  });
  // The advice below would remove a replica that is right, if another server was named too.
  const named = (await check()).differences.map(({ stream, server }) => `${stream} ${server}`);
  expect(named).toEqual([`planted ${node.name}`]);
  const doctor = await cli(cluster.bus, "doctor");
  expect(doctor.stdout).toContain(`planted on ${node.name} lacks messages`);
  expect(doctor.stdout).toContain("move its jetstream directory away");
  expect(await (await fetch(`${master.healthUrl}/metrics`)).text()).toContain("svc_bus_replicas_differing 1");

  // What the advice says.
  await node.stop();
  renameSync(join(node.store, "jetstream"), join(node.store, "before"));
  await node.start();
  await until(check, ({ streams, differences }) => streams > 15 && differences.length === 0, 120_000);
  await log.logged("replicas compared", ({ differences }) => differences === 0);
  await bus.nats.close();
});
