import { afterAll, beforeAll, expect, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMasterBinary } from "../harness/fleet.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, operate } from "../harness/peel-connection.ts";
import { memoryOf } from "../harness/usage.ts";

// One peel sends what it likes, as fast as it can, on a real bus and to a real master.

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
}, 60_000);
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => cli(bus, ...argv);
const metrics = async (name: string, { healthUrl }: { healthUrl: string } = master) => {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.split(" ")
      .at(-1),
  );
};
const admitted = async (peel: EnrolledPeel, on = bus) => {
  try {
    await using _ = await connectPeel(on, peel);
    return true;
  } catch {
    return false;
  }
};

test("credentials limit subscriptions and the size of messages, and the bus enforces both", async () => {
  const peel = await enrollPeel(master, "limited");
  const { nats } = readClaims(parseCredentials(peel.credentials).jwt);
  expect(nats).toMatchObject({ subs: 64, payload: 1024 * 1024 });
  await using connection = await connectPeel(bus, peel);
  for (let n = 0; n < 200; n++) connection.nats.subscribe(`_INBOX_limited.${n}`, { callback: () => {} });
  const refused = () => connection.records.filter(({ fields }) => fields.code === "NATS_PROTOCOL_ERR").length;
  await connection.logged("bus error", () => refused() >= 200 - 64);
  // The server tells its clients: an honest one shortens what is larger instead of losing its connection.
  expect(connection.nats.info?.max_payload).toBe(1024 * 1024);
});

test("hellos beyond the budget are refused from memory, and another peel is answered meanwhile", async () => {
  await using flooding = await connectPeel(bus, await enrollPeel(master, "eager"));
  await using other = await connectPeel(bus, await enrollPeel(master, "calm"));
  const hello = encode({ version: "1" });
  const codes = new Map<string, number>();
  const request = async () => {
    const { data } = await flooding.nats.request("svc.peel.eager.hello", hello, { timeout: 30_000 });
    const answer = decode(data) as { ok?: boolean; error?: { code: string } };
    const code = answer.error?.code ?? "answered";
    codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const flood = Promise.all(Array.from({ length: 2_000 }, request));
  const answer = await other.nats.request("svc.peel.calm.hello", hello, { timeout: 30_000 });
  expect(decode(answer.data)).toMatchObject({ cluster_info: { v: 1 } });
  await flood;
  expect([...codes.keys()].sort()).toEqual(["answered", "rate_limited"]);
  expect(codes.get("answered")).toBeLessThan(20);
  const lines = master.records.filter(
    ({ fields }) => fields.peel_id === "eager" && fields.budget === "hello",
  );
  expect(lines.length).toBeLessThanOrEqual(10);
});

test("an operator suspends a peel, what it left goes, and it comes back with its credentials", async () => {
  const peel = await enrollPeel(master, "noisy");
  const other = await enrollPeel(master, "quiet");
  await using connection = await connectPeel(bus, peel);
  await using bystander = await connectPeel(bus, other);
  const left = { timeout: 30_000 };
  await connection.nats.request("svc.job.j1.ack.noisy", "", left);
  await connection.nats.request("svc.job.j1.return.noisy", encode({}), left);
  await connection.nats.request("svc.event.noisy.a", encode({ data: {} }), left);
  await bystander.nats.request("svc.job.j1.return.quiet", encode({}), left);

  const suspended = await svc("enroll", "suspend", peel.enrollmentId, "--reason", "too loud");
  expect(suspended).toMatchObject({
    exit: 0,
    stdout: `suspended ${peel.enrollmentId} (noisy)\n`,
    stderr: "",
  });
  await connection.logged("bus disconnected");
  expect(await admitted(peel)).toBe(false);
  const masters = await connectTo(bus, "master");
  const manager = await masters.nats.jetstreamManager({ checkAPI: false });
  const subjects = async (stream: string) =>
    Object.keys((await manager.streams.info(stream, { subjects_filter: ">" })).state.subjects ?? {});
  expect((await subjects("job-events")).filter((subject) => subject.includes("j1"))).toEqual([
    "svc.job.j1.return.quiet",
  ]);
  expect(await subjects("events")).toEqual(["svc.event._master.svc.peel.noisy.suspended"]);
  const event = await manager.streams.getMessage("events", {
    last_by_subj: "svc.event._master.svc.peel.noisy.suspended",
  });
  const data = { peel: "noisy", peel_id: "noisy", reason: "too loud" };
  expect(decode(event.data)).toEqual({ data, source: "noisy", depth: 0 });
  await masters.nats.close();

  const listed = await svc("enroll", "list", "--state", "issued", "--wide");
  expect(listed.stdout).toMatch(new RegExp(`${peel.enrollmentId}.*SUSPENDED`));
  expect(listed.stdout).not.toMatch(new RegExp(`${other.enrollmentId}.*SUSPENDED`));
  const status = await svc("status", "--output", "json");
  expect(JSON.parse(status.stdout).suspended).toMatchObject([{ peel_id: "noisy", reason: "too loud" }]);
  expect((await svc("status")).stdout).toMatch(/SUSPENDED .*\n.*noisy .*too loud/);
  expect(await metrics("svc_peels_suspended")).toBe(1);

  expect((await svc("enroll", "resume", peel.enrollmentId)).exit).toBe(0);
  await connection.logged("bus reconnected");
  expect(await admitted(peel)).toBe(true);
  expect(await admitted(other)).toBe(true);
  const again = await operate(master, peel.enrollmentId, "resume");
  expect([again.status, again.json]).toMatchObject([409, { error: expect.anything() }]);
  const byRest = await operate(master, peel.enrollmentId, "suspend", { reason: "again" });
  expect([byRest.status, byRest.json]).toMatchObject([
    200,
    { Suspended: { reason: "again" }, state: "issued" },
  ]);
  expect(await admitted(peel)).toBe(false);
  expect(await operate(master, peel.enrollmentId, "revoke")).toMatchObject({ status: 200 });
  expect(await operate(master, peel.enrollmentId, "suspend")).toMatchObject({ status: 409 });
});

test("a fifth connection with one key ends all of them, and the peel comes back", async () => {
  const peel = await enrollPeel(master, "many");
  const connections = await Promise.all(Array.from({ length: 4 }, () => connectPeel(bus, peel)));
  expect(connections.map(({ nats }) => nats.isClosed())).toEqual([false, false, false, false]);
  await using fifth = await connectPeel(bus, peel);
  await Promise.all([fifth, ...connections].map(({ logged }) => logged("bus disconnected")));
  for (const connection of connections) await connection.nats.close();
  await fifth.logged("bus reconnected");
  const said = master.records.filter(({ fields }) => fields.peel_id === "many").map(({ event }) => event);
  expect(said).toContain("too many connections of a peel: all of them are ended");
  const shown = await svc("enroll", "show", peel.enrollmentId, "--output", "json");
  expect(JSON.parse(shown.stdout)).not.toHaveProperty("Suspended");
}, 60_000);

test("a peel that floods is suspended, and its returns do not fill the master", async () => {
  // A master in a process of its own: its memory is measured, and not that of the flood.
  await using own = await startBus();
  await using daemon = await startMasterBinary(own);
  const door = { url: daemon.url, ca: own.caPem, token: daemon.token };
  const resident = () => memoryOf(daemon.program.pid).residentMib;
  const peel = await enrollPeel(door, "flood");
  await using connection = await connectPeel(own, peel);
  await using other = await connectPeel(own, await enrollPeel(door, "honest"));
  // A list of a million empty maps: decoded, it takes more than 30 MB.
  const bomb = new Uint8Array(1_000_005).fill(0x80);
  bomb.set([0xdd, 0x00, 0x0f, 0x42, 0x40]);
  const before = resident();
  let max = before;
  let closed = false;
  void connection.logged("bus disconnected").then(() => {
    closed = true;
  });
  for (let n = 0; !closed; n++) {
    connection.nats.publish(`svc.job.none-${n}.return.flood`, bomb);
    if (n % 4 === 0) await connection.nats.flush().catch(() => {});
    if (n % 50 !== 0) continue;
    max = Math.max(max, resident());
    const hello = await other.nats.request("svc.peel.honest.hello", encode({}), { timeout: 30_000 });
    expect(decode(hello.data)).toBeDefined();
  }
  expect(max - before).toBeLessThan(200);
  expect(await admitted(peel, own)).toBe(false);
  const shown = await cli(own, "enroll", "show", peel.enrollmentId, "--output", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    state: "issued",
    Suspended: { reason: "sent more than ten times its budget of messages" },
  });
  // It is counted when all of it is done, which the record tells.
  await daemon.program.waitFor('"peel suspended","peel_id":"flood"');
  expect(await metrics("svc_budget_suspensions_total", daemon)).toBe(1);
}, 60_000);
