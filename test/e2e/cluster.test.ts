import { afterAll, beforeAll, expect, test } from "bun:test";
import { assets } from "../../internal/bus/assets.ts";
import { connectTo } from "../harness/bus.ts";
import { type Node, startCluster, type TestCluster } from "../harness/cluster.ts";
import { startMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, operate } from "../harness/peel-connection.ts";

// Three servers with routes over mutual TLS: what is stored has three replicas, and a revocation holds on
// each of them, also on one that was away.

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster();
}, 150_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

const nodeAt = (index: number): Node => {
  const node = cluster.nodes[index];
  if (node === undefined) throw new Error(`the cluster has no server ${index}`);
  return node;
};

/** The replication factors of everything that is stored. */
async function replicas(): Promise<number[]> {
  const bus = await connectTo(cluster.bus, "master");
  try {
    const manager = await bus.nats.jetstreamManager();
    const prefix = { bucket: "KV_", objects: "OBJ_", stream: "" };
    const names = Object.entries(assets).map(([name, { kind }]) => prefix[kind] + name);
    const streams = await Promise.all(names.map((name) => manager.streams.info(name)));
    return [...new Set(streams.map(({ config }) => config.num_replicas))];
  } finally {
    await bus.nats.close();
  }
}

/** Warnings about replicas. */
const warnings = (records: { level: string; event: string }[]) =>
  records.map(({ level, event }) => `${level} ${event}`).filter((text) => /^warn .*replica/.test(text));

test("fewer replicas than the cluster could hold are given, with a warning", async () => {
  await using master = await startMaster(cluster.bus, { flags: ["--storage-replicas", "1"] });
  expect(warnings(master.records)).toContain("warn storage_replicas is 1, below 3 for a cluster of 3");
  expect(await replicas()).toEqual([1]);
}, 60_000);

test("by itself a master raises what is there to three", async () => {
  await using master = await startMaster(cluster.bus);
  expect(await replicas()).toEqual([3]);
  expect(master.records.filter(({ event }) => event === "storage replicas changed").length).toBeGreaterThan(
    10,
  );
  expect(warnings(master.records)).toEqual([]);
}, 60_000);

test("more replicas than there are servers stop nobody: what is there stays, with a warning", async () => {
  await using master = await startMaster(cluster.bus, { flags: ["--storage-replicas", "5"] });
  expect(await replicas()).toEqual([3]);
  expect(warnings(master.records)).toContain(
    "warn storage replicas could not be changed; continuing with the current replicas, or with 1",
  );
}, 60_000);

test("a revocation is confirmed by all servers, and closes the connection on each", async () => {
  await using master = await startMaster(cluster.bus);
  const peel = await enrollPeel(master, "everywhere");
  const connections = await Promise.all(cluster.nodes.map((node) => connectPeel(node, peel)));
  expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
  await Promise.all(connections.map((connection) => connection.logged("bus disconnected")));
  for (const node of cluster.nodes) {
    await expect(connectPeel(node, peel)).rejects.toThrow("the server refused these credentials");
  }
  await Promise.all(connections.map((connection) => connection.nats.close()));
}, 60_000);

test("a server that was away learns of it when it joins, long before the next minute", async () => {
  await using master = await startMaster(cluster.bus);
  const peel = await enrollPeel(master, "behind");
  const other = await enrollPeel(master, "other");
  const away = nodeAt(2);
  await away.stop();
  expect((await operate(master, peel.enrollmentId, "revoke")).status).toBe(200);
  await away.start();
  // It restarts with its old claims. A fast client can connect, and is disconnected again.
  for (;;) {
    const connection = await connectPeel(away, peel).catch((thrown: Error) => thrown);
    if (connection instanceof Error) {
      expect(connection.message).toContain("the server refused these credentials");
      break;
    }
    await connection.logged("bus disconnected");
    await connection.nats.close();
  }
  await using still = await connectPeel(away, other);
  expect(still.bus.connected).toBe(true);
}, 30_000);

test("replicas are not thrown away because a server is away at the start of a master", async () => {
  await nodeAt(2).stop();
  await using master = await startMaster(cluster.bus);
  expect(await replicas()).toEqual([3]);
  expect(warnings(master.records)).toEqual([]);
  await nodeAt(2).start();
}, 60_000);
