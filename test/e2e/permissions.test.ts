import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { headers } from "nats";
import { startWorker } from "../../internal/agent/daemon/worker.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { connectionOver } from "../harness/connection.ts";
import { localIn } from "../harness/local.ts";
import { startMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  observedLog,
  type PeelConnection,
  refusals,
} from "../harness/peel-connection.ts";
import { lastStored } from "../harness/stored.ts";

// The permissions of a peel: one test per grant and one per denial. The master only enrolls peels here. After
// that a plain connection replaces the masters, so that nothing else responds.

let bus: TestBus;
let masters: Bus;
let a: PeelConnection;
let b: PeelConnection;
let peelA: EnrolledPeel;
let peelB: EnrolledPeel;
const timeout = 3_000;
const text = (value: string) => Buffer.from(value);

beforeAll(async () => {
  bus = await startBus();
  await using master = await startMaster(bus);
  peelA = await enrollPeel(master, "peel-a");
  peelB = await enrollPeel(master, "peel-b");
  masters = await connectTo(bus, "master");
  a = await connectPeel(bus, peelA);
  b = await connectPeel(bus, peelB);
}, 60_000);
afterAll(async () => {
  await a?.nats.close();
  await b?.nats.close();
  await masters?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

/** Collects what a connection receives on a subject, from the moment this resolves. */
async function collect(nats: Bus["nats"], subject: string) {
  const received: { subject: string; text: string; reply: string | undefined }[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const subscription = nats.subscribe(subject, {
    callback(error, message) {
      if (error !== null) return;
      received.push({ subject: message.subject, text: message.string(), reply: message.reply });
      for (const one of waiting) if (received.length >= one.count) one.resolve();
    },
  });
  await nats.flush();
  return {
    received,
    async first(count = 1) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ count, resolve });
      if (received.length >= count) resolve();
      await promise;
      return received.slice(0, count);
    },
    stop: () => subscription.unsubscribe(),
  };
}

/** Everything that is stored, by stream: how many messages and the last number. */
async function stored(except: readonly string[] = []) {
  const manager = await masters.nats.jetstreamManager();
  const streams = await manager.streams.list().next();
  return Object.fromEntries(
    streams
      .filter(({ config }) => !except.includes(config.name))
      .map(({ config, state }) => [config.name, [state.messages, state.last_seq]]),
  );
}

/** Waits until everything the connection sent was handled, and what follows from it. */
async function settle(...connections: Pick<Bus, "nats">[]) {
  for (const { nats } of [...connections, masters, ...connections, masters]) await nats.flush();
}

const acknowledged = async (nats: Bus["nats"], subject: string, data: Uint8Array | string) =>
  (await nats.request(subject, data, { timeout })).json<{ stream?: string; error?: { err_code: number } }>();

describe("a peel may", () => {
  test.each([
    ["peel-heartbeat", "$KV.peel-heartbeat.peel-a"],
    ["facts", "$KV.facts.peel-a"],
    ["compliance", "$KV.compliance.peel-a"],
    ["compliance-diffs", "$KV.compliance-diffs.peel-a"],
  ])("store its own key of %s, with an acknowledgement", async (name, subject) => {
    expect(await acknowledged(a.nats, subject, "mine")).toMatchObject({ stream: `KV_${name}` });
    const bucket = await openBucket(masters, name);
    expect((await bucket.get("peel-a"))?.value).toEqual(text("mine"));
  });

  test.each(["ack", "return", "schedule"])("store its %s of a job", async (kind) => {
    const subject = `svc.job.job-1.${kind}.peel-a`;
    expect(await acknowledged(a.nats, subject, `my ${kind}`)).toMatchObject({ stream: "job-events" });
    expect(await lastStored(masters, "job-events", subject)).toEqual(text(`my ${kind}`));
  });

  test("tell the masters of an event, which is stored", async () => {
    const subject = "svc.event.peel-a.disk.full";
    expect(await acknowledged(a.nats, subject, "95 %")).toMatchObject({ stream: "events" });
    expect(await lastStored(masters, "events", subject)).toEqual(text("95 %"));
  });

  test("tell who follows a job how far it is, which nothing keeps", async () => {
    const subject = "svc.job.job-1.progress.peel-a";
    const progress = await collect(masters.nats, subject);
    a.nats.publish(subject, "half");
    expect(await progress.first()).toMatchObject([{ subject, text: "half" }]);
    progress.stop();
  });

  test.each(["hello", "fetch", "renew", "rekey"])(
    "ask the masters by %s, and gets the answer itself",
    async (kind) => {
      const seen: string[] = [];
      const serving = masters.nats.subscribe(`svc.peel.*.${kind}`, {
        callback(_, message) {
          seen.push(message.subject);
          message.respond(`to ${message.string()}`);
        },
      });
      await masters.nats.flush();
      const answer = await a.nats.request(`svc.peel.peel-a.${kind}`, "me", { timeout });
      expect([answer.string(), seen]).toEqual(["to me", [`svc.peel.peel-a.${kind}`]]);
      serving.unsubscribe();
    },
  );

  test.each([
    ["its dispatches", "svc.job.*.dispatch.peel-a", "svc.job.job-1.dispatch.peel-a"],
    ["its stops", "svc.job.*.stop.peel-a", "svc.job.job-1.stop.peel-a"],
    ["its hints", "svc.peel.peel-a.hint", "svc.peel.peel-a.hint"],
    ["the cluster information", "$KV.secrets._cluster_info", "$KV.secrets._cluster_info"],
  ])("receive %s", async (_, pattern, subject) => {
    const mine = await collect(a.nats, pattern);
    masters.nats.publish(subject, "for you");
    expect(await mine.first()).toMatchObject([{ subject, text: "for you" }]);
    mine.stop();
  });
});

describe("a peel may not subscribe to", () => {
  test.each([
    "svc.job.*.dispatch.peel-b",
    "svc.job.job-1.dispatch.peel-b",
    "svc.job.*.stop.peel-b",
    "svc.peel.peel-b.hint",
    "svc.peel.*.hint",
    "_INBOX_peel-b.>",
    "_INBOX_peel-ab.>",
    "_INBOX.>",
    "_INBOX_peel-a",
    "svc.job.*.dispatch.*",
    "svc.job.*.stop.*",
    "svc.job.job-1.*.peel-a",
    "svc.job.*.return.peel-a",
    "svc.job.*.return.*",
    "svc.job.>",
    "svc.event.>",
    "svc.admin.>",
    "svc.peel.*.hello",
    "svc.>",
    ">",
    "*.>",
    "_R_.>",
    "$KV.>",
    "$KV.secrets.>",
    "$KV.secrets.*",
    "$KV.secrets.other",
    "$KV.settings.>",
    "$KV.settings.peel-a",
    "$KV.jobs.>",
    "$KV.facts.>",
    "$KV.enrollments.>",
    "$KV.peel-heartbeat.*",
    "$JS.>",
    "$SYS.>",
  ])("%s", async (subject) => {
    expect(await refusals(a, a.records, () => a.nats.subscribe(subject, { callback() {} }))).toEqual([
      subject,
    ]);
  });

  test("anything by a queue group that it may not by itself", async () => {
    expect(
      await refusals(a, a.records, () =>
        a.nats.subscribe("svc.job.*.return.peel-b", { queue: "svc.masters", callback() {} }),
      ),
    ).toEqual(["svc.job.*.return.peel-b"]);
  });
});

describe("a peel may not publish", () => {
  test.each([
    "$KV.peel-heartbeat.peel-b",
    "$KV.facts.peel-b",
    "$KV.compliance.peel-b",
    "$KV.compliance-diffs.peel-b",
    "svc.job.job-1.ack.peel-b",
    "svc.job.job-1.return.peel-b",
    "svc.job.job-1.schedule.peel-b",
    "svc.job.job-1.progress.peel-b",
    "svc.job.job-1.return.peel-a.more",
    "svc.event.peel-b.disk.full",
    "svc.event._master.svc.peel.peel-b.lost",
    "svc.event.peel-a",
    "svc.peel.peel-b.hello",
    "svc.peel.peel-b.fetch",
    "svc.peel.peel-b.renew",
    "svc.peel.peel-b.rekey",
    "svc.peel.peel-a.hint",
    "svc.peel.peel-b.hint",
    "$KV.enrollments.enr-1",
    "$KV.enrollments.peel.peel-a",
    "$KV.secrets._cluster_info",
    "$KV.secrets.other",
    "$KV.revocations.peel-a",
    "$KV.settings.peel-a",
    "$KV.jobs.job-1",
    "$KV.leases.publisher",
    "$KV.master-heartbeat.m",
    "$KV.enroll-challenges.chl-1",
    "$KV.rollouts.r",
    "$O.states.M.x",
    "$O.binaries.C.x",
    "$O.binaries.M.x",
    "svc.binary.put",
    "svc.binary.commit",
    "svc.admin.enroll.approve",
    "svc.admin.enroll.revoke",
    "svc.job.request",
    "svc.rollout.start",
    "svc.rollout.abort",
    "svc.job.job-1.cancel",
    "svc.job.job-1.dispatch.peel-a",
    "svc.job.job-1.dispatch.peel-b",
    "svc.job.job-1.stop.peel-a",
    "svc.job.job-1.stop.peel-b",
    "svc.admin.role.show",
    "svc.admin.role.can",
    "svc.target.resolve",
    "svc.reactor.test",
    "svc.reactor.status",
    "svc.reactor.rules",
    "svc.reactor.reset",
    "$KV.reactor.breakers",
    "_INBOX_peel-b.x",
    "_INBOX.x",
    "_R_.x.y",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.INFO.KV_secrets",
    "$JS.API.STREAM.MSG.GET.KV_secrets",
    "$JS.API.STREAM.MSG.GET.OBJ_binaries",
    "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info",
    "$JS.API.STREAM.PURGE.KV_peel-heartbeat",
    "$JS.API.STREAM.DELETE.KV_facts",
    "$JS.API.CONSUMER.CREATE.KV_settings",
    "$JS.API.CONSUMER.CREATE.KV_settings.c.$KV.settings.peel-a",
    "$JS.API.CONSUMER.DURABLE.CREATE.KV_jobs.d",
    "$JS.API.CONSUMER.MSG.NEXT.KV_jobs.d",
    "$JS.ACK.KV_jobs.d.1.1.1.1.1",
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.USER.INFO.x",
  ])("%s", async (subject) => {
    const collected = await collect(masters.nats, subject);
    expect(await refusals(a, a.records, () => a.nats.publish(subject, "forged"))).toEqual([subject]);
    await settle(a);
    expect(collected.received).toEqual([]);
    collected.stop();
  });
});

describe("what the masters keep does not reach a peel:", () => {
  test("neither another key of secrets, nor settings, jobs and returns of others", async () => {
    const everything = await Promise.all(
      [
        "_INBOX_peel-a.>",
        "svc.job.*.dispatch.peel-a",
        "svc.job.*.stop.peel-a",
        "svc.peel.peel-a.hint",
        "$KV.secrets._cluster_info",
      ].map((subject) => collect(a.nats, subject)),
    );
    for (const subject of [
      "$KV.secrets.other",
      "$KV.settings.peel-b",
      "$KV.jobs.job-1",
      "svc.job.job-1.dispatch.peel-b",
      "svc.job.job-1.stop.peel-b",
      "svc.peel.peel-b.hint",
    ]) {
      masters.nats.publish(subject, "not for peel-a");
    }
    await acknowledged(b.nats, "svc.job.job-2.return.peel-b", "of peel-b");
    await settle(a, b);
    expect(everything.flatMap(({ received }) => received)).toEqual([]);
    for (const one of everything) one.stop();
  });
});

describe("a reply subject of a peel's choice", () => {
  const others = [
    "$KV.enrollments.enr-1",
    "$KV.enrollments.peel.peel-a",
    "$KV.secrets._cluster_info",
    "$KV.revocations.x",
    "$KV.peel-heartbeat.peel-b",
    "$KV.facts.peel-b",
    "svc.job.job-1.return.peel-b",
    "svc.event.peel-b.x",
    "svc.peel.peel-b.hello",
    "svc.admin.enroll.approve",
    "svc.job.request",
  ];
  test.each([
    "$KV.peel-heartbeat.peel-a",
    "$KV.facts.peel-a",
    "svc.job.job-1.return.peel-a",
    "svc.peel.peel-a.hello",
  ])("on %s changes nothing that is stored, and speaks for nobody else", async (subject) => {
    const serving = masters.nats.subscribe("svc.peel.*.hello", {
      callback: (_, message) => message.respond("answer"),
    });
    const collected = await collect(masters.nats, "svc.>");
    const own = ["KV_peel-heartbeat", "KV_facts", "job-events"];
    const before = await stored(own);
    for (const reply of others) a.nats.publish(subject, "mine", { reply });
    await settle(a, b);
    // Handled in order: when this is acknowledged, so is all that came before it.
    await acknowledged(a.nats, "$KV.facts.peel-a", "last");
    await settle(a, b);
    expect(await stored(own)).toEqual(before);
    for (const [bucket, key] of [
      ["peel-heartbeat", "peel-b"],
      ["facts", "peel-b"],
    ] as const) {
      expect(await (await openBucket(masters, bucket)).get(key)).toBeUndefined();
    }
    expect(await lastStored(masters, "job-events", "svc.job.job-1.return.peel-b")).toBeUndefined();
    const claimed = collected.received.filter((one) => one.subject.startsWith("svc."));
    expect(claimed.map((one) => one.subject).filter((at) => at !== subject)).toEqual([]);
    collected.stop();
    serving.unsubscribe();
  });
});

describe("headers on a message of a peel", () => {
  const withHeaders = async (subject: string, entries: Record<string, string>) => {
    const set = headers();
    for (const [name, value] of Object.entries(entries)) set.set(name, value);
    const reply = await a.nats.request(subject, "with headers", { timeout, headers: set });
    return reply.json<{ error?: { err_code: number } }>();
  };
  const rollupNotPermitted = 10111;

  test.each([
    ["all", "$KV.peel-heartbeat.peel-a", "$KV.peel-heartbeat.peel-b"],
    ["sub", "$KV.peel-heartbeat.peel-a", "$KV.peel-heartbeat.peel-b"],
    ["all", "$KV.facts.peel-a", "$KV.facts.peel-b"],
    ["sub", "$KV.facts.peel-a", "$KV.facts.peel-b"],
    ["all", "svc.job.job-3.return.peel-a", "svc.job.job-3.return.peel-b"],
    ["sub", "svc.job.job-3.return.peel-a", "svc.job.job-3.return.peel-b"],
  ])("Nats-Rollup: %s on %s is refused and wipes nothing", async (rollup, own, other) => {
    await acknowledged(b.nats, other, "of peel-b");
    const before = await stored();
    expect((await withHeaders(own, { "Nats-Rollup": rollup })).error?.err_code).toBe(rollupNotPermitted);
    expect(await stored()).toEqual(before);
  });

  test("a deletion marker touches the own key alone", async () => {
    for (const bucket of ["peel-heartbeat", "facts"]) {
      const kv = await openBucket(masters, bucket);
      for (const operation of ["PURGE", "DEL"]) {
        await acknowledged(a.nats, `$KV.${bucket}.peel-a`, "here");
        await acknowledged(b.nats, `$KV.${bucket}.peel-b`, "here");
        expect(
          (await withHeaders(`$KV.${bucket}.peel-a`, { "KV-Operation": operation })).error,
        ).toBeUndefined();
        expect(await kv.get("peel-a")).toBeUndefined();
        expect((await kv.get("peel-b"))?.value).toEqual(text("here"));
      }
    }
  });

  test.each([
    ["Nats-Expected-Stream", "KV_enrollments"],
    ["Nats-Expected-Last-Sequence", "999999"],
    ["Nats-Expected-Last-Subject-Sequence", "999999"],
    ["Nats-Expected-Last-Msg-Id", "x"],
  ])("%s that does not hold is refused, and stores nothing", async (name, value) => {
    const before = await stored();
    expect((await withHeaders("$KV.facts.peel-a", { [name]: value })).error).toBeDefined();
    expect(await stored()).toEqual(before);
  });

  test("a message id that another peel took first swallows nothing of a peel that sends none", async () => {
    expect(
      (await withHeaders("svc.job.job-4.return.peel-a", { "Nats-Msg-Id": "job-4" })).error,
    ).toBeUndefined();
    const subject = "svc.job.job-4.return.peel-b";
    await acknowledged(b.nats, subject, "of peel-b");
    expect(await lastStored(masters, "job-events", subject)).toEqual(text("of peel-b"));
  });
});

describe("the size of what a peel stores is bounded:", () => {
  test.each([
    ["$KV.peel-heartbeat.peel-a", 4096],
    ["$KV.facts.peel-a", 1024 * 1024],
    ["svc.job.job-5.return.peel-a", 1024 * 1024],
  ])("%s takes at most %i bytes", async (subject, limit) => {
    const before = await stored();
    // What exceeds the limit of its credentials, the client of a peel does not even send.
    const sent = acknowledged(a.nats, subject, Buffer.alloc(limit + 1));
    const refused = await sent.catch((error: unknown) => ({ error }));
    expect(refused.error).toBeDefined();
    expect(await stored()).toEqual(before);
    expect((await acknowledged(a.nats, subject, Buffer.alloc(limit - 512))).error).toBeUndefined();
  });
});

test("a forged command, or an acknowledgement bounced there, is refused by the worker and logged", async () => {
  const log = observedLog();
  const connection = connectionOver(b.bus);
  const local = localIn(join(bus.dir, "peel-b"), "peel-b", log);
  local.outbox.attach(connection);
  const commandKeys = { current: peelB.commandKeys };
  startWorker({
    ...{ connection, peelId: "peel-b", commandKeys, local },
    ...{ clock: systemClock, random: systemRandom, log },
  });
  await b.nats.flush();
  const refused = (jid: string) => log.logged("command refused", (fields) => fields.jid === jid);

  // The one way in from the peels' account: the answer of the bus to a message of another peel.
  a.nats.publish("$KV.facts.peel-a", "x", { reply: "svc.job.job-a.dispatch.peel-b" });
  await refused("job-a");
  // An attacker with another key, who can publish on the subject.
  const forged = signCommand(
    {
      kind: "dispatch",
      jid: "job-b",
      peel: "peel-b",
      deadline: systemClock.now() + 60_000,
      body: encode({ function: "test.ping", args: {} }),
    },
    newKeyPair("user", systemRandom),
  );
  masters.nats.publish("svc.job.job-b.dispatch.peel-b", forged);
  expect((await refused("job-b")).fields.reason).toBe("signed by an unknown command key");
  expect(log.records.map(({ event }) => event)).toEqual(["command refused", "command refused"]);
  const acks = ["job-a", "job-b"].map((jid) =>
    lastStored(masters, "job-events", `svc.job.${jid}.ack.peel-b`),
  );
  expect(await Promise.all(acks)).toEqual([undefined, undefined]);
  await local.stop();
});
