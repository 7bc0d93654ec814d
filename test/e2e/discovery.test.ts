import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { issueCertificate } from "../../internal/identity/ca/issue.ts";
import { loadAuthority } from "../../internal/identity/ca/load.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { type NameServer, startNameServer } from "../harness/name-server.ts";
import { startPeel as launchPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { type Relay, startRelay } from "../harness/relay.ts";
import { until } from "../harness/until.ts";

// A peel without bus_url. The bus has a host name, because loopback addresses are rejected, and is behind
// relays, so that it can move while the connections of the masters stay.

const name = "bus.fleet.test";
let bus: TestBus;
let names: NameServer;
let masters: Bus;
let dataDir: string;
let speed = 1;

/** The machine's clock with short intervals and pauses; a test can make time run. */
const clock: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * speed,
  after: (ms, run) => systemClock.after(ms / 20, run),
  every: (ms, run) => systemClock.every(ms / 100, run),
};

beforeAll(async () => {
  bus = await startBus();
  const authority = await loadAuthority(join(bus.authDir, "ca"));
  const issued = await issueCertificate(authority, {
    commonName: "nats",
    names: [name, "localhost", "127.0.0.1"],
    usage: "nats-server",
    validityMs: 24 * 3600_000,
    clock: systemClock,
    random: systemRandom,
  });
  writeFileSync(join(bus.dir, "nats-server.crt"), issued.certPem);
  writeFileAtomic(join(bus.dir, "nats-server.key"), issued.keyPem, secretMode);
  await bus.restart();
  masters = await connectTo(bus, "master");
  names = await startNameServer();
  dataDir = join(bus.dir, "peel");
  makeDirectory(dataDir, 0o700);
});
afterAll(async () => {
  await masters?.nats.close();
  await names?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const urlOf = (relay: Relay) => `tls://${name}:${relay.port}`;
const relayToBus = () => startRelay(Number(new URL(bus.url).port));
const masterReporting = (...relays: Relay[]) =>
  startMaster(bus, { flags: ["--bus-advertise-urls", relays.map(urlOf).join(",")] });
const cached = () => decode(readFileSync(join(dataDir, "nats-bootstrap.msgpack")));

function startPeel(flags: readonly string[]): TestPeel {
  const config = join(dataDir, "peel.yaml");
  writeFileAtomic(config, "{}\n", secretMode);
  const own = ["--config", config, "--id", "peel-1", "--bus-ca", bus.caFile, "--enroll-ca", bus.caFile];
  return launchPeel(dataDir, [...own, ...flags], { clock });
}

const configured = (master: TestMaster) => ["--master-url", master.url];

/** Resolves when the peel's next message on a subject reaches the masters. */
async function received(subject: string): Promise<Uint8Array> {
  const subscription = masters.nats.subscribe(subject, { max: 1 });
  await masters.nats.flush();
  for await (const message of subscription) return message.data;
  throw new Error("the connection closed");
}

/** Answers hello as a master does, with what this document says by then. */
function answerHello(document: () => Record<string, unknown>) {
  const subscription = masters.nats.subscribe("svc.peel.*.hello", {
    callback: (_, message) => {
      message.respond(encode({ server_time: "2026-01-01T00:00:00.000Z", cluster_info: document() }));
    },
  });
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
}
const cluster = (urls: string[], keys: string[] = []) => ({ v: 1, nats_urls: urls, command_keys: keys });
const hint = () => masters.nats.publish("$KV.secrets._cluster_info", "junk that nobody reads");

const command = () => keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));

/** Sends a signed ping and waits for its return. */
async function ping(jid: string) {
  const result = received(`svc.job.${jid}.return.peel-1`);
  const signed = signCommand(
    {
      kind: "dispatch",
      jid,
      peel: "peel-1",
      deadline: systemClock.now() + 60_000,
      body: encode({ function: "test.ping", args: {} }),
    },
    command(),
  );
  masters.nats.publish(`svc.job.${jid}.dispatch.peel-1`, signed);
  return decode(await result);
}

test("it enrolls, learns the bus from the master, caches it, and is ready", async () => {
  await using relay = await relayToBus();
  await using master = await masterReporting(relay);
  await using peel = startPeel(configured(master));
  const pending = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(master, String(pending.fields.enrollment_id), "approve");
  const { health } = await peel.ready;
  expect(relay.open).toBe(1);
  expect(cached()).toMatchObject({ v: 1, nats_urls: [urlOf(relay)] });
  expect((statSync(join(dataDir, "nats-bootstrap.msgpack")).mode & 0o777).toString(8)).toBe("600");
  // The peel reads its settings for the first time after it has started.
  const readiness = await until(
    () => fetch(`http://127.0.0.1:${health}/readyz`),
    ({ status }) => status === 200,
  );
  expect(await readiness.json()).toMatchObject({ checks: { bus: { status: "up" }, kv: { status: "up" } } });
  expect(await ping("job-1")).toMatchObject({ success: true });
  const metrics = await (await fetch(`http://127.0.0.1:${health}/metrics`)).text();
  expect(metrics).toContain('svc_peel_jobs_total{outcome="ok"} 1');

  await relay.close();
  await peel.log.logged("bus disconnected");
  const down = await fetch(`http://127.0.0.1:${health}/readyz`);
  expect(down.status).toBe(503);
  expect(await down.json()).toMatchObject({ checks: { bus: { status: "down" } } });
}, 60_000);

test("with a cache no master is needed; what other masters said does not count", async () => {
  await using relay = await relayToBus();
  await using master = await masterReporting(relay);
  await using online = startPeel(configured(master));
  await online.ready;
  await online[Symbol.asyncDispose]();
  await master[Symbol.asyncDispose]();

  await using offline = startPeel(configured(master));
  await offline.ready;
  expect(offline.log.records.map(({ event }) => event)).not.toContain("master did not answer");
  await offline[Symbol.asyncDispose]();

  await using elsewhere = startPeel(["--master-url", "https://localhost:1"]);
  await elsewhere.log.logged("master did not answer");
}, 60_000);

test("what the masters say on the bus moves a live connection, and everything follows", async () => {
  await using first = await relayToBus();
  await using second = await relayToBus();
  await using master = await masterReporting(first);
  let reported = urlOf(first);
  using _ = answerHello(() => cluster([reported]));
  await using peel = startPeel(configured(master));
  await peel.ready;
  await master[Symbol.asyncDispose]();

  reported = urlOf(second);
  hint();
  await peel.log.logged("bus connection moved");
  expect(second.open).toBe(1);
  expect(cached()).toMatchObject({ nats_urls: [urlOf(second)] });
  await received("$KV.peel-heartbeat.peel-1");
  expect(await ping("job-2")).toMatchObject({ success: true });
  await first.close();
  expect(await ping("job-3")).toMatchObject({ success: true });
}, 60_000);

test.each([
  ["a loopback address", "tls://127.0.0.1:4222"],
  ["a loopback address in disguise", "tls://0x7f.1:4222"],
  ["plaintext", "nats://bus.fleet.test:4222"],
])(
  "a list told by the bus with %s is refused whole",
  async (_name, bad) => {
    await using first = await relayToBus();
    await using second = await relayToBus();
    await using master = await masterReporting(first);
    let reported = [urlOf(first)];
    using _ = answerHello(() => cluster(reported));
    await using peel = startPeel(configured(master));
    await peel.ready;
    await master[Symbol.asyncDispose]();
    reported = [urlOf(second), bad];
    hint();
    await peel.log.logged("bus URLs refused");
    expect([first.open, second.open]).toEqual([1, 0]);
    expect(cached()).toMatchObject({ nats_urls: [urlOf(first)] });
  },
  60_000,
);

test("command keys told by the bus are not obeyed, only a reason to ask over verified TLS", async () => {
  await using relay = await relayToBus();
  await using master = await masterReporting(relay);
  let keys: string[] = [];
  using _ = answerHello(() => cluster([urlOf(relay)], keys));
  await using peel = startPeel(configured(master));
  await peel.ready;
  await master[Symbol.asyncDispose]();
  const keyFile = join(dataDir, "auth/peel-1.command-keys");
  const before = readFileSync(keyFile, "utf8");
  keys = [newKeyPair("user", systemRandom).publicKey];
  hint();
  await peel.log.logged("master did not answer");
  expect(await ping("job-4")).toMatchObject({ success: true });
  expect(readFileSync(keyFile, "utf8")).toBe(before);
}, 60_000);

test("a bus that is away for more than five minutes is asked for anew, and the peel goes there", async () => {
  await using first = await relayToBus();
  await using second = await relayToBus();
  const [port = 0] = await freePorts(1);
  const address = ["--enroll-addr", `127.0.0.1:${port}`, "--bus-advertise-urls"];
  await using old = await startMaster(bus, { flags: [...address, urlOf(first)] });
  await using peel = startPeel(configured(old));
  await peel.ready;
  await old[Symbol.asyncDispose]();
  await using _moved = await startMaster(bus, { flags: [...address, urlOf(second)] });
  await first.close();
  await peel.log.logged("bus disconnected");
  const requestsBefore = names.requested.length;
  speed = 1000;
  await peel.log.logged("bus connection moved");
  expect(second.open).toBe(1);
  expect(names.requested.length).toBeGreaterThan(requestsBefore);
  expect(await ping("job-5")).toMatchObject({ success: true });
  expect(existsSync(join(dataDir, "nats-bootstrap.msgpack"))).toBe(true);
}, 60_000);
