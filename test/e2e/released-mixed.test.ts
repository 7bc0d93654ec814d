import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, publicMode, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { newOperator, writeOperatorFile } from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { newPerson, type Person } from "../harness/person.ts";
import { listAdministrators } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// A fleet of which one peel obeys operators only, and the compiled svc. What is pushed and not released must reach that
// peel in no way, and must not keep anybody from running what is released.

setDefaultTimeout(60_000);

const root = newOperator("root");
let bus: TestBus;
let master: TestMaster;
let states: string;
let [anna, bert]: Person[] = [];
const peels: TestPeel[] = [];

interface Files {
  commit: string;
  snapshot: string;
  peels?: string[];
}
interface Shown {
  jid: string;
  id?: string;
  status: string;
  content: Files;
  released?: Files;
  reason?: string;
  paused_by?: string;
  waves: { jid?: string; ended_at?: string }[];
}

const rest = async (method: string, path: string, body?: unknown) => {
  const { status, json } = await send(master.url, master.ca, {
    ...{ method, path: `/api/v1/${path}` },
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { code: status, ...(json as Shown) };
};
const highstate = { function: "state.highstate" };

/** The files that masters publish now. */
const inForce = async () =>
  (await rest("POST", "jobs", { function: "state.show_top", targets: ["web-1"] })).content?.snapshot;

const mark = (name: string, peel: string) => join(bus.dir, "marks", `${name}-${peel}`);
/** Which peels ran these files, since this was called last. */
function ran(name: string): string[] {
  const found = ["db-1", "web-1"].filter((peel) => existsSync(mark(name, peel)));
  for (const peel of found) rmSync(mark(name, peel));
  return found;
}

/** Writes states that leave a mark, and waits until masters publish them. @returns the snapshot */
async function publish(name: string): Promise<string> {
  const before = await inForce();
  const touch = `${name}:\n  cmd.run:\n    - name: touch ${join(bus.dir, "marks", name)}-{{ facts.id }}\n`;
  writeFileAtomic(join(states, "web.sls"), touch, publicMode);
  writeFileAtomic(join(states, "top.sls"), "base:\n  '*':\n    - web\n", publicMode);
  const now = await until(async () => {
    const found = await inForce();
    return found === undefined || found === before ? undefined : found;
  });
  return now ?? "";
}

async function release(): Promise<void> {
  const done = await anna?.svc("states", "release", "--tree", states, "--accept-sources", "--yes");
  if (done?.code !== 0) throw new Error(done?.stderr);
}

/** A job or a rollout that nobody signed, when it has ended. */
async function unsigned(path: "jobs" | "rollouts", body: Record<string, unknown>): Promise<Shown> {
  const { jid, id } = await rest("POST", path, body);
  const ended = await until(async () => {
    const found = await rest("GET", `${path}/${jid ?? id}`);
    return found.status === "running" ? undefined : found;
  });
  return ended as Shown;
}

/** What svc doctor says of releases, and the notes of svc status. */
async function diagnosis() {
  const [doctor, status] = [
    await anna?.svc("doctor", "--output", "json"),
    await anna?.svc("status", "--output", "json"),
  ];
  const steps = JSON.parse(doctor?.stdout ?? "") as { step: string; level: string; message: string }[];
  const { level, message } = steps.find(({ step }) => step === "releases") ?? {};
  return { level, message, notes: (JSON.parse(status?.stdout ?? "") as { notes: string[] }).notes };
}
/** After each peel that joined. */
const diagnoses: Awaited<ReturnType<typeof diagnosis>>[] = [];

beforeAll(async () => {
  bus = await startBus();
  states = join(bus.dir, "states");
  for (const dir of ["states", "marks"]) mkdirSync(join(bus.dir, dir));
  listAdministrators(bus.authDir, root);
  master = await startMaster(bus, { flags: ["--states-dir", states] });
  const file = writeOperatorFile(bus, root);
  anna = await newPerson(bus, file, "anna", ["admin"], ["--expires", "10d"]);
  bert = await newPerson(bus, file, "bert", ["operator"]);
  for (const [id, require_operator] of [
    ["web-1", "off"],
    ["db-1", "on"],
  ] as const) {
    const dataDir = join(bus.dir, id);
    makeDirectory(dataDir, 0o700);
    const config = join(dataDir, "peel.yaml");
    writeFileAtomic(config, JSON.stringify({ require_operator }), secretMode);
    const peel = startPeel(dataDir, [
      ...["--config", config, "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
      ...["--master-url", master.url, "--enroll-ca", bus.caFile],
    ]);
    peels.push(peel);
    const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
    await operate(master, String(fields?.enrollment_id), "approve");
    await peel.ready;
    // Masters learn from the first heartbeat that it obeys operators only.
    await until(async () => JSON.stringify(await rest("GET", `peels/${id}`)).includes('"alive":true'));
    diagnoses.push(await diagnosis());
  }
}, 60_000);
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

let good = "";
let newer = "";

test("svc doctor and svc status say which peels wait for a release, and when the record of its signer ends", async () => {
  const [without, before] = diagnoses;
  const wouldWait =
    "1 peel would wait for a release of base if they obeyed operators only (require_operator)";
  expect(without).toMatchObject({ level: "ok", message: wouldWait });
  const waits = "1 peel waits for a release of base";
  expect(before).toMatchObject({ level: "warn", message: waits });
  expect(before?.notes).toContain(`${waits}: see svc states release`);
  expect(without?.notes.join()).not.toContain("release of base");
  good = await publish("good");
  await release();
  const after = await diagnosis();
  expect(after).toMatchObject({ level: "ok", message: "base is release 1" });
  expect(after.notes.join()).not.toContain(waits);
  expect(after.notes).toContainEqual(
    expect.stringMatching(
      /^the record of anna, who signed release 1 of base, ends at .*svc operator renew anna/,
    ),
  );
});

test("what is pushed and not released keeps nobody from running what is released", async () => {
  newer = await publish("newer");
  const run = await bert?.svc("run", "*", "state.highstate", "--yes");
  expect([run?.code, run?.stderr]).toEqual([
    0,
    expect.stringContaining(`files of base at ${good.slice(0, 12)}`),
  ]);
  expect([ran("good"), ran("newer")]).toEqual([["db-1", "web-1"], []]);
  const jid = /job-\w+/.exec(run?.stderr ?? "")?.[0] ?? "";
  const shown = await rest("GET", `jobs/${jid}`);
  expect([shown.content.snapshot, shown.released]).toEqual([good, undefined]);
  const rollout = await bert?.svc("rollout", "start", "*", "state.highstate", "--canary", "1");
  expect(rollout?.code).toBe(0);
  expect([ran("good"), ran("newer")]).toEqual([["db-1", "web-1"], []]);
  // The control: where no peel obeys operators only, a request means what is in force.
  expect((await bert?.svc("run", "web-1", "state.highstate"))?.code).toBe(0);
  expect([ran("good"), ran("newer")]).toEqual([[], ["web-1"]]);
});

test("in a job that nobody signed each peel gets its own files, and everyone sees which", async () => {
  const job = await unsigned("jobs", { ...highstate, target: "*" });
  const released = { commit: "local", snapshot: good, peels: ["db-1"] };
  expect(job).toMatchObject({ status: "completed", content: { snapshot: newer }, released });
  expect([ran("good"), ran("newer")]).toEqual([["db-1"], ["web-1"]]);
  const shown = await bert?.svc("job", "show", job.jid);
  expect(shown?.stdout).toContain(newer.slice(0, 12));
  expect(shown?.stdout).toMatch(
    new RegExp(
      `Released +${good.slice(0, 12)} \\(local\\), released, on 1 peel that obeys operators only: db-1`,
    ),
  );
  const data = await bert?.svc("job", "show", job.jid, "--output", "json");
  expect(JSON.parse(data?.stdout ?? "")).toMatchObject({ content: { snapshot: newer }, released });
  const audit = await rest("GET", "audit?action=jobs.create&by=tester");
  expect(Object.values(audit)).toContainEqual(
    expect.objectContaining({
      subjects: expect.objectContaining({
        snapshot: newer,
        released: expect.objectContaining({ snapshot: good }),
      }),
    }),
  );
  const said = JSON.stringify(released).slice(1, -1);
  await until(async () =>
    (await anna?.svc("events", "--since", "10m", "--output", "jsonl"))?.stdout.includes(said),
  );
  // For these peels alone there is nothing else to run, so it is the content.
  const alone = await unsigned("jobs", { ...highstate, target: "db-1" });
  expect(alone).toMatchObject({ status: "completed", content: { snapshot: good } });
  expect(alone.released).toBeUndefined();
  expect([ran("good"), ran("newer")]).toEqual([["db-1"], []]);
});

test("a request that names files gets these or none", async () => {
  const body = { ...highstate, target: "*" };
  expect((await rest("POST", "jobs", { ...body, snapshot: good })).code).toBe(409);
  const job = await unsigned("jobs", { ...body, snapshot: newer });
  expect(job).toMatchObject({
    status: "completed",
    content: { snapshot: newer },
    released: { snapshot: good },
  });
  expect([ran("good"), ran("newer")]).toEqual([["db-1"], ["web-1"]]);
});

test("the waves of a rollout that nobody signed do the same", async () => {
  const rollout = await unsigned("rollouts", { ...highstate, target: "*", canary: "1" });
  const released = { commit: "local", snapshot: good };
  expect(rollout).toMatchObject({ status: "completed", content: { snapshot: newer }, released });
  expect([ran("good"), ran("newer")]).toEqual([["db-1"], ["web-1"]]);
  const shown = await bert?.svc("rollout", "show", rollout.id ?? "");
  expect(shown?.stdout).toContain(
    `${good.slice(0, 12)} (local), released, on the peels that obey operators only`,
  );
});

test("files that nobody released run for who may release and has them on disk, and for nobody else", async () => {
  const run = ["run", "db-1", "state.highstate"];
  const own = await anna?.svc(...run, "--tree", states);
  expect([own?.code, own?.stderr]).toEqual([
    0,
    expect.stringContaining(`files of base at ${newer.slice(0, 12)}`),
  ]);
  expect([ran("good"), ran("newer")]).toEqual([[], ["db-1"]]);
  const operator = await bert?.svc(...run, "--tree", states);
  expect(operator?.code).toBe(1);
  expect(operator?.stdout).toContain(
    "bert signed state files that are not released, and has none of the roles admin",
  );
  const other = join(bus.dir, "other");
  cpSync(states, other, { recursive: true });
  writeFileAtomic(join(other, "web.sls"), "other: test.nop\n", publicMode);
  const missing = await anna?.svc(...run, "--tree", other);
  expect([missing?.code, missing?.stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`${other} has the files \\w{12}, and masters have ${newer.slice(0, 12)} for base: push`),
    ),
  ]);
  const useless = await anna?.svc("run", "db-1", "test.ping", "--tree", states);
  expect([useless?.code, useless?.stderr]).toEqual([
    2,
    expect.stringContaining("test.ping uses no state files"),
  ]);
  expect([ran("good"), ran("newer")]).toEqual([[], []]);
  // The control: without the option it is what is released.
  expect((await anna?.svc(...run))?.code).toBe(0);
  expect([ran("good"), ran("newer")]).toEqual([["db-1"], []]);
});

/** States that run until `go` is called. @returns the snapshot */
async function publishSlow(name: string): Promise<{ snapshot: string; go(): void }> {
  const gate = mark(name, "gate");
  const wait = `  cmd.run:\n    - name: while [ ! -e ${gate} ]; do sleep 0.1; done; touch ${mark(name, "")}{{ facts.id }}\n`;
  const before = await inForce();
  writeFileAtomic(join(states, "web.sls"), `${name}:\n${wait}`, publicMode);
  const snapshot = await until(async () => {
    const found = await inForce();
    return found === undefined || found === before ? undefined : found;
  });
  return { snapshot: snapshot ?? "", go: () => writeFileAtomic(gate, "", publicMode) };
}
const shownRollout = (id: string) => rest("GET", `rollouts/${id}`);
const waveBegun = (id: string) => until(async () => (await shownRollout(id)).waves?.[0]?.jid !== undefined);

test("a release pauses a rollout that nobody signed while a wave of it runs, and no operator's", async () => {
  const slow = await publishSlow("slow");
  await release();
  const rollout = { ...highstate, target: "*", canary: "1", timeout: "50s" };
  const { id = "" } = await rest("POST", "rollouts", rollout);
  const signed = await bert?.svc(
    "rollout",
    "start",
    "*",
    "state.apply",
    "web",
    "--canary",
    "1",
    "--timeout",
    "50s",
    "--async",
  );
  const own = /rol-\w+/.exec(signed?.stdout ?? "")?.[0] ?? signed?.stderr ?? "";
  await Promise.all([waveBegun(id), waveBegun(own)]);
  // It is withdrawn: other files are released in its place.
  const other = await publish("other");
  await release();
  const paused = await until(async () => {
    const found = await shownRollout(id);
    return found.status === "paused" ? found : undefined;
  });
  expect(paused).toMatchObject({
    paused_because: "base was released anew",
    content: { snapshot: slow.snapshot },
  });
  expect((await bert?.svc("rollout", "show", id))?.stdout).toMatch(/status +paused: base was released anew/);
  slow.go();
  // The control: what an operator signed continues to its end with the files that were signed.
  await until(async () => (await shownRollout(own)).status === "completed");
  await until(async () => (await shownRollout(id)).waves[0]?.ended_at !== undefined);
  expect(ran("slow")).toEqual(["db-1", "web-1"]);
  expect(await shownRollout(id)).toMatchObject({ status: "paused", wave: 1 });
  expect([ran("slow"), ran("other")]).toEqual([[], []]);
  expect((await rest("POST", `rollouts/${id}/resume`)).code).toBe(200);
  await until(async () => (await shownRollout(id)).status === "completed");
  expect([ran("slow"), ran("other")]).toEqual([["web-1"], []]);
  expect(other).not.toBe(slow.snapshot);
});
