import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startWorker } from "../../internal/agent/daemon/worker.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { connectionOver } from "../harness/connection.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, enrollPeel, observedLog, refusals, submitPeel } from "../harness/peel-connection.ts";

// The permissions of admin.creds, each through the command that needs it, and its denials.

let bus: TestBus;
let master: TestMaster;
let masters: Bus;
let operator: Bus;
const log = observedLog();
const timeout = 2_000;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  masters = await connectTo(bus, "master");
  operator = await connectBus({
    urls: [bus.url],
    name: "test-operator",
    identity: { credentials: await Bun.file(join(bus.authDir, "admin.creds")).text() },
    ca: bus.caPem,
    clock: systemClock,
    log,
  });
  writeFileAtomic(
    join(bus.dir, "svc.yaml"),
    `master: {urls: ["${bus.url}"], creds_file: ${join(bus.authDir, "admin.creds")}, tls_ca: ${bus.caFile}}\n`,
    secretMode,
  );
}, 60_000);
afterAll(async () => {
  await operator?.nats.close();
  await masters?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Runs `svc` with admin.creds. */
const svc = (...argv: string[]) => cli(bus, ...argv);

const stateOf = async (enrollmentId: string) =>
  JSON.parse((await svc("enroll", "show", enrollmentId, "--output", "json")).stdout).state as string;

describe("admin.creds are enough for", () => {
  test("svc enroll list and show", async () => {
    const { enrollmentId } = await submitPeel(master, "listed");
    const listed = await svc("enroll", "list", "--wide");
    expect([listed.exit, listed.stdout]).toEqual([0, expect.stringContaining(enrollmentId)]);
    const shown = await svc("enroll", "show", enrollmentId);
    expect([shown.exit, shown.stdout]).toEqual([0, expect.stringContaining("listed")]);
  });

  test.each([[[]], [["--direct-kv"]]])("svc enroll approve, reject and revoke %p", async (direct) => {
    const name = direct.length === 0 ? "asked" : "direct";
    const [first, second] = [await submitPeel(master, `${name}-1`), await submitPeel(master, `${name}-2`)];
    expect(await svc("enroll", "approve", first.enrollmentId, ...direct)).toMatchObject({ exit: 0 });
    expect(await svc("enroll", "reject", second.enrollmentId, "--reason", "no", ...direct)).toMatchObject({
      exit: 0,
    });
    expect(await svc("enroll", "revoke", first.enrollmentId, ...direct)).toMatchObject({ exit: 0 });
    const issued = await enrollPeel(master, `${name}-3`);
    expect(await svc("enroll", "revoke", issued.enrollmentId, ...direct)).toMatchObject({ exit: 0 });
    const ids = [first.enrollmentId, second.enrollmentId, issued.enrollmentId];
    expect(await Promise.all(ids.map(stateOf))).toEqual(["revoked", "rejected", "revoked"]);
  });

  test("svc run, and following the job to its end", async () => {
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
    const ran = await svc("run", "worker-1", "test.ping", "--output", "json");
    expect(ran).toMatchObject({ exit: 0 });
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: "completed", outcomes: { "worker-1": "ok" } });
    await local.stop();
  });

  test.each([
    "svc.job.job-1.cancel",
    "svc.admin.token.create",
    "svc.admin.token.list",
    "svc.admin.token.revoke",
    "svc.admin.role.show",
    "svc.admin.role.can",
    "svc.target.resolve",
    "svc.rollout.start",
    "svc.rollout.list",
    "svc.rollout.pause",
    "svc.rollout.resume",
    "svc.rollout.abort",
    "svc.reactor.test",
    "svc.reactor.status",
    "svc.reactor.rules",
    "svc.reactor.reset",
    "svc.binary.put",
    "svc.binary.commit",
  ])("asking the masters on %s", async (subject) => {
    const serving = masters.nats.subscribe(subject, { callback: (_, message) => message.respond("done") });
    await masters.nats.flush();
    expect((await operator.nats.request(subject, "", { timeout })).data.length).toBeGreaterThan(0);
    serving.unsubscribe();
  });
});

describe("admin.creds may not publish", () => {
  test.each([
    "$KV.enrollments.enr-1",
    "$KV.enrollments.peel.worker-1",
    "$KV.revocations.U",
    "$KV.secrets._cluster_info",
    "$KV.settings.worker-1",
    "$KV.leases.publisher",
    "$KV.jobs.job-1",
    "$KV.facts.worker-1",
    "$KV.peel-heartbeat.worker-1",
    "$KV.master-heartbeat.m",
    "$KV.enroll-challenges.chl-1",
    "$KV.rollouts.r",
    "$KV.tokens.ci",
    "$JS.API.STREAM.MSG.GET.KV_tokens",
    "$O.states.M.x",
    "$O.binaries.C.x",
    "$O.binaries.M.x",
    "svc.binary",
    "svc.rollout",
    "svc.rollout.rol-1.abort",
    "svc.job.job-1.dispatch.worker-1",
    "svc.job.job-1.stop.worker-1",
    "svc.job.job-1.return.worker-1",
    "svc.job.job-1.ack.worker-1",
    "svc.peel.worker-1.hint",
    "svc.peel.worker-1.hello",
    "svc.event.worker-1.x",
    "svc.event._master.x",
    "svc.reactor",
    "svc.reactor.test.x",
    "$KV.reactor.breakers",
    "$JS.API.STREAM.MSG.GET.events",
    "$JS.API.STREAM.MSG.GET.KV_reactor",
    "$JS.API.CONSUMER.CREATE.events",
    "$JS.API.CONSUMER.DELETE.events.reactor-events",
    "svc.admin.enroll",
    "svc.admin.other",
    "$JS.API.STREAM.CREATE.KV_x",
    "$JS.API.STREAM.UPDATE.KV_enrollments",
    "$JS.API.STREAM.DELETE.KV_enrollments",
    "$JS.API.STREAM.PURGE.KV_enrollments",
    "$JS.API.STREAM.MSG.DELETE.KV_revocations",
    "$JS.API.STREAM.MSG.GET.KV_secrets",
    "$JS.API.STREAM.MSG.GET.KV_settings",
    "$JS.API.DIRECT.GET.KV_settings.$KV.settings.worker-1",
    "$JS.API.CONSUMER.CREATE.KV_secrets",
    "$JS.API.CONSUMER.CREATE.KV_settings.c.$KV.settings.worker-1",
    "$JS.API.CONSUMER.DURABLE.CREATE.KV_enrollments.d",
    "$JS.API.STREAM.RESTORE.KV_enrollments",
    "$JS.API.STREAM.SNAPSHOT.KV_settings",
    "$JS.API.ACCOUNT.PURGE.x",
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.SERVER.PING",
  ])("%s", async (subject) => {
    expect(await refusals(operator, log.records, () => operator.nats.publish(subject, "x"))).toEqual([
      subject,
    ]);
  });
});

describe("admin.creds may not subscribe to", () => {
  test.each([
    "$KV.>",
    "$KV.settings.>",
    "$KV.secrets.>",
    "$KV.secrets._cluster_info",
    "svc.rollout.*",
    "svc.peel.>",
    "svc.admin.>",
    "svc.event.>",
    "svc.reactor.*",
    "$KV.reactor.>",
    "svc.>",
    ">",
    "$JS.>",
    "$SYS.>",
    "_R_.>",
  ])("%s", async (subject) => {
    expect(
      await refusals(operator, log.records, () => operator.nats.subscribe(subject, { callback() {} })),
    ).toEqual([subject]);
  });
});

test("admin.creds may not read settings and secrets", async () => {
  for (const [name, key] of [
    ["settings", "worker-1"],
    ["secrets", "_cluster_info"],
  ] as const) {
    const bucket = await openBucket(operator, name);
    await expect(bucket.get(key)).rejects.toMatchObject({ kind: "storage" });
  }
});
