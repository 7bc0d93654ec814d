import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assets, streamName } from "../../internal/bus/assets/assets.ts";
import { streamState } from "../../internal/bus/jetstream/stream-state.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { readGoodbye } from "../../internal/wire/heartbeat.ts";
import { connectTo } from "../harness/bus.ts";
import { type Node, startCluster, streamsHaveLeaders, type TestCluster } from "../harness/cluster.ts";
import { type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { expectAnswer, requestMaster } from "../harness/jobs.ts";
import { readRecords } from "../harness/log-records.ts";
import { startMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

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

const streamNames = (Object.keys(assets) as (keyof typeof assets)[]).map(streamName);

/** The replication factors of everything that is stored. */
async function replicas(): Promise<number[]> {
  await using stack = new AsyncDisposableStack();
  const bus = await connectTo(cluster.bus, "master");
  stack.defer(() => bus.nats.close());
  const streams = await Promise.all(streamNames.map((name) => streamState(bus, name)));
  return [...new Set(streams.map((state) => state.replicas))];
}

/** Resolves when every stream has a leader. */
async function leadersAreThere(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const bus = await connectTo(cluster.bus, "master");
  stack.defer(() => bus.nats.close());
  await streamsHaveLeaders(bus, streamNames);
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
  // One stream after the other, each when the one before is complete on its servers.
  await until(replicas, (found) => found.join() === "3");
  expect(master.records.filter(({ event }) => event === "storage replicas changed").length).toBeGreaterThan(
    10,
  );
  expect(warnings(master.records)).toEqual([]);
}, 90_000);

test("more replicas than there are servers stop nobody: what is there stays, with a warning", async () => {
  await using master = await startMaster(cluster.bus, { flags: ["--storage-replicas", "5"] });
  await until(() =>
    warnings(master.records).includes(
      "warn storage replicas could not be changed; continuing with the current replicas, or with 1",
    ),
  );
  expect(await replicas()).toEqual([3]);
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
  // Until another server leads what this one led, nobody confirms a write.
  await leadersAreThere();
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
}, 90_000);

test("replicas are not thrown away because a server is away at the start of a master", async () => {
  await nodeAt(2).stop();
  await using master = await startMaster(cluster.bus);
  expect(await replicas()).toEqual([3]);
  expect(warnings(master.records)).toEqual([]);
  await nodeAt(2).start();
}, 60_000);

test("a run that ends after every relay was killed is reported to the next ones, and a goodbye passes a relay", async () => {
  const { dir } = cluster.bus;
  const [id, key, gate] = ["web-1.example", "web-1_example", join(dir, "gate")];
  for (const folder of [gate, join(dir, "states")]) mkdirSync(folder);
  const wait = `touch ${gate}/began; while [ ! -e ${gate}/open ]; do sleep 0.05; done`;
  writeFileSync(join(dir, "states/slow.sls"), `slow:\n  cmd.run:\n    - name: ${wait}\n`);
  writeFileSync(join(dir, "states/site.sls"), "site:\n  test.nop: []\n");
  await using stack = new AsyncDisposableStack();
  const startMasters = async () => {
    const buses = [nodeAt(0), nodeAt(1)].map((node) => cluster.through(node));
    const flags = ["--states-dir", join(dir, "states")];
    const started = await Promise.all(buses.map((bus) => startMasterBinary(bus, flags)));
    return started.map((master) => stack.use(master));
  };
  const masters = await startMasters();
  const options = { dir: join(dir, "peel") };
  const startPeel = (config: string) =>
    stack.use(startPeelBinary(cluster.bus, masters[0]?.url ?? "", id, { ...options, config }));
  const json = async (...words: string[]) =>
    JSON.parse((await svc(cluster.bus, ...words, "--output", "json")).stdout);
  const shown = (): Promise<{ status: string; last_run?: { trigger: string; jid?: string } }> =>
    json("states", "show", id);

  const peel = startPeel("{}\n");
  await peel.program.waitFor("enrollment pending");
  expect((await svc(cluster.bus, "enroll", "approve", "--all", "--yes")).code).toBe(0);
  await peel.program.waitFor("peel connected");
  // Without them no states are run.
  await peel.program.waitFor("settings in force");
  // The masters of earlier tests have published a tree without files.
  await peel.program.waitFor(/"state files fetched","environment":"base",.*"files":2,/);
  const fetched = readRecords(peel.program.output()).findLast(({ msg }) => msg === "state files fetched");
  // A master whose server lags behind uses the previous files until it reads the catalog again.
  const inForce = async (master: MasterDaemon) => {
    const answer = requestMaster(cluster.bus, master, "GET", "/api/v1/states/releases");
    const { environments } = await expectAnswer<{ environments: { content?: { snapshot: string } }[] }>(
      answer,
    );
    return environments[0]?.content?.snapshot;
  };
  await until(
    () => Promise.all(masters.map(inForce)),
    (found) => found.every((snapshot) => snapshot === fetched?.snapshot),
  );
  // Nothing was run yet: the environment is that of the files.
  await until(async () => (await json("peels", "show", id)).environment === "base");

  const started = svc(cluster.bus, "run", id, "state.apply", "slow", "--output", "json");
  const ended = started.then(({ stdout, stderr }) => Promise.reject(new Error(`${stdout}${stderr}`)));
  await Promise.race([until(() => existsSync(join(gate, "began"))), ended]);
  ended.catch(() => {});
  for (const { program } of masters) program.kill("SIGKILL");
  await Promise.all(masters.map((master) => master[Symbol.asyncDispose]()));
  writeFileSync(join(gate, "open"), "");
  // There is nobody who takes it: it waits on the disk of the peel.
  const reports = join(peel.dir, "compliance");
  await until(() => existsSync(reports) && readdirSync(reports).length === 1);
  await startMasters();
  const first = await until(shown, ({ last_run }) => last_run !== undefined);
  const { jid } = JSON.parse((await started).stdout);
  expect(first).toMatchObject({ status: "drifted", last_run: { trigger: "job", jid, ok: 0, changed: 1 } });
  await until(() => readdirSync(reports).length === 0);
  const events = await until(
    () => json("events", "--since", "10m", "--tag", "svc/compliance/*"),
    (found) => found.length > 0,
  );
  expect(events).toMatchObject([{ peel: id, peel_id: key, data: { jid, peel: id, peel_id: key } }]);

  await peel[Symbol.asyncDispose]();
  const gone = await until(
    () => json("peels", "show", id),
    ({ alive }) => !alive,
  );
  // Not because a heartbeat expired: the last one is a goodbye.
  const bus = await connectTo(cluster.bus, "master");
  stack.defer(() => bus.nats.close());
  const last = await (await openBucket(bus, "peel-heartbeat")).get(key);
  expect(readGoodbye(last?.value ?? new Uint8Array())).toBeNumber();
  expect(Date.parse(gone.silent_since)).toBe(last?.storedAt ?? 0);

  const entry = "{module: state.apply, args: {mods: [site]}, interval: 24h, run_on_start: true}";
  startPeel(`schedule: {site: ${entry}}\n`);
  const next = await until(shown, ({ last_run }) => last_run?.trigger === "schedule");
  expect(next).toMatchObject({ status: "described", last_run: { ok: 1, changed: 0 } });
  expect(await json("peels", "show", id)).toMatchObject({ alive: true, last_run: { trigger: "schedule" } });
  // svc notices after 30 s that the master which it follows is dead.
}, 120_000);
