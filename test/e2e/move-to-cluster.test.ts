import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AckPolicy, createInbox } from "nats";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { connectBus } from "../../internal/bus/connection/connect.ts";
import { storedStreams } from "../../internal/bus/storage/snapshot.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import { testToken } from "../harness/master.ts";
import { type NameServer, startNameServer } from "../harness/name-server.ts";
import { startPeel as launchPeel, type TestPeel } from "../harness/peel.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, observedLog } from "../harness/peel-connection.ts";
import { type Program, runProgram, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { until } from "../harness/until.ts";

// The same move as svc cluster add makes, by hand with a backup: a fleet of one host becomes three masters on a cluster
// of three. Its peels keep running, in this process, and do not enroll again. Host names resolve to this host,
// because peels reject loopback addresses.

const dist = join(import.meta.dir, "../../dist");
const tools = natsServerDirectory();
const nodes = [1, 2, 3] as const;
const nameOf = (node: number) => `n${node}.fleet.test`;

let host: SingleHost;
let names: NameServer;
let ports: { bus: number; route: number; api: number }[];
let gone: EnrolledPeel;
let jobs: string;
let buses: Program[] = [];
const programs: Program[] = [];
const peels: TestPeel[] = [];

beforeAll(async () => {
  names = await startNameServer();
  host = await initSingleHost({ flags: ["--host", nameOf(1)] });
  const free = await freePorts(8);
  ports = nodes.map((node, i) => ({
    bus: node === 1 ? host.busPort : (free[i] ?? 0),
    api: node === 1 ? host.apiPort : (free[i + 2] ?? 0),
    route: free[i + 5] ?? 0,
  }));
  // A fleet for other hosts listens everywhere; the tests do not.
  edit(1, (text) => text.replace('listen: "0.0.0.0:', 'listen: "127.0.0.1:'));
}, 60_000);
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  for (const program of programs) await program[Symbol.asyncDispose]();
  await host?.[Symbol.asyncDispose]();
  await names?.[Symbol.asyncDispose]();
}, 60_000);

const dirOf = (node: number) => (node === 1 ? host.dir : `${host.dir}-${node}`);
const portsOf = (node: number) => ports[node - 1] ?? { bus: 0, route: 0, api: 0 };

const caPem = () => readFileSync(join(host.dir, "bus/nats-ca.crt"), "utf8");
const busAt = (node: number) => ({ url: `tls://localhost:${portsOf(node).bus}`, caPem: caPem() });

/** Changes the configuration of a bus, as an operator does with an editor. */
function edit(node: number, change: (text: string) => string): void {
  const path = join(dirOf(node), "bus/nats-server.conf");
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** Starts the master of a host, or with a flag its bus alone. */
function launch(node: number, ...flags: string[]): Program {
  const { api } = portsOf(node);
  const program = startProgram(
    [
      ...[join(dist, "svc-master"), "--config", join(dirOf(node), "master.yaml")],
      ...["--enroll-addr", `127.0.0.1:${api}`, "--health-addr", "127.0.0.1:0", ...flags],
    ],
    { env: { PATH: `${tools}:${process.env.PATH}` } },
  );
  programs.push(program);
  return program;
}

async function end(program: Program | undefined): Promise<void> {
  program?.kill("SIGTERM");
  await program?.exited;
}

/** A peel in this process, with the configuration that init wrote. */
function startPeel(id: string): TestPeel & { id: string } {
  const dataDir = join(host.dir, `peel-${id}`);
  makeDirectory(join(dataDir, "auth"), 0o700);
  cpSync(join(host.dir, "bus/nats-ca.crt"), join(dataDir, "auth/bus-ca.crt"));
  const config = join(dataDir, "peel.yaml");
  const written = readFileSync(join(host.dir, "peel.yaml"), "utf8");
  writeFileAtomic(config, written.replace(`https://${nameOf(1)}`, "https://localhost"), secretMode);
  const peel = { id, ...launchPeel(dataDir, ["--config", config, "--id", id]) };
  peels.push(peel);
  return peel;
}

const enrollments = async (...more: string[]) =>
  JSON.parse((await host.svc("enroll", "list", "--state", "all", "--output", "json", ...more)).stdout) as {
    id: string;
    peel_id: string;
    state: string;
  }[];
const summary = async (...more: string[]) =>
  (await enrollments(...more)).map(({ id, state }) => `${id} ${state}`).sort();

async function enroll(id: string) {
  const peel = startPeel(id);
  await peel.log.logged("enrollment pending: waiting for an operator's approval");
  const found = (await enrollments()).find((each) => each.peel_id === id && each.state === "pending");
  expect((await host.svc("enroll", "approve", found?.id ?? "")).code).toBe(0);
  await peel.log.logged("peel connected");
}

async function pingAll() {
  const ran = await host.svc("run", "*", "test.ping", "--output", "json");
  return JSON.parse(ran.stdout || "{}").counts ?? ran.stderr;
}

/** Resolves when each stream is led by one of these servers, and is the same on all of them. */
async function untilStored(on: readonly number[]): Promise<void> {
  const bus = await connectBus({
    urls: [busAt(on[0] ?? 0).url],
    name: "test",
    identity: { credentials: readFileSync(creds(), "utf8") },
    ca: caPem(),
    clock: systemClock,
    log: observedLog(),
  });
  const wanted = on.map((node) => `n${node}`);
  const manager = await bus.nats.jetstreamManager({ checkAPI: false });
  const isStored = async (stream: string) => {
    const info = await manager.streams.info(stream).catch(() => undefined);
    const { leader = "", replicas = [] } = info?.cluster ?? {};
    const current = replicas.filter((replica) => replica.current).map(({ name }) => name);
    return wanted.includes(leader) && wanted.every((name) => name === leader || current.includes(name));
  };
  // Nobody answers while the servers elect who leads JetStream.
  const streams = await until(
    () => storedStreams(bus).catch(() => []),
    (found) => found.length > 0,
  );
  for (const stream of streams) await until(() => isStored(stream));
  // Whoever leads JetStream itself makes the consumers; an election of its takes some seconds.
  const probe = { ack_policy: AckPolicy.None, deliver_subject: createInbox() };
  await until(() => manager.consumers.add("job-events", probe).catch(() => false));
  await bus.nats.close();
}

const creds = () => join(host.dir, "auth/master.creds");

test("a fleet of one host", async () => {
  await launch(1).waitFor("master ready");
  await enroll("one");
  await enroll("two");
  writeFileAtomic(join(host.dir, "operator.token"), testToken, secretMode);
  const door = { url: `https://localhost:${host.apiPort}`, ca: caPem() };
  gone = await enrollPeel(door, "gone");
  await using connection = await connectPeel(busAt(1), gone);
  expect((await host.svc("enroll", "revoke", gone.enrollmentId)).code).toBe(0);
  await connection.logged("bus disconnected");
  expect(await pingAll()).toEqual({ ok: 2 });
}, 60_000);

test("its bus is saved with no master on it, and put onto the cluster", async () => {
  const before = await summary();
  jobs = (await host.svc("job", "list", "--wide")).stdout;
  await end(programs.at(-1));
  const alone = launch(1, "--embedded-bus-only");
  await alone.waitFor("bus ready");
  const saved = join(host.dir, "backup");
  const backup = await host.svc("bus", "backup", saved, "--creds", creds());
  expect([backup.stderr, backup.code]).toEqual(["", 0]);
  const twice = await host.svc("bus", "restore", saved, "--creds", creds());
  expect(twice.stderr).toContain("the bus already has KV_approvals: restore to a new bus");
  await end(alone);

  const routesOf = (own: (typeof nodes)[number]) =>
    nodes
      .filter((node) => node !== own)
      .map((node) => `"nats-route://127.0.0.1:${portsOf(node).route}"`)
      .join(", ");
  renameSync(join(host.dir, "bus/store/jetstream"), join(host.dir, "bus/before-the-cluster"));
  for (const node of nodes) {
    const dir = dirOf(node);
    if (node !== 1) {
      for (const name of ["auth", "bus", "master.yaml", "operator.token"]) {
        cpSync(join(host.dir, name), join(dir, name), {
          recursive: true,
          filter: (path) => !/\/bus\/(?:bin|before-the-cluster)$|root\.key$/.test(path),
        });
      }
      const path = join(dir, "master.yaml");
      const yaml = readFileSync(path, "utf8").replaceAll(host.dir, dir).replaceAll(nameOf(1), nameOf(node));
      writeFileSync(path, yaml.replace(`localhost:${host.busPort}`, `localhost:${portsOf(node).bus}`));
    }
    // A client that learns of another server from one it knows verifies it by the name it knows.
    const issued = await runProgram([
      ...[join(dist, "svc"), "ca", "issue", "nats-server", "--dir", join(dir, "auth/ca"), "--force"],
      ...["--dns", `${nodes.map(nameOf).join(",")},localhost`, "--ip", "127.0.0.1"],
      ...["--out", join(dir, "bus")],
    ]);
    expect([issued.stderr, issued.code]).toEqual(["", 0]);
    const { bus, route } = portsOf(node);
    edit(
      node,
      (text) => `${text
        .replaceAll(host.dir, dir)
        .replace(/^server_name: .*/m, `server_name: "n${node}"`)
        .replace(`127.0.0.1:${host.busPort}`, `127.0.0.1:${bus}`)}
cluster {
  name: "fleet"
  listen: "127.0.0.1:${route}"
  routes: [${routesOf(node)}]
  tls {
    cert_file: "${dir}/bus/nats-server.crt"
    key_file: "${dir}/bus/nats-server.key"
    ca_file: "${dir}/bus/nats-ca.crt"
    verify: true
  }
}
`,
    );
  }
  buses = nodes.slice(0, 2).map((node) => launch(node, "--embedded-bus-only"));
  await Promise.any(buses.map((bus) => bus.waitFor("JetStream cluster new metadata leader")));
  buses.push(launch(3, "--embedded-bus-only"));
  const restored = await host.svc("bus", "restore", saved, "--creds", creds(), "--replicas", "3");
  expect([restored.stderr, restored.code]).toEqual(["", 0]);
  // No master runs yet.
  expect(await summary("--direct-kv", "--creds", join(host.dir, "auth/direct.creds"))).toEqual(before);
}, 180_000);

test("three masters serve the same fleet; its peels learn where, and enroll no second time", async () => {
  const urls = nodes.map((node) => `tls://${nameOf(node)}:${portsOf(node).bus}`);
  const masters: Program[] = [];
  for (const node of nodes) {
    await end(buses[node - 1]);
    const master = launch(node, "--bus-advertise-urls", urls.join(","));
    await master.waitFor("master ready");
    masters.push(master);
  }
  for (const { log } of peels) {
    const moved = await log.logged("bus connection moved");
    expect(moved.fields.urls).toEqual(urls);
  }
  expect((await enrollments()).map(({ peel_id, state }) => `${peel_id} ${state}`).sort()).toEqual([
    "gone revoked",
    "one active",
    "two active",
  ]);
  await untilStored([1, 2, 3]);
  expect((await host.svc("job", "list", "--wide")).stdout).toBe(jobs);
  expect(await pingAll()).toEqual({ ok: 2 });
  expect(existsSync(join(host.dir, "peel-one/auth/one.creds"))).toBe(true);

  // The first host is turned off, including its bus and master.
  await end(masters[0]);
  await untilStored([2, 3]);
  const config = join(host.dir, "elsewhere.yaml");
  const own = readFileSync(join(host.dir, "svc.yaml"), "utf8");
  writeFileSync(config, own.replace(/localhost:\d+/, `localhost:${portsOf(2).bus}`));
  // While the remaining two elect a new leader, a command may fail and is repeated: docs/clusters.md.
  for (let said = ""; !said.includes("2 peels: 2 ok"); ) {
    const ran = await runProgram([join(dist, "svc"), "--config", config, "run", "*", "test.ping"]);
    said = `${ran.stderr}${ran.stdout}`;
  }
}, 180_000);

test("who was revoked before the move is refused after it, by every server that is left", async () => {
  for (const node of [2, 3]) {
    await expect(connectPeel(busAt(node), gone)).rejects.toThrow("the server refused these credentials");
  }
}, 60_000);
