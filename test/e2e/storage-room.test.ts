import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { startWorker } from "../../internal/agent/daemon/worker.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { version } from "../../internal/base/version.ts";
import { assets } from "../../internal/bus/assets/mod.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { ackSubject, readyzOfMasterSubject, returnSubject } from "../../internal/bus/subjects/subjects.ts";
import { decodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startCluster } from "../harness/cluster.ts";
import { runEveryCommand } from "../harness/command-walk.ts";
import { connectionOver } from "../harness/connection.ts";
import { decide, enrollNew, enrollOnce, newEnrollee, readinessBecomes } from "../harness/enrollee.ts";
import { localIn } from "../harness/local.ts";
import { startMaster } from "../harness/master.ts";
import { connectPeel, type EnrolledPeel, enrollPeel, observedLog } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Room on the bus (specification "A fleet with enemies inside", section 2), tried on servers with small stores.

setDefaultTimeout(150_000);

const mebibyte = 1024 * 1024;
const small = () => "256MB";

async function streamsOf(bus: TestBus) {
  const master = await connectTo(bus, "master");
  try {
    const manager = await master.nats.jetstreamManager();
    return new Map((await manager.streams.list().next()).map((one) => [one.config.name, one]));
  } finally {
    await master.nats.close();
  }
}

async function readiness(healthUrl: string) {
  const response = await fetch(`${healthUrl}/readyz`);
  const { checks } = (await response.json()) as {
    checks: Record<string, { status: string; message?: string }>;
  };
  return { code: response.status, storage: checks.storage };
}

/** A peel that does what it is told. */
async function runPeel(bus: TestBus, peel: EnrolledPeel) {
  const connection = await connectPeel(bus, peel);
  const over = connectionOver(connection.bus);
  const log = observedLog();
  const local = localIn(join(bus.dir, peel.peelId), peel.peelId, log);
  local.outbox.attach(over);
  const commandKeys = { current: peel.commandKeys };
  startWorker({
    ...{ connection: over, peelId: peel.peelId, commandKeys, local },
    ...{ clock: systemClock, random: systemRandom, log },
  });
  await connection.nats.flush();
  return {
    async [Symbol.asyncDispose]() {
      await local.stop();
      await connection[Symbol.asyncDispose]();
    },
  };
}

test("on a bus with 256 MB every stream has a limit, and together they stay within it", async () => {
  await using bus = await startBus({ maxFileStore: small });
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  const streams = [...(await streamsOf(bus)).values()];
  expect(streams).toHaveLength(Object.keys(assets).length);
  expect(streams.filter(({ config }) => config.max_bytes <= 0)).toEqual([]);
  const onDisk = streams.filter(({ config }) => config.storage === "file");
  expect(onDisk.reduce((sum, { config }) => sum + config.max_bytes, 0)).toBeLessThan(256 * mebibyte);
  const limits = new Map(streams.map(({ config }) => [config.name, config.max_bytes]));
  expect(limits.get("job-events")).toBe(128 * mebibyte);
  const decisions = ["KV_enrollments", "KV_revocations", "KV_rollouts", "KV_settings"];
  for (const name of decisions) expect(limits.get(name)).toBeGreaterThanOrEqual(4 * mebibyte);
  const peel = await enrollPeel(master, "small");
  await using _ = await runPeel(bus, peel);
  expect(await cli(bus, "run", "small", "test.ping")).toMatchObject({ exit: 0 });
});

test("jobs.max_bytes is the limit of job-events, and a change of it is taken over", async () => {
  await using bus = await startBus();
  for (const [text, bytes] of [
    ["16MiB", 16 * mebibyte],
    [20_000_000, 20_000_000],
  ] as const) {
    await using master = await startMaster(bus, { config: { jobs: { max_bytes: text } } });
    await readinessBecomes(master.healthUrl, 200);
    expect((await streamsOf(bus)).get("job-events")?.config.max_bytes).toBe(bytes);
  }
});

test("yesterday's streams without limits get them, and lose nothing", async () => {
  await using bus = await startBus({ maxFileStore: small });
  {
    await using master = await startMaster(bus);
    await readinessBecomes(master.healthUrl, 200);
    await enrollPeel(master, "known");
  }
  let admin = await connectTo(bus, "master");
  let { streams } = await admin.nats.jetstreamManager();
  for (const { config } of await streams.list().next()) {
    const discard = config.name === "job-events" ? "old" : config.discard;
    await streams.update(config.name, { ...config, max_bytes: -1, discard } as never);
  }
  await streams.delete("KV_probe");
  // A server that grew up with limits gives back what they reserved when it starts.
  await admin.nats.close();
  await bus.restart();
  admin = await connectTo(bus, "master");
  ({ streams } = await admin.nats.jetstreamManager());
  // More than its share, in the stream and in a bucket.
  const megabyte = new Uint8Array(mebibyte - 1_000);
  for (let i = 0; i < 150; i++) await admin.nats.request(returnSubject(`job-${i}`, "known"), megabyte);
  for (let i = 0; i < 12; i++) await admin.nats.request(`$KV.facts.filler-${i}`, megabyte);
  const before = await streams.list().next();
  await admin.nats.close();

  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  const after = await streamsOf(bus);
  for (const { config, state } of before) {
    const now = after.get(config.name);
    expect([config.name, (now?.config.max_bytes ?? 0) >= state.bytes]).toEqual([config.name, true]);
    // Masters write to the others.
    if (["KV_facts", "job-events", "KV_enrollments"].includes(config.name)) {
      expect([config.name, now?.state.messages]).toEqual([config.name, state.messages]);
    }
  }
  expect(after.get("job-events")?.config.discard as string).toBe("new");
  expect((await cli(bus, "enroll", "list", "--state", "all")).stdout).toContain("known");
});

test("408 acks of 1 MB fill neither the bus nor the way of other peels", async () => {
  await using bus = await startBus({ maxFileStore: small });
  // A suspension would end the flood, and remove what it left.
  await using master = await startMaster(bus, { config: { budget: { suspend: false } } });
  const [bad, good] = [await enrollPeel(master, "flooder"), await enrollPeel(master, "honest")];
  await using _ = await runPeel(bus, good);
  await using flooding = await connectPeel(bus, bad);
  const megabyte = new Uint8Array(mebibyte - 1_000);
  const answers = { stored: 0, refused: 0 };
  for (let i = 0; i < 408; i++) {
    const answer = await flooding.nats.request(ackSubject(`job-${i}`, "flooder"), megabyte, {
      timeout: 30_000,
    });
    answers[answer.string().includes('"error"') ? "refused" : "stored"]++;
  }
  expect(answers.stored + answers.refused).toBe(408);
  const jobEvents = (await streamsOf(bus)).get("job-events");
  expect(jobEvents?.state.bytes).toBeLessThanOrEqual(jobEvents?.config.max_bytes ?? 0);
  expect(await cli(bus, "run", "honest", "test.ping")).toMatchObject({ exit: 0 });
  expect((await readiness(master.healthUrl)).code).toBe(200);
  // The master makes room, reports it, and what comes is stored again.
  const said = [
    "old messages of jobs are discarded to make room",
    "messages of running jobs are discarded: the stream was full",
  ];
  await until(() => master.records.some(({ event }) => said.includes(event)));
  const stored = await flooding.nats.request(ackSubject("job-last", "flooder"), new Uint8Array(10));
  expect(stored.json<object>()).toMatchObject({ stream: "job-events" });
  const metrics = await (await fetch(`${master.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/svc_storage_discarded_messages_total\{stream="job-events"\} [1-9]/);
});

test("a full store takes /readyz down with the name of the stream, svc doctor and svc status tell why, and room brings it back", async () => {
  await using bus = await startBus({ maxFileStore: small });
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  expect((await readiness(master.healthUrl)).storage).toMatchObject({ status: "up" });
  const admin = await connectTo(bus, "master");
  const { streams } = await admin.nats.jetstreamManager();
  await streams.add({ name: "foreign", subjects: ["foreign.>"] });
  const eightMegabytes = new Uint8Array(7 * mebibyte);
  for (;;) {
    const answer = await admin.nats.request("foreign.x", eightMegabytes, { timeout: 30_000 });
    if (answer.string().includes('"error"')) break;
  }
  await readinessBecomes(master.healthUrl, 503);
  const { storage } = await readiness(master.healthUrl);
  expect(storage).toEqual({
    status: "down",
    message: expect.stringMatching(
      /^KV_master-probe refuses to store a value: .*: make room on the disk of the bus/,
    ),
    next: expect.stringContaining("make room on the disk"),
    latency_ms: expect.any(Number),
  } as never);
  const doctor = await cli(bus, "doctor");
  expect([doctor.exit, doctor.stdout]).toEqual([
    1,
    expect.stringMatching(/FAIL {2}writes +KV_master-probe refuses to store a value/),
  ]);
  expect(doctor.stdout).toMatch(/FAIL {2}masters +localhost-\w+ is down: .*storage: KV_master-probe refuses/);
  await expect(
    openBucket(admin, "jobs").then((jobs) => jobs.put("x", eightMegabytes.subarray(0, 9_000))),
  ).rejects.toThrow(/the bucket jobs refuses to store more \(.*\): make room on the disk of the bus/);
  const status = await cli(bus, "status");
  expect([status.exit, status.stdout]).toEqual([
    1,
    expect.stringMatching(/note: master localhost-\w+ is down: .*storage: KV_master-probe refuses/),
  ]);
  const { exits, faults } = await runEveryCommand(bus);
  expect(faults).toEqual([]);
  expect([exits.get("run member test.ping --async"), exits.get("job list")]).toEqual([1, 0]);
  // As when the heartbeats have expired: the master runs, and cannot store another one.
  await streams.purge("KV_master-heartbeat");
  const blind = "masters cannot store their heartbeats: KV_master-probe refuses to store a value";
  const later = await cli(bus, "status");
  expect([later.exit, later.stdout]).toEqual([1, expect.stringContaining(blind)]);
  expect(later.stdout).not.toContain("no master is running");
  expect((await cli(bus, "bus", "verify")).stderr).toContain(blind);

  await streams.delete("foreign");
  await readinessBecomes(master.healthUrl, 200);
  expect((await readiness(master.healthUrl)).storage).toMatchObject({ status: "up" });
  // The next heartbeat of the master may be up to 5 s away.
  await until(async () => (await cli(bus, "doctor")).exit === 0);
  // However often they ask, one value is kept for each check of this master: storage, clock, and that for svc doctor.
  expect((await streams.info("KV_probe")).state.messages).toBe(0);
  expect((await streams.info("KV_master-probe")).state.messages).toBeLessThanOrEqual(3);
  await admin.nats.close();
});

test("a bucket that is full takes /readyz down with its name, and only a large one of peels does not", async () => {
  await using bus = await startBus({ maxFileStore: small });
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  const admin = await connectTo(bus, "master");
  const { streams } = await admin.nats.jetstreamManager();
  const fill = async (subject: string) => {
    for (let i = 0; ; i++) {
      const answer = await admin.nats.request(`${subject}${i}`, new Uint8Array(60_000));
      if (answer.string().includes('"error"')) return;
    }
  };
  await fill("svc.event.some-peel.full.");
  expect(await readiness(master.healthUrl)).toMatchObject({ code: 200 });
  await fill("$KV.revocations.filler-");
  await readinessBecomes(master.healthUrl, 503);
  expect((await readiness(master.healthUrl)).storage).toMatchObject({
    status: "down",
    message: expect.stringMatching(/^KV_revocations is full \(9\d % of /),
  });
  await streams.purge("KV_revocations", { filter: "$KV.revocations.filler-1" });
  await streams.purge("KV_revocations", { filter: "$KV.revocations.*" });
  await readinessBecomes(master.healthUrl, 200);
  await admin.nats.close();
});

test("pending enrollments leave room for decisions: newcomers are asked to come later", async () => {
  await using bus = await startBus({ maxFileStore: small });
  await using master = await startMaster(bus);
  const admin = await connectTo(bus, "master");
  const { streams } = await admin.nats.jetstreamManager();
  const bucket = await openBucket(admin, "enrollments");
  const waiting = newEnrollee();
  const id = await enrollNew(master, waiting);
  const entry = await bucket.get(id);
  if (entry === undefined) throw new Error("the record is not stored");
  const template = decodeRecord(entry.value);
  // As many of the largest kind as there may be at once; the table takes no more after some of them.
  const metadata = { note: "x".repeat(3_500) };
  const limit = (await streams.info("KV_enrollments")).config.max_bytes;
  const ids: string[] = [];
  for (let at = 0; at * 4_096 < limit * 0.8; at += 100) {
    const records = Array.from({ length: 100 }, (_, more) => {
      const record = {
        ...template,
        id: newId("enr", 1, systemRandom),
        peelId: `filler-${at + more}`,
        metadata,
      };
      return insertEnrollment(bucket, record, undefined);
    });
    ids.push(...(await Promise.all(records)).flatMap((one) => one?.record.id ?? []));
  }
  const { state } = await streams.info("KV_enrollments");
  expect(state.bytes).toBeWithin(limit * 0.75, limit * 0.95);
  let newcomer = newEnrollee();
  let answer = await enrollOnce(master, newcomer);
  // Others filled the bucket, which a master measures once for so many enrollments.
  for (let more = 0; more < 64 && answer.status === 201; more++) {
    newcomer = newEnrollee();
    answer = await enrollOnce(master, newcomer);
  }
  expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "60" } });
  // Who waits may repeat and be decided on, and so may the others.
  expect(await enrollOnce(master, waiting)).toMatchObject({ status: 200, json: { id } });
  await decide(master, "approve", id);
  for (const one of ids.slice(0, 50)) await decide(master, "reject", one);
  expect((await streams.info("KV_enrollments")).state.bytes).toBeLessThan(limit * 0.95);
  expect(await readiness(master.healthUrl)).toMatchObject({ code: 200 });
  // With room again the newcomer has a place.
  for (const one of ids.slice(-400))
    await streams.purge("KV_enrollments", { filter: `$KV.enrollments.${one}` });
  await enrollNew(master, newcomer);
  await admin.nats.close();
});

test("after a restart of the bus with less room the streams that it could not open are there again", async () => {
  let offered = "400MB";
  await using bus = await startBus({ maxFileStore: () => offered });
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  await enrollPeel(master, "stays");
  const count = (await streamsOf(bus)).size;
  offered = "200MB";
  await bus.restart();
  const areMissing = () =>
    master.records.some(({ event }) => event === "streams are missing after a restart of the bus");
  // Servers from 2.10 on open all of them, whatever their limits; 2.9 leaves some out. Three are in memory.
  await until(async () => areMissing() || (await streamsOf(bus)).size >= count - 3);
  await readinessBecomes(master.healthUrl, 200);
  const streams = await streamsOf(bus);
  expect(streams.size).toBeGreaterThanOrEqual(count - 3);
  if (areMissing()) {
    const onDisk = [...streams.values()].filter(({ config }) => config.storage === "file");
    expect(onDisk.reduce((sum, { config }) => sum + config.max_bytes, 0)).toBeLessThan(200 * mebibyte);
    expect(streams.get("job-events")?.config.max_bytes).toBeLessThanOrEqual(100 * mebibyte);
  }
  expect((await cli(bus, "enroll", "list", "--state", "all")).stdout).toContain("stays");
});

/** A heartbeat of a master that is missing, or does not say how it is. */
async function pretend(bus: TestBus, name: string) {
  const master = await connectTo(bus, "master");
  const value = encode({ hostname: "far", version, started_at: "2026-01-01T00:00:00.000Z", vouches: true });
  await (await openBucket(master, "master-heartbeat")).put(name, value);
  return { nats: master.nats, [Symbol.asyncDispose]: () => master.nats.close() };
}

/** Runs `svc` and measures. */
async function timed(bus: Parameters<typeof cli>[0], ...argv: string[]) {
  const started = systemClock.monotonic();
  const ran = await cli(bus, ...argv);
  return { ...ran, inTime: systemClock.monotonic() - started < 10_000 };
}

test("a master that does not answer for itself is a failure, whatever its heartbeat says", async () => {
  await using bus = await startBus();
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  expect((await cli(bus, "status")).stdout).toMatch(/READY\nlocalhost-\w+ .* up\n/);
  await using gone = await pretend(bus, "gone-00000000");
  await using frozen = await pretend(bus, "frozen-00000000");
  frozen.nats.subscribe(readyzOfMasterSubject("frozen-00000000"), { callback() {} });
  await gone.nats.flush();
  for (const argv of [["doctor"], ["status"]]) {
    const { exit, stdout, inTime } = await timed(bus, ...argv);
    expect([exit, inTime]).toEqual([1, true]);
    expect(stdout).toMatch(/gone-00000000 is silent: it does not answer for itself/);
    expect(stdout).toMatch(/frozen-00000000 is silent: it does not answer for itself: no answer/);
    expect(stdout).not.toMatch(/localhost-\w+ is/);
  }
});

test("a degraded master shows with its reason, and is not a failure", async () => {
  await using bus = await startBus();
  await using master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  await using other = await pretend(bus, "other-00000000");
  const next = "git ls-remote https://git.example.com/states";
  const gitfs = { status: "degraded", message: "the last pull failed", next };
  const checks = { gitfs, bus: { status: "up" } };
  other.nats.subscribe(readyzOfMasterSubject("other-00000000"), {
    callback: (_, message) => void message.respond(encode({ ok: true, ready: true, checks })),
  });
  await other.nats.flush();
  const doctor = await cli(bus, "doctor");
  expect([doctor.exit, doctor.stdout]).toEqual([
    0,
    expect.stringMatching(
      /warn {2}masters +other-00000000 is degraded: gitfs: the last pull failed\n +next: git ls/,
    ),
  ]);
  const status = await cli(bus, "status");
  expect([status.exit, status.stdout]).toEqual([
    0,
    expect.stringContaining(
      `note: master other-00000000 is degraded: gitfs: the last pull failed; next: ${next}`,
    ),
  ]);
});

test("a master that stops takes its heartbeat with it", async () => {
  await using bus = await startBus();
  const master = await startMaster(bus);
  await readinessBecomes(master.healthUrl, 200);
  await master[Symbol.asyncDispose]();
  const admin = await connectTo(bus, "master");
  expect(await (await openBucket(admin, "master-heartbeat")).entries()).toEqual([]);
  await admin.nats.close();
  const status = await cli(bus, "status");
  expect([status.exit, status.stderr]).toEqual([1, expect.stringContaining("no master is answering")]);
});

test("with a frozen bus and without one every command answers within 10 s", async () => {
  await using bus = await startBus();
  bus.server().kill("SIGSTOP");
  try {
    const doctor = await timed(bus, "doctor");
    expect([doctor.exit, doctor.inTime, doctor.stdout]).toEqual([
      1,
      true,
      expect.stringMatching(/FAIL {2}bus connection +no answer/),
    ]);
    expect(await timed(bus, "status")).toMatchObject({ exit: 1, inTime: true });
    expect((await runEveryCommand(bus)).faults).toEqual([]);
  } finally {
    bus.server().kill("SIGCONT");
  }
  await bus.stop();
  const { exits, faults } = await runEveryCommand(bus);
  expect([faults, [...exits.values()].filter((exit) => exit !== 1)]).toEqual([[], []]);
});

test("without a majority svc doctor and svc status answer within 10 s, and say what does not", async () => {
  await using cluster = await startCluster();
  await using master = await startMaster(cluster.bus);
  await readinessBecomes(master.healthUrl, 200);
  const [, ...others] = cluster.nodes;
  await Promise.all(others.map((node) => node.stop("SIGKILL")));
  const doctor = await timed(cluster.bus, "doctor");
  expect([doctor.exit, doctor.inTime]).toEqual([1, true]);
  expect(doctor.stdout).toMatch(/FAIL {2}(storage|writes|bus credentials) /);
  const status = await timed(cluster.bus, "status");
  expect([status.exit, status.inTime]).toEqual([1, true]);
  await Promise.all(others.map((node) => node.start()));
});
