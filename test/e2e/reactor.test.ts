import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { append, lastOn } from "../../internal/bus/streams/append.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { decodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import {
  attestation,
  bearer,
  call,
  enrollNew,
  getStatus,
  newEnrollee,
  postJson,
  submission,
  submit,
  takeNonce,
  waitForState,
} from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import {
  counted,
  figures,
  figuresBecome,
  followJobs,
  holderBecomes,
  reactionOf,
  reactorBecomes,
  reacts,
  rulesDirectory,
  sendEvent,
  total,
} from "../harness/reactor.ts";

// The reactor of two masters on a real bus: each event of a peel leads to a job exactly once.

setDefaultTimeout(60_000);

const rules = `
rules:
  - name: clean-disk
    match: disk/full
    source: "web*"
    when: { data.percent: { gte: 90 } }
    do:
      - job: { target: "\${source}", function: test.echo, args: { text: "\${data.mount}" } }
  - name: ping-pong
    match: loop/ping
    do:
      - emit: { tag: loop/ping, data: { again: true } }
  - name: let-in
    match: svc/enrollment/created
    source: "auto*"
    do:
      - approve: {}
  - name: stormy
    match: storm/now
    do:
      - emit: { tag: storm/seen }
  - name: chase-itself
    match: svc/job/*/return/*
    when: { data.function: test.version }
    do:
      - job: { target: "\${source}", function: test.version }
`;

const directory = rulesDirectory(rules);
let bus: TestBus;
let masters: [TestMaster, TestMaster];
let fleet: Bus;
let web: ManualPeel;
let jobs: Awaited<ReturnType<typeof followJobs>>;

beforeAll(async () => {
  bus = await startBus();
  const config = directory.config({ source_rate_limit: 0 });
  masters = [await startMaster(bus, { config }), await startMaster(bus, { config })];
  fleet = await connectTo(bus, "master");
  web = await connectManualPeel(bus, await enrollPeel(masters[0], "web1"));
  jobs = await followJobs(fleet);
  await holderBecomes(fleet);
});
afterAll(async () => {
  jobs?.stop();
  await web?.[Symbol.asyncDispose]();
  await fleet?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const firedBy = (rule: string) => [...jobs.jobs.values()].filter((job) => reactionOf(job)?.rule === rule);

test("over REST each master answers for the one that reacts, also a refusal, and only by a token", async () => {
  const requested = async (path: string, body?: unknown) =>
    Promise.all(
      masters.map(async (master) => {
        const at = `/api/v1/reactor${path}`;
        const { status, json } = await (body === undefined
          ? call(master, { path: at, headers: bearer })
          : postJson(master, at, body, { headers: bearer }));
        const { master: reacting, rules: found, breakers, error } = json as Record<string, unknown>;
        return { status, reacting, found, breakers, error };
      }),
    );
  for (const [path, body, status] of [
    ["", undefined, 200],
    ["/rules", undefined, 200],
    ["/test", { event: { tag: "disk/full", source: "web-1", data: { percent: 95, mount: "/" } } }, 200],
    ["/test", { event: { tag: "disk//full" } }, 400],
    ["/reset", { rule: "nosuch" }, 404],
  ] as const) {
    const [one, other] = await requested(path, body);
    expect([path, one?.status]).toEqual([path, status]);
    expect(other).toEqual(one);
  }
  for (const master of masters) expect((await call(master, { path: "/api/v1/reactor" })).status).toBe(401);
});

test("an event fires its rule once, whatever the number of masters, and the job says why it is there", async () => {
  const before = await figures(...masters);
  const sequence = await sendEvent(web.connection, "web1", "disk/full", { percent: 95, mount: "/var" });
  await sendEvent(web.connection, "web1", "disk/full", { percent: 12, mount: "/var" });
  const command = await web.next("dispatch");
  await web.answer(command.jid);
  await figuresBecome(
    masters,
    (sample) => total(sample, "svc_reactor_actions_total") > total(before, "svc_reactor_actions_total"),
  );
  expect(firedBy("clean-disk")).toMatchObject([
    {
      jid: command.jid,
      function: "test.echo",
      args: { text: "/var" },
      targets: ["web1"],
      createdBy: "reactor:clean-disk",
      metadata: { reactor: { rule: "clean-disk", event: `events:${sequence}`, depth: 0 } },
    },
  ]);
});

test("a rule that emits what it matches ends at the chain depth, and so does one that its own job sets off", async () => {
  const before = await figures(...masters);
  const fires = (rule: string) => `svc_reactor_fires_total{rule="${rule}"}`;
  const dropped = 'svc_reactor_dropped_total{cause="chain_depth"}';
  const since = (sample: Awaited<ReturnType<typeof figures>>, name: string) =>
    (sample.get(name) ?? 0) - (before.get(name) ?? 0);
  await sendEvent(web.connection, "web1", "loop/ping");
  // Depths 0 to 3 fire; what the last one emits is dropped.
  const ended = await figuresBecome(masters, (sample) => since(sample, dropped) === 1);
  expect(since(ended, fires("ping-pong"))).toBe(4);
  const started = await cli(bus, "run", "web1", "test.version", "--async");
  expect(started.exit).toBe(0);
  for (let hop = 0; hop < 5; hop++) await web.answer((await web.next("dispatch")).jid);
  const chased = await figuresBecome(masters, (sample) => since(sample, dropped) === 2);
  expect(since(chased, fires("chase-itself"))).toBe(4);
  expect(
    firedBy("chase-itself")
      .map((job) => reactionOf(job)?.depth)
      .sort(),
  ).toEqual([0, 1, 2, 3]);
});

test("a peel can neither use the tags of the service nor speak for another peel or of another's job", async () => {
  const before = await figures(...masters);
  const forged = 'svc_reactor_dropped_total{cause="forged"}';
  await sendEvent(web.connection, "web1", "svc/peel/web1/lost", { peel: "web1" });
  await web.answer("job-000000000000000000000000001");
  await figuresBecome(masters, (sample) => (sample.get(forged) ?? 0) - (before.get(forged) ?? 0) === 2);
  for (const source of ["web2", "_master"]) {
    await expect(sendEvent(web.connection, source, "disk/full")).rejects.toThrow();
  }
  const malformed = 'svc_reactor_dropped_total{cause="malformed"}';
  await web.connection.nats.request("svc.event.web1.disk.full", Buffer.from("no map"), { timeout: 30_000 });
  await figuresBecome(masters, (sample) => (sample.get(malformed) ?? 0) - (before.get(malformed) ?? 0) === 1);
});

test("an enrollment is approved by a rule, but never one whose peel trusted another CA", async () => {
  const wanted = newEnrollee("auto-good");
  const id = await enrollNew(masters[0], wanted);
  const enrollments = await openBucket(fleet, "enrollments");
  await waitForState(enrollments, id, "approved");
  const record = decodeRecord((await enrollments.get(id))?.value ?? new Uint8Array());
  expect(record.decidedBy).toBe("reactor:let-in");

  const before = await figures(...masters);
  const stranger = newEnrollee("auto-bad");
  const nonce = await takeNonce(masters[0], stranger);
  const wrong = attestation(stranger, nonce, `sha256:${"0".repeat(64)}`);
  const reply = await submit(masters[0], submission(stranger, nonce, wrong));
  expect(reply.status).toBe(201);
  const refused = 'svc_reactor_dropped_total{cause="not_rendered"}';
  await figuresBecome(masters, (sample) => (sample.get(refused) ?? 0) - (before.get(refused) ?? 0) === 1);
  const status = await getStatus(masters[0], (reply.json as { id: string }).id);
  expect(status.json).toMatchObject({ state: "pending" });
});

test("svc reactor shows the rules and what would happen, and nothing happens of it", async () => {
  const shown = await cli(bus, "reactor", "rules", "--output", "json");
  expect(shown.exit).toBe(0);
  expect(JSON.parse(shown.stdout)[0]).toMatchObject({
    name: "clean-disk",
    match: ["disk/full"],
    source: "web*",
    when: ["data.percent gte 90"],
    actions: ["job test.echo"],
    line: 3,
  });
  const event = join(directory.path, "../event.json");
  const before = counted(await figures(...masters));
  const jobsBefore = jobs.jobs.size;
  const tryEvent = async (said: unknown, ...flags: string[]) => {
    writeFileSync(event, JSON.stringify(said));
    return cli(bus, "reactor", "test", "--event", event, ...flags);
  };
  const fires = await tryEvent(
    { tag: "disk/full", source: "web1", data: { percent: 95, mount: "/srv" } },
    "--output",
    "json",
  );
  expect(JSON.parse(fires.stdout).rules[0]).toEqual({
    rule: "clean-disk",
    fires: true,
    why: "everything matches",
    actions: [{ kind: "job", request: { targets: ["web1"], function: "test.echo", args: { text: "/srv" } } }],
  });
  const held = await tryEvent({ tag: "disk/full", source: "web1", data: { percent: 5 } });
  expect(held.stdout).toContain("data.percent is 5; wanted is data.percent gte 90");
  const old = await tryEvent({ tag: "disk/full", source: "web1", at: "2020-01-01T00:00:00Z" });
  expect(old.stderr).toContain("the event would be dropped: too_old");
  expect(counted(await figures(...masters))).toEqual(before);
  expect(jobs.jobs.size).toBe(jobsBefore);
});

test("a broken rule file leaves the rules as they were, and readiness tells where it is broken", async () => {
  directory.write("more.yaml", "rules:\n  - name: broken\n    match: x\n    doo: []\n");
  for (const master of masters) {
    expect((await reactorBecomes(master, "degraded")).message).toContain("more.yaml:4:5");
  }
  const status = await cli(bus, "reactor", "status");
  expect(status.stderr).toContain("more.yaml:4:5");
  expect(JSON.parse((await cli(bus, "reactor", "rules", "--output", "json")).stdout)).toHaveLength(5);
  directory.write("more.yaml", "rules:\n  - name: whole\n    match: x\n    do: [{ emit: { tag: y } }]\n");
  for (const master of masters) await reactorBecomes(master, "up");
  const rules = JSON.parse((await cli(bus, "reactor", "rules", "--output", "json")).stdout);
  expect(rules.map(({ name }: { name: string }) => name)).toContain("whole");
});

test("a message that is stored twice under one id is there once, and one behind another than it knows is not", async () => {
  const subject = eventSubject("_master", "once.only");
  const data = encode({ data: {}, source: "web1", depth: 0 });
  const last = async () => (await lastOn(fleet, "events", subject))?.sequence ?? 0;
  expect(await append(fleet, subject, data, { id: "once", after: 0 })).toBe(true);
  const sequence = await last();
  expect(await append(fleet, subject, data, { id: "once" })).toBe(true);
  expect(await append(fleet, subject, data, { after: 0 })).toBe(false);
  expect(await last()).toBe(sequence);
  expect(await append(fleet, subject, data, { after: sequence })).toBe(true);
  expect(await last()).toBeGreaterThan(sequence);
});

test("when the bus was away, the reactor goes on with what is said then", async () => {
  const reconnected = Promise.withResolvers<void>();
  web.connection.bus.onReconnect(() => reconnected.resolve());
  await bus.restart("SIGKILL");
  await reconnected.promise;
  const before = firedBy("clean-disk").length;
  await sendEvent(web.connection, "web1", "disk/full", { percent: 99, mount: "/after" });
  expect((await web.next("dispatch")).jid).toStartWith("job-");
  await jobs.until(() => firedBy("clean-disk").length === before + 1);
});

test("events that expired before anybody read them are counted, and the rest is reacted to", async () => {
  await using other = await startBus();
  const config = directory.config();
  const first = await startMaster(other, { config });
  const connection = await connectTo(other, "master");
  await holderBecomes(connection);
  // No peel has this name: the rule fires, and its job has no targets.
  const send = () => sendEvent(connection, "web9", "disk/full", { percent: 95, mount: "/" });
  const failed = 'svc_reactor_actions_total{action="job",result="failed"}';
  await send();
  await figuresBecome([first], (sample) => sample.get(failed) === 1);
  await first[Symbol.asyncDispose]();
  for (let sent = 0; sent < 5; sent++) await send();
  // The first and three of the five, one by one: a purge also moves the consumer, on newer servers.
  const { streams } = await connection.nats.jetstreamManager();
  for (const sequence of [1, 2, 3, 4]) await streams.deleteMessage("events", sequence);
  await using second = await startMaster(other, { config });
  const sample = await figuresBecome([second], (seen) => seen.get(failed) === 2);
  expect(sample.get('svc_reactor_dropped_total{cause="expired"}')).toBe(3);
  await connection.nats.close();
});

test("a breaker opens, is shown, survives a change of the holder, and is closed by an operator", async () => {
  const rate = 60;
  // The limit of one source is above the rate of the breaker.
  for (let sent = 0; sent <= rate; sent++) await sendEvent(web.connection, "web1", "storm/now");
  const opened = 'svc_reactor_dropped_total{cause="breaker_open"}';
  await figuresBecome(masters, (sample) => (sample.get(opened) ?? 0) > 0);
  const before = JSON.parse((await cli(bus, "reactor", "status", "--output", "json")).stdout);
  expect(before.breakers).toMatchObject([{ rule: "stormy" }]);
  const [holder, other] = (await reacts(masters[0])) ? masters : [masters[1], masters[0]];
  expect(await reactorBecomes(holder, "degraded")).toMatchObject({
    ...{ message: "open breakers: stormy", next: "svc reactor reset stormy" },
  });

  await holder[Symbol.asyncDispose]();
  await holderBecomes(fleet, (name) => name !== before.master);
  await reactorBecomes(other, "degraded");
  const after = JSON.parse((await cli(bus, "reactor", "status", "--output", "json")).stdout);
  expect(after.master).not.toBe(before.master);
  expect(after.breakers).toMatchObject([{ rule: "stormy", opened_at: before.breakers[0].opened_at }]);

  const unknown = await cli(bus, "reactor", "reset", "stormi");
  expect([unknown.exit, unknown.stderr]).toEqual([1, expect.stringContaining("did you mean stormy")]);
  const closed = await cli(bus, "reactor", "reset", "stormy", "--output", "json");
  expect(JSON.parse(closed.stdout)).toEqual({ closed: ["stormy"] });
  expect(JSON.parse((await cli(bus, "reactor", "status", "--output", "json")).stdout).breakers).toEqual([]);
  await reactorBecomes(other, "up");
});
