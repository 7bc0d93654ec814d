import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encode } from "../../internal/base/msgpack.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Jobs from the masters' view: two masters in this process on a real bus, and peels under manual control, so
// that each message is sent exactly when a test wants it.

setDefaultTimeout(60_000);

let bus: TestBus;
let masters: [TestMaster, TestMaster];
let a: ManualPeel;
let b: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
  a = await connectManualPeel(bus, await enrollPeel(masters[0], "peel-a"));
  b = await connectManualPeel(bus, await enrollPeel(masters[1], "peel-b"));
});
afterAll(async () => {
  await a?.[Symbol.asyncDispose]();
  await b?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface View {
  jid: string;
  status: string;
  counts: Record<string, number>;
  outcomes: Record<string, string>;
  returns: Record<string, Record<string, unknown>>;
  finished_at?: string;
  cancelled_by?: string;
}

async function rest(master: TestMaster, method: string, path: string, body?: unknown) {
  const reply = await send(master.url, master.ca, {
    method,
    path,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
  return { status: reply.status, json: reply.json as View & { error?: string }, headers: reply.headers };
}

async function dispatch(master: TestMaster, more: Record<string, unknown> = {}): Promise<string> {
  const body = { targets: ["peel-a", "peel-b"], function: "test.ping", ...more };
  const reply = await rest(master, "POST", "/api/v1/jobs", body);
  expect(reply.status).toBe(202);
  return reply.json.jid;
}

const show = async (master: TestMaster, jid: string) =>
  (await rest(master, "GET", `/api/v1/jobs/${jid}`)).json;

/** The job in the list of a master, once the list says what is wanted. */
async function listed(master: TestMaster, jid: string, status: string): Promise<View> {
  const check = async () => {
    const { json } = await rest(master, "GET", "/api/v1/jobs?limit=50");
    return (json as unknown as View[]).find((job) => job.jid === jid && job.status === status);
  };
  return (await until(check)) as View;
}

/** Reads the stream of a job to its end. */
async function stream(master: TestMaster, jid: string): Promise<{ event: string; data: View }[]> {
  const reply = await send(master.url, master.ca, {
    path: `/api/v1/jobs/${jid}/stream`,
    headers: { authorization: `Bearer ${testToken}` },
    from: freshAddress(),
  });
  return reply.text
    .split("\n\n")
    .filter((block) => block.startsWith("event:"))
    .map((block) => {
      const [event = "", data = ""] = block.split("\n");
      return { event: event.slice(7), data: JSON.parse(data.slice(6)) as View };
    });
}

test("each target ends with its own word, and every master tells the same", async () => {
  const jid = await dispatch(masters[0]);
  expect((await a.next("dispatch")).jid).toBe(jid);
  await b.next("dispatch");
  await a.acknowledge(jid);
  await a.answer(jid, { return: { pong: 1 } });
  expect(await show(masters[1], jid)).toMatchObject({ status: "running", counts: { ok: 1, pending: 1 } });
  await b.answer(jid, { success: false, retcode: 3, error: "no" });
  for (const master of masters) {
    expect(await show(master, jid)).toMatchObject({
      status: "failed",
      counts: { ok: 1, failed: 1 },
      outcomes: { "peel-a": "ok", "peel-b": "failed" },
      returns: { "peel-a": { return: { pong: 1 } }, "peel-b": { retcode: 3, error: "no" } },
      finished_at: expect.any(String),
    });
    expect(await listed(master, jid, "failed")).toMatchObject({ targets: 2, counts: { ok: 1, failed: 1 } });
  }
});

test("who was silent is told apart at the deadline, and a late return is shown and changes nothing", async () => {
  const jid = await dispatch(masters[0], { timeout: "300ms" });
  await a.next("dispatch");
  await b.next("dispatch");
  await a.acknowledge(jid);
  const ended = await listed(masters[1], jid, "failed");
  expect(ended.counts).toEqual({ timeout: 1, offline: 1 });
  expect((await show(masters[1], jid)).outcomes["peel-a"]).toBe("timeout");
  await a.answer(jid);
  await b.answer(jid);
  for (const master of masters) {
    expect(await show(master, jid)).toMatchObject({
      ...{ status: "failed", counts: { timeout: 1, offline: 1 } },
      outcomes: { "peel-a": "timeout", "peel-b": "offline" },
      returns: { "peel-a": { success: true, late: true }, "peel-b": { success: true, late: true } },
    });
    expect((await listed(master, jid, "failed")).counts).toEqual({ timeout: 1, offline: 1 });
  }
});

test("the other master cancels: nobody is sent it again, and each that has not ended is told to stop", async () => {
  const jid = await dispatch(masters[0]);
  await a.next("dispatch");
  await b.next("dispatch");
  await a.acknowledge(jid);
  const cancelled = await rest(masters[1], "POST", `/api/v1/jobs/${jid}/cancel`);
  expect(cancelled).toMatchObject({
    status: 200,
    json: {
      status: "running",
      cancelled_by: "tester",
      outcomes: { "peel-a": "pending", "peel-b": "cancelled" },
    },
  });
  expect((await a.next("stop")).jid).toBe(jid);
  expect((await b.next("stop")).jid).toBe(jid);
  expect((await a.hello()).map(({ kind }) => kind)).toEqual(["stop"]);
  expect(await b.hello()).toEqual([]);
  await a.answer(jid, { success: false, retcode: 1, outcome: "cancelled", error: "cancelled" });
  expect(await show(masters[0], jid)).toMatchObject({ status: "cancelled", counts: { cancelled: 2 } });
  await listed(masters[0], jid, "cancelled");
  // It has ended.
  expect((await rest(masters[0], "POST", `/api/v1/jobs/${jid}/cancel`)).status).toBe(409);
  const done = await dispatch(masters[0], { targets: ["peel-a"] });
  await a.next("dispatch");
  await a.answer(done);
  const refused = await rest(masters[0], "POST", `/api/v1/jobs/${done}/cancel`);
  expect(refused).toMatchObject({ status: 409, json: { error: expect.stringContaining("has ended") } });
});

test("a peel that was away is told at hello, by whichever master takes it, until it has taken the job", async () => {
  const peel = await enrollPeel(masters[0], "peel-away");
  const jid = await dispatch(masters[0], { targets: ["peel-away"] });
  await using away = await connectManualPeel(bus, peel);
  for (const _ of masters) {
    expect((await away.hello()).map(({ kind, jid: id }) => [kind, id])).toEqual([["dispatch", jid]]);
  }
  await away.acknowledge(jid);
  expect(await away.hello()).toEqual([]);
  await away.answer(jid);
  expect(await show(masters[1], jid)).toMatchObject({ status: "completed" });
});

test("a peel that is alive and did not take a job is sent it again", async () => {
  await b.beat();
  const jid = await dispatch(masters[0], { targets: ["peel-b"], timeout: "20s" });
  expect((await b.next("dispatch")).jid).toBe(jid);
  expect((await b.next("dispatch")).jid).toBe(jid);
  await b.answer(jid);
  await listed(masters[0], jid, "completed");
});

test("a peel speaks for itself alone: for others, for jobs that are not its own, and in junk it counts for nothing", async () => {
  const jid = await dispatch(masters[0], { targets: ["peel-a"] });
  await a.next("dispatch");
  // Its own word about a job it is no target of.
  await b.answer(jid, { return: "forged" });
  // A forged reply of the bus on a subject that the masters receive.
  b.connection.nats.publish(`$KV.peel-heartbeat.${b.peelId}`, encode({}), {
    reply: `svc.job.${jid}.return.peel-a`,
  });
  await b.connection.nats.flush();
  expect(await show(masters[0], jid)).toMatchObject({
    status: "running",
    counts: { pending: 1 },
    returns: {},
  });
  a.connection.nats.publish(`svc.job.${jid}.return.peel-a`, new Uint8Array([0xc1]));
  await a.connection.nats.flush();
  expect(await listed(masters[1], jid, "failed")).toMatchObject({ counts: { failed: 1 } });
  expect((await show(masters[0], jid)).returns["peel-a"]).toMatchObject({
    error: "the peel sent a malformed return",
  });
});

test("a master started later knows what came before it", async () => {
  const jid = await dispatch(masters[0]);
  await a.next("dispatch");
  await b.next("dispatch");
  await a.answer(jid);
  await b.acknowledge(jid);
  await using third = await startMaster(bus);
  expect(await listed(third, jid, "running")).toMatchObject({ counts: { ok: 1, pending: 1 } });
  await b.answer(jid);
  await listed(third, jid, "completed");
});

test("the stream of a job tells each word once and closes at its end", async () => {
  const jid = await dispatch(masters[0]);
  await a.next("dispatch");
  await b.next("dispatch");
  await a.acknowledge(jid);
  await a.answer(jid);
  const reading = stream(masters[1], jid);
  await b.answer(jid);
  const events = await reading;
  expect(events.map(({ event }) => event).sort()).toEqual(["ack", "begin", "end", "return", "return"]);
  expect(events.at(-1)).toMatchObject({ event: "end", data: { status: "completed", counts: { ok: 2 } } });
  // One that has ended is told the same way.
  expect((await stream(masters[0], jid)).at(-1)).toMatchObject({ event: "end" });
});

test("pages of the list are newest first and name the next", async () => {
  const jids = [await dispatch(masters[0]), await dispatch(masters[1]), await dispatch(masters[0])];
  for (const jid of jids) {
    await a.answer(jid);
    await b.answer(jid);
  }
  const first = await rest(masters[1], "GET", "/api/v1/jobs?limit=2");
  const page = (first.json as unknown as View[]).map(({ jid }) => jid);
  expect(page).toEqual([jids[2], jids[1]] as string[]);
  const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))?.[1] ?? "";
  const second = (await rest(masters[0], "GET", next)).json as unknown as View[];
  expect(second[0]?.jid).toBe(jids[0] as string);
});

test.each([
  ["GET", "/api/v1/jobs?limit=0", 400],
  ["GET", "/api/v1/jobs?status=done", 400],
  ["GET", "/api/v1/jobs?cursor=job-1", 400],
  ["GET", "/api/v1/jobs/job-0000000000000000000000000aa", 404],
  ["GET", "/api/v1/jobs/%2e%2e", 404],
  ["GET", "/api/v1/jobs/job-0000000000000000000000000aa/stream", 404],
  ["POST", "/api/v1/jobs/job-0000000000000000000000000aa/cancel", 404],
])("%s %s is %d", async (method, path, status) => {
  expect((await rest(masters[0], method, path)).status).toBe(status);
});

test("an operator cannot have a master's answer written into a bucket", async () => {
  await using admin = disposable(await connectTo(bus, "admin"));
  await using master = disposable(await connectTo(bus, "master"));
  const request = encode({ operator: "ops", limit: 1 });
  admin.bus.nats.publish("svc.job.list", request, { reply: "$KV.settings.peel-a" });
  await admin.bus.nats.request("svc.job.list", request, { timeout: 30_000 });
  await master.bus.nats.flush();
  const kv = await master.bus.nats.jetstream().views.kv("settings", { bindOnly: true });
  expect(await kv.get("peel-a")).toBeNull();
});

function disposable(connected: Awaited<ReturnType<typeof connectTo>>) {
  return { bus: connected, [Symbol.asyncDispose]: () => connected.nats.close() };
}
