import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { metricBecomes } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";

// Rollouts on a real bus: two masters in this process, and peels under manual control, so that each message
// is sent exactly when a test wants it.

setDefaultTimeout(60_000);

let bus: TestBus;
let masters: TestMaster[];
const peels: ManualPeel[] = [];

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
  for (const name of ["peel-a", "peel-b", "peel-c"]) {
    peels.push(await connectManualPeel(bus, await enrollPeel(first(), name)));
  }
});
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const first = () => masters[0] as TestMaster;
const second = () => masters[1] as TestMaster;
const peel = (index: number) => peels[index] as ManualPeel;

interface View {
  id: string;
  status: string;
  step: string;
  wave: number;
  waves: {
    peels: string[];
    jid?: string;
    counts?: Record<string, number>;
    gone?: number;
    check_jid?: string;
  }[];
  failures: number;
  token: number;
  reason?: string;
  error?: string;
}

async function rest<T = View>(master: TestMaster, method: string, path: string, body?: unknown) {
  const reply = await send(master.url, master.ca, {
    method,
    path: `/api/v1/rollouts${path}`,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
  return { status: reply.status, json: reply.json as T, text: reply.text, headers: reply.headers };
}

let runs = 0;
beforeEach(() => {
  runs++;
});

async function start(more: Record<string, unknown> = {}, master = first()): Promise<string> {
  const body = { target: "peel-*", function: "test.echo", args: { text: `${runs}` }, waves: 1, ...more };
  const reply = await rest(master, "POST", "", body);
  expect(reply).toMatchObject({ status: 202 });
  return reply.json.id;
}

/** The next command of a peel, which it takes and answers. */
async function serve(index: number, value = {}) {
  const command = await peel(index).next("dispatch");
  await peel(index).acknowledge(command.jid);
  await peel(index).answer(command.jid, value);
  return command;
}

/** Reads the stream of a rollout to its end. */
async function end(id: string, master = second()): Promise<View> {
  const { text } = await rest(master, "GET", `/${id}/stream`);
  const last = text
    .split("\n\n")
    .filter((block) => block.startsWith("event: end"))
    .at(-1);
  return JSON.parse(last?.split("data: ")[1] ?? "{}") as View;
}

const show = async (id: string, master = second()) => (await rest(master, "GET", `/${id}`)).json;

test("a canary, then wave after wave; every peel is sent one command, and every master tells the same", async () => {
  const before = peels.map((one) => one.count("dispatch"));
  const id = await start({ max_failures: 1, check: { function: "test.ping" } });
  const canary = await serve(0);
  // Until the check has passed nobody else hears of it.
  const check = await serve(0);
  expect(check.jid).not.toBe(canary.jid);
  await serve(1, { success: false, retcode: 2 });
  await serve(2);
  await serve(2);
  const ended = await end(id);
  expect(ended).toMatchObject({ status: "completed", failures: 1, wave: 3, token: 1 });
  expect(ended.waves.map(({ counts }) => counts)).toEqual([{ ok: 1 }, { failed: 1 }, { ok: 1 }]);
  const shown = await show(id);
  expect(shown.waves.map((wave) => wave.peels)).toEqual([["peel-a"], ["peel-b"], ["peel-c"]]);
  // A wave of which nobody ended well has nobody to check.
  expect(shown.waves.map(({ check_jid }) => check_jid !== undefined)).toEqual([true, false, true]);
  expect(peels.map((one, i) => one.count("dispatch") - (before[i] ?? 0))).toEqual([2, 1, 2]);
  for (const master of masters) {
    const { json } = await rest<View[]>(master, "GET", "?limit=1");
    expect(json).toMatchObject([{ id, status: "completed", waves: 3 }]);
  }
  await metricBecomes(first().healthUrl, 'svc_rollouts_ended_total\\{status="completed"\\}', 1);
  await metricBecomes(first().healthUrl, "svc_rollout_waves_total", 3);
});

test("the gate closes after a canary that failed: nobody else is sent anything", async () => {
  const before = peel(1).count("dispatch");
  const id = await start();
  await serve(0, { success: false, retcode: 1 });
  expect(await end(id)).toMatchObject({
    status: "failed",
    failures: 1,
    reason: "1 failed by wave 1 of 3, at most 0 may",
  });
  expect(peel(1).count("dispatch")).toBe(before);
  const again = await rest(second(), "POST", `/${id}/abort`);
  expect(again).toMatchObject({
    status: 409,
    json: { error: "the rollout has ended (failed): there is nothing to abort" },
  });
});

test("the other master pauses and resumes it; the job of the wave ends meanwhile", async () => {
  const id = await start();
  const { jid } = await peel(0).next("dispatch");
  expect(await rest(second(), "POST", `/${id}/pause`)).toMatchObject({
    status: 200,
    json: { status: "paused", paused_by: "tester" },
  });
  await metricBecomes(second().healthUrl, 'svc_rollouts\\{status="paused"\\}', 1);
  await peel(0).answer(jid);
  await metricBecomes(second().healthUrl, `svc_rollout_progress_ratio\\{rollout="${id}"\\}`, 1 / 3);
  expect(await show(id)).toMatchObject({ status: "paused", step: "soaking", wave: 1 });
  expect((await rest(second(), "POST", `/${id}/resume`)).json.status).toBe("running");
  await serve(1);
  await serve(2);
  expect(await end(id)).toMatchObject({ status: "completed", token: 1 });
});

test("the other master aborts it: what runs is told to stop, and it has ended when that has", async () => {
  const id = await start();
  const { jid } = await peel(0).next("dispatch");
  await peel(0).acknowledge(jid);
  const aborting = await rest(second(), "POST", `/${id}/abort`);
  expect(aborting).toMatchObject({ status: 200, json: { status: "running", abort_asked_by: "tester" } });
  expect((await peel(0).next("stop")).jid).toBe(jid);
  expect((await rest(first(), "POST", `/${id}/pause`)).json.error).toContain("is being aborted");
  await peel(0).answer(jid, { success: false, retcode: 1, outcome: "cancelled", error: "cancelled" });
  expect(await end(id)).toMatchObject({
    status: "aborted",
    reason: "aborted by tester",
    waves: [{ counts: { cancelled: 1 } }, {}, {}],
  });
});

test("a peel that left the fleet since the start is left out, and told", async () => {
  const gone = await connectManualPeel(bus, await enrollPeel(first(), "peel-aa"));
  const id = await start({ canary: 0, waves: ["2", "2"] });
  const a = await peel(0).next("dispatch");
  await gone.next("dispatch");
  await peel(0).answer(a.jid);
  await gone.answer(a.jid);
  await Promise.all([serve(1), serve(2)]);
  expect(await end(id)).toMatchObject({ status: "completed" });

  const next = await start({ canary: 1, waves: 1, args: { text: "again" } });
  const list = await send(first().url, first().ca, {
    path: "/api/v1/enrollments?state=all&limit=100",
    headers: { authorization: `Bearer ${testToken}` },
    from: freshAddress(),
  });
  const enrollment = (list.json as { id: string; peel_id: string }[]).find(
    ({ peel_id }) => peel_id === "peel-aa",
  );
  await send(first().url, first().ca, {
    method: "POST",
    path: `/api/v1/enrollments/${enrollment?.id}/revoke`,
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    body: "{}",
    from: freshAddress(),
  });
  await serve(0);
  await serve(1);
  await serve(2);
  const ended = await end(next);
  expect(ended.status).toBe("completed");
  expect(ended.waves.map((wave) => wave.gone)).toEqual([0, 1, 0, 0]);
  await gone[Symbol.asyncDispose]();
});

test("what is started twice is refused; a dry run starts nothing; nonsense is a 400, a stranger a 404", async () => {
  const id = await start();
  const body = { target: "peel-*", function: "test.echo", args: { text: `${runs}` }, waves: 1 };
  const twice = await rest(second(), "POST", "", body);
  expect(twice).toMatchObject({ status: 409, json: { error: expect.stringContaining(id) } });
  const dry = await rest(second(), "POST", "", { ...body, dry_run: true });
  expect(dry).toMatchObject({
    status: 200,
    json: { waves: [{ peels: ["peel-a"] }, {}, {}], max_failures: 0 },
  });
  expect(dry.json.id).toBeUndefined();
  expect((await rest(first(), "POST", "", { ...body, canary: "200%" })).json.error).toContain("canary:");
  expect((await rest(first(), "POST", "", { ...body, target: "none-*" })).status).toBe(404);
  const misspelt = await rest(first(), "POST", "", { ...body, dry_rum: true });
  expect(misspelt).toMatchObject({ status: 400, json: { error: expect.stringContaining("dry_run?") } });
  const check = { function: "test.ping", timout: "1s" };
  expect((await rest(first(), "POST", "", { ...body, check })).json.error).toContain('"check.timout"');
  for (const path of ["/rol-1", `/rol-${"0".repeat(27)}`, `/rol-${"0".repeat(27)}/stream`]) {
    expect((await rest(first(), "GET", path)).status).toBe(404);
  }
  expect((await rest(first(), "GET", "?status=odd")).status).toBe(400);
  for (const index of [0, 1, 2]) await serve(index);
  expect((await end(id)).status).toBe("completed");
});

test("a bus that is killed and comes back delays a rollout, and changes nothing else", async () => {
  const before = peels.map((one) => one.count("dispatch"));
  const id = await start();
  const { jid } = await peel(0).next("dispatch");
  const back = peels.map(
    ({ connection }) => new Promise<void>((resolve) => void connection.bus.onReconnect(resolve)),
  );
  await bus.restart("SIGKILL");
  await Promise.all(back);
  await peel(0).answer(jid);
  await serve(1);
  await serve(2);
  expect(await end(id)).toMatchObject({ status: "completed", forbidden: [] });
  expect(peels.map((one, i) => one.count("dispatch") - (before[i] ?? 0))).toEqual([1, 1, 1]);
});

test("a master that stops gives its rollouts back, and the other goes on in the middle of a wave", async () => {
  const before = peels.map((one) => one.count("dispatch"));
  const id = await start();
  const { jid } = await peel(0).next("dispatch");
  await peel(0).acknowledge(jid);
  await first()[Symbol.asyncDispose]();
  masters.shift();
  await metricBecomes(first().healthUrl, 'svc_rollout_takeovers_total\\{from="given_back"\\}', 1);
  await peel(0).answer(jid);
  await serve(1);
  await serve(2);
  expect(await end(id, first())).toMatchObject({ status: "completed", token: 2 });
  expect(peels.map((one, i) => one.count("dispatch") - (before[i] ?? 0))).toEqual([1, 1, 1]);
});
