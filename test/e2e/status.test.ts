import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { startWorker } from "../../internal/agent/daemon/worker.ts";
import { rfc3339, systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { streamName } from "../../internal/bus/assets/assets.ts";
import { contend, type Tenure } from "../../internal/bus/lease/lease.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { formatCredentials, parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import type { StepResult } from "../../internal/program/diagnosis/step.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { connectionOver } from "../harness/connection.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, observedLog, operate, submitPeel } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

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

const status = async () => JSON.parse((await cli(bus, "status", "--output", "json")).stdout);
async function doctor(...args: string[]) {
  const { exit, stdout } = await cli(bus, "doctor", ...args, "--output", "json");
  const steps = JSON.parse(stdout) as StepResult[];
  return { exit, levels: Object.fromEntries(steps.map(({ step, level }) => [step, level])), steps };
}

test("svc status shows peels, enrollments, masters, leases and what ends soon", async () => {
  const { enrollmentId } = await submitPeel(master, "waiting");
  await enrollPeel(master, "silent_example");
  const shown = await status();
  expect(shown).toMatchObject({
    peels: { states: { pending: 1, issued: 1 }, alive: 0, silent: ["silent.example"], versions: {} },
    pending: [{ id: enrollmentId, peel_id: "waiting" }],
    jobs: [],
    masters: [
      {
        name: expect.stringMatching(/^localhost-[0-9a-f]{8}$/),
        hostname: "localhost",
        certificate_ends_at: expect.any(String),
      },
    ],
    notes: [],
  });
  expect(shown.ending).toEqual([]);
  const table = await cli(bus, "status", "--wide");
  expect([table.exit, table.stdout]).toEqual([
    0,
    expect.stringMatching(/masters {2,}1 alive[\s\S]*silent\.example/),
  ]);
});

test("svc status shows rollouts that have not ended", async () => {
  const { peelId } = await enrollPeel(master, "in-waves");
  const ids: string[] = [];
  for (const text of ["one", "other"]) {
    const started = await cli(bus, "rollout", "start", peelId, "test.echo", text, "--async");
    expect(started).toMatchObject({ exit: 0 });
    ids.push(started.stdout.trim());
  }
  const [running = "", paused = ""] = ids;
  expect(await cli(bus, "rollout", "pause", paused)).toMatchObject({ exit: 0 });
  expect((await status()).rollouts).toMatchObject([
    { id: running, function: "test.echo", targets: 1, status: "running", wave: 1, waves: 1 },
    { id: paused, status: "paused" },
  ]);
  const table = await cli(bus, "status", "--wide");
  expect(table.stdout).toMatch(new RegExp(`1 running, 1 paused[\\s\\S]*${paused}.* paused `));
  for (const id of ids) await cli(bus, "rollout", "abort", id);
});

test("svc status counts a peel with a heartbeat as alive, with its version", async () => {
  const peel = await enrollPeel(master, "beating");
  await using masters = await disposable();
  const beats = await openBucket(masters.bus, "peel-heartbeat");
  await beats.put(peel.peelId, encode({ version: "9.9.9", started_at: "2026-01-01T00:00:00.000Z" }));
  expect((await status()).peels).toMatchObject({ alive: 1, versions: { "9.9.9": 1 } });
  const leases = await openBucket(masters.bus, "leases");
  await leases.put("test-lease", encode({ holder: "somebody", token: 7 }));
  expect((await status()).leases).toContainEqual({ name: "test-lease", holder: "somebody", token: 7 });
});

test("svc status names who holds a lease, and since when", async () => {
  await using masters = await disposable();
  const leases = await openBucket(masters.bus, "leases");
  const tenure = Promise.withResolvers<Tenure>();
  const lease = contend({
    bucket: leases,
    name: "named",
    self: "host-1-7",
    onTenure: tenure.resolve,
    clock: systemClock,
    jitter: () => 0,
    log: observedLog(),
  });
  const { token } = await tenure.promise;
  const held = { name: "named", holder: "host-1-7", token, since: expect.stringMatching(/^20\d\d-.*Z$/) };
  expect((await status()).leases).toContainEqual(held);
  expect((await cli(bus, "status", "--wide")).stdout).toMatch(
    /LEASE +HOLDER +SINCE\n(.*\n)*named +host-1-7 +20\d\d-\S+Z\n/,
  );
  const { steps } = await doctorOf(bus);
  expect(said(steps, "leases")[1]).toMatch(/(^|, )named host-1-7 since 20\d\d-\S+Z(,|$)/);
  await lease.stop();
});

async function disposable() {
  const bus_ = await connectTo(bus, "master");
  return { bus: bus_, [Symbol.asyncDispose]: () => bus_.nats.close() };
}

test("svc doctor finds nothing wrong between here and a master", async () => {
  const { exit, steps } = await doctor();
  expect(steps.filter(({ level }) => level !== "ok")).toEqual([]);
  expect(exit).toBe(0);
});

test("svc doctor explains each state of a peel", async () => {
  expect(await doctor("nobody-knows")).toMatchObject({
    exit: 1,
    levels: { masters: "ok", enrollment: "fail", trust: "skip", heartbeat: "skip" },
  });
  const { enrollmentId } = await submitPeel(master, "patient");
  const pending = await doctor("patient");
  expect(pending.exit).toBe(1);
  expect(pending.steps.find(({ step }) => step === "enrollment")?.next).toContain(
    `svc enroll approve ${enrollmentId}`,
  );
  const revoked = await enrollPeel(master, "gone");
  await operate(master, revoked.enrollmentId, "revoke", { reason: "stolen" });
  expect((await doctor("gone")).steps.find(({ step }) => step === "enrollment")?.message).toMatch(
    /^revoked at .*: stolen$/,
  );
});

test("a peel with a wrong clock, and one that refuses commands, are shown", async () => {
  const [ahead, right] = [await enrollPeel(master, "ahead-1"), await enrollPeel(master, "right-1")];
  await using connection = await disposable();
  const beats = await openBucket(connection.bus, "peel-heartbeat");
  const beat = (aheadMs: number, more: object = {}) =>
    encode({
      version: "0.1.0",
      started_at: "2026-01-01T00:00:00.000Z",
      sent_at: rfc3339(systemClock.now() + aheadMs),
      ...more,
    });
  await beats.put(ahead.peelId, beat(10 * 60_000, { commands_refused: { expired: 3 } }));
  await beats.put(right.peelId, beat(0));
  const { peels } = await status();
  expect(peels.wrong_clocks).toEqual([{ peel: "ahead-1", peel_id: "ahead-1", ahead_ms: expect.any(Number) }]);
  expect(peels.refusing).toEqual([{ peel: "ahead-1", peel_id: "ahead-1", commands_refused: { expired: 3 } }]);
  const shown = (await cli(bus, "status")).stdout;
  expect(shown).toMatch(/WRONG CLOCK +DIFFERENCE\nahead-1 +(10m|9m5\ds) ahead\n/);
  expect(shown).toMatch(/REFUSED COMMANDS +COUNT\nahead-1 +3 expired\n/);
  const step = (await doctor("ahead-1")).steps.find((one) => one.step === "heartbeat");
  expect(step).toMatchObject({ level: "fail", next: expect.stringContaining("set the clock of its host") });
  expect((await doctor("right-1")).levels.heartbeat).toBe("ok");
});

test("svc doctor looks at the heartbeat, the facts and the last job of a peel", async () => {
  const peel = await enrollPeel(master, "worker-1");
  await using connection = await connectPeel(bus, peel);
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
  expect((await cli(bus, "run", "worker-1", "test.ping")).exit).toBe(0);
  const found = await doctor("worker-1");
  await local.stop();
  expect(found).toMatchObject({
    exit: 1,
    levels: { enrollment: "warn", trust: "ok", heartbeat: "fail", facts: "warn", "last job": "ok" },
  });
});

test("without a master svc status and svc doctor say so", async () => {
  await using alone = await startBus();
  await using was = await startMaster(alone);
  await was[Symbol.asyncDispose]();
  const masters = await connectTo(alone, "master");
  const beats = await openBucket(masters, "master-heartbeat");
  for (const { key, revision } of await beats.entries()) await beats.remove(key, revision);
  await masters.nats.close();
  const begun = systemClock.monotonic();
  const shown = await cli(alone, "status");
  expect(shown).toMatchObject({ exit: 1, stderr: expect.stringContaining("no master is answering") });
  expect(systemClock.monotonic() - begun).toBeLessThan(10_000);
  const direct = await cli(alone, "status", "--direct");
  expect(direct).toMatchObject({ exit: 0, stdout: expect.stringContaining("no master is running") });
  const examined = await cli(alone, "doctor");
  expect([examined.exit, examined.stdout]).toEqual([1, expect.stringMatching(/FAIL {2}masters/)]);
});

/** The message of a step, and its next step. */
const said = (steps: readonly StepResult[], name: string) => {
  const found = steps.find(({ step }) => step === name);
  return [found?.level, found?.message, found?.next];
};
async function doctorOf(at: TestBus, ...peel: string[]) {
  const { exit, stdout } = await cli(at, "doctor", ...peel, "--output", "json");
  return { exit, steps: JSON.parse(stdout) as StepResult[] };
}

test("on a bus that no master has used, both say what is missing and that a master makes it", async () => {
  await using empty = await startBus();
  const { steps: requested } = await doctorOf(empty);
  expect(said(requested, "storage").slice(0, 2)).toEqual([
    "fail",
    "no master is answering: start svc-master",
  ]);
  const { exit, steps } = await doctorOf(empty, "--direct");
  expect(exit).toBe(1);
  expect(said(steps, "storage")).toEqual([
    "warn",
    expect.stringContaining("master-heartbeat, enrollments"),
    "start or restart a master: it creates the missing ones",
  ]);
  expect(said(steps, "clock")[0]).toBe("skip");
  expect(said(steps, "masters")).toEqual([
    "fail",
    expect.stringContaining("the bucket master-heartbeat is not available"),
    "run svc-master check on the host of a master",
  ]);
  const { notes } = JSON.parse((await cli(empty, "status", "--direct", "--output", "json")).stdout);
  expect((await doctorOf(empty, "web-1")).steps.at(-1)?.level).toBe("skip");
  expect(notes).toContainEqual(expect.stringMatching(/^cannot show masters: the bucket master-heartbeat /));
});

test("one bucket that someone deletes is there again at once", async () => {
  await using own = await startBus();
  await using started = await startMaster(own);
  await enrollPeel(started, "known-1");
  const masters = await connectTo(own, "master");
  const { streams } = await masters.nats.jetstreamManager();
  await streams.delete(streamName("rollouts"));
  await until(() =>
    streams.info(streamName("rollouts")).then(
      () => true,
      () => false,
    ),
  );
  await masters.nats.close();
  expect((await doctorOf(own)).exit).toBe(0);
});

/** The operator of this bus, with credentials that lack these subjects. */
const olderBy = (at: TestBus, lacks: (subject: string) => boolean): void => {
  const file = join(at.authDir, "admin.creds");
  const { jwt, key } = parseCredentials(readFileSync(file, "utf8"));
  const { iat: issuedAt, sub: subject, name, nats } = readClaims(jwt);
  const { allow } = nats.pub as { allow: string[] };
  const pub = { allow: allow.filter((one) => !lacks(one)) };
  const account = keyPairFromSeed("account", readFileSync(join(at.authDir, "masters.seed"), "utf8").trim());
  const older = encodeJwt({ type: "user", name, subject, issuedAt, nats: { ...nats, pub } }, account);
  writeFileAtomic(file, formatCredentials(older, key.seed), secretMode);
};

describe("credentials that are older than a grant", () => {
  const next = "create new ones with svc nats-auth credentials of this version";
  test("svc doctor names the subject, svc status and svc run what they could not do, all with the next step", async () => {
    await using own = await startBus();
    await using started = await startMaster(own);
    expect(started.url).not.toBe("");
    olderBy(own, (subject) => subject.startsWith("svc.op.") || subject.includes("KV_leases"));
    const { exit, steps } = await doctorOf(own);
    expect(exit).toBe(1);
    const hint = expect.stringContaining(`these credentials may not publish on svc.`);
    expect(said(steps, "masters").slice(0, 2)).toEqual(["fail", hint]);
    expect(said(steps, "storage").slice(0, 2)).toEqual(["fail", hint]);
    expect(said(steps, "credentials")).toEqual([
      "warn",
      expect.stringMatching(/may not publish on svc\.op\.U\S+$/),
      next,
    ]);
    const shown = JSON.parse((await cli(own, "status", "--output", "json")).stdout);
    expect(shown.notes.toSorted()).toEqual([
      ...["jobs", "masters", "peels", "pending enrollments", "rollouts", "state files", "strays"].map(
        (what) => expect.stringContaining(`cannot show ${what}: these credentials may not publish on svc.`),
      ),
    ]);
    // Nothing was counted, so no number is printed.
    const text = await cli(own, "status");
    expect([text.exit, text.stdout]).toEqual([1, expect.stringMatching(/^peels +not shown$/m)]);
    expect(text.stdout).not.toMatch(/^(?:pending|running jobs|rollouts|masters) +0/m);
    expect(shown.not_shown).toHaveLength(7);
    const ran = await cli(own, "run", "web-1", "test.ping", "--async");
    expect([ran.exit, ran.stderr]).toEqual([
      1,
      `svc: these credentials may not publish on svc.job.request: ${next}\n`,
    ]);

    const file = join(own.authDir, "admin.creds");
    rmSync(file);
    const made = await cli(own, "nats-auth", "credentials", "--dir", own.authDir, "--out", file);
    expect([made.exit, made.stdout]).toEqual([0, `${file}: credentials of the role admin\n`]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await doctorOf(own)).toMatchObject({ exit: 0 });
  });
});

test("with a dead bus svc doctor stops at that step and says what to do", async () => {
  const dead = { ...bus, url: "tls://127.0.0.1:1" };
  const { exit, stdout } = await cli(dead, "doctor", "web-1");
  expect(exit).toBe(1);
  expect(stdout).toMatch(/FAIL {2}bus connection .*\n +next: start the bus/);
  expect(stdout).toMatch(/skip {2}heartbeat/);
});
