import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { lastOn } from "../../internal/bus/streams/append.ts";
import { eventSubject } from "../../internal/bus/subjects/subjects.ts";
import { type Answers, type ApiText, answersOf } from "../harness/api-text.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import {
  binaries,
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// State runs of a real peel, from each way to begin one to what operators see, also while the peel or the master is off.

setDefaultTimeout(60_000);

const key = "web-1_example";
const id = "web-1.example";
let bus: TestBus;
let stored: Bus;
let master: MasterDaemon;
let peel: Daemon;
let out = "";
let answers: Answers;

interface Shown {
  status: string;
  last_run?: Record<string, unknown> & { trigger: string };
  failures?: Record<string, unknown>[];
  drift?: unknown[];
  diffs?: { id: string; changes: Record<string, unknown> }[];
}

const masterFlags = () => [
  ...["--states-dir", join(bus.dir, "states"), "--reactor-dir", join(bus.dir, "reactor"), "--api-docs"],
];
const startPeel = () =>
  startPeelBinary(bus, master.url, id, {
    dir: join(bus.dir, "peel"),
    flags: ["--startup-states", "sls", "--startup-sls-list", "site"],
  });
const show = async (): Promise<Shown> =>
  JSON.parse((await svc(bus, "states", "show", id, "--output", "json")).stdout);
const untilRun = (isWanted: (run: NonNullable<Shown["last_run"]>) => boolean) =>
  until(show, ({ last_run }) => last_run !== undefined && isWanted(last_run));
const apply = async (...words: string[]): Promise<string> => {
  const ran = await svc(bus, "run", id, "state.apply", ...words, "--output", "json");
  return JSON.parse(ran.stdout).jid;
};
const callOnHost = (...words: string[]) =>
  runProgram([binaries.peel, "call", "--id", id, ...words], {
    cwd: peel.dir,
    env: { SVC_DATA_DIR: peel.dir },
  });
const rest = (path: string, token = master.token) =>
  call(
    { url: master.url, ca: bus.caPem },
    { path: `/api/v1/${path}`, headers: { authorization: `Bearer ${token}` } },
  );

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  mkdirSync(out);
  mkdirSync(join(bus.dir, "states"));
  writeFileSync(
    join(bus.dir, "states/site.sls"),
    `conf:\n  file.managed:\n    - name: ${out}/conf\n    - contents: port 80\n`,
  );
  writeFileSync(
    join(bus.dir, "states/bad.sls"),
    `bad:\n  file.managed:\n    - name: ${out}/missing/x\n    - contents: x\n`,
  );
  writeFileSync(join(bus.dir, "states/odd.sls"), "odd:\n  file.manged: []\n");
  mkdirSync(join(bus.dir, "reactor"));
  writeFileSync(
    join(bus.dir, "reactor/drift.yaml"),
    [
      "rules:",
      "  - name: tell",
      "    match: svc/compliance/*",
      "    when: {data.status: failed}",
      "    throttle: 0",
      `    do: [{emit: {tag: site/failed, data: {jid: "\${data.jid}"}}}]`,
    ].join("\n"),
  );
  master = await startMasterBinary(bus, masterFlags());
  stored = await connectTo(bus, "master");
  answers = answersOf((await rest("openapi.json")).json as ApiText);
  peel = startPeel();
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
});
afterAll(async () => {
  await stored?.drain();
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a peel that starts reports its start-up states, to the letter", async () => {
  const { status, last_run } = await untilRun(({ trigger }) => trigger === "startup");
  const snapshot = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect([status, last_run]).toMatchObject([
    "drifted",
    { changed: 1, ok: 0, failed: 0, test: false, snapshot },
  ]);
  const entry = await (await openBucket(stored, "compliance")).get(key);
  expect(decode(entry?.value ?? new Uint8Array())).toEqual({
    ...{ run_at: expect.stringMatching(/Z$/), trigger: "startup", environment: "base" },
    ...{ commit: expect.stringMatching(/^[0-9a-f]*$/), test: false },
    snapshot: expect.any(Uint8Array),
    ...{ ok: 0, changed: 1, failed: 0, skipped: 0, would_change: 0 },
    ...{ duration_ms: expect.any(Number), failures: [], drift: [{ id: "conf", function: "file.managed" }] },
  });
});

test("a job reports what drifted with its differences, and a test run what would change", async () => {
  const described = await apply("site");
  expect(await untilRun(({ jid }) => jid === described)).toMatchObject({
    ...{ status: "described", drift: [], failures: [] },
    last_run: { trigger: "job", ok: 1, changed: 0 },
  });
  writeFileSync(join(out, "conf"), "port 1\n");
  const tested = await apply("site", "test=true");
  const would = await untilRun(({ jid }) => jid === tested);
  expect(would).toMatchObject({ status: "drifted", last_run: { test: true, would_change: 1, changed: 0 } });
  expect(JSON.stringify(would.diffs)).toContain("-port 1");
  const fixed = await apply("site");
  const changed = await untilRun(({ jid }) => jid === fixed);
  expect(changed).toMatchObject({ status: "drifted", last_run: { would_change: 0, changed: 1 } });
  const text = (await svc(bus, "states", "show", id)).stdout;
  expect(text).toMatch(/^Status +drifted$/m);
  expect(text).toMatch(/^ +-port 1\n +\+port 80$/m);
});

test("a state that fails, and files that do not compile, are failures with their place", async () => {
  const failed = await apply("bad");
  expect(await untilRun(({ jid }) => jid === failed)).toMatchObject({
    ...{ status: "failed", last_run: { failed: 1 } },
    failures: [{ id: "bad", function: "file.managed", file: "bad.sls", line: expect.any(Number) }],
  });
  const odd = await apply("odd");
  expect(await untilRun(({ jid }) => jid === odd)).toMatchObject({
    ...{ status: "failed", last_run: { failed: 1, ok: 0 } },
    failures: [{ id: "", file: "odd.sls", comment: expect.stringContaining("file.manged") }],
  });
  expect((await svc(bus, "states", "show", id)).stdout).toContain("file.manged");
});

test("each report is an event, and a rule of the reactor sees it once", async () => {
  const dataOf = async (subject: string) => {
    const last = await lastOn(stored, "events", subject);
    return last === undefined ? {} : (decode(last.data) as { data: Record<string, unknown> }).data;
  };
  const failed = await apply("bad");
  const reported = await until(
    () => dataOf(eventSubject("_master", `svc.compliance.${key}`)),
    ({ jid }) => jid === failed,
  );
  expect(reported).toMatchObject({ peel: key, status: "failed", trigger: "job", failed: 1, ok: 0 });
  await until(
    () => dataOf(eventSubject("_master", "site.failed")),
    ({ jid }) => jid === failed,
  );
  const fires = (await (await fetch(`${master.healthUrl}/metrics`)).text()).match(
    /svc_reactor_fires_total\{rule="tell"\} (\d+)/,
  );
  // Of this run, and of the two before it that failed.
  expect(fires?.[1]).toBe("3");
});

test("svc and REST give the same answers, and say what they cannot do", async () => {
  await apply("site");
  await untilRun(({ failed }) => failed === 0);
  const json = async (...words: string[]) =>
    JSON.parse((await svc(bus, "states", ...words, "--output", "json")).stdout);
  const described = async (operation: string, path: string, status = 200) => {
    const reply = await rest(path);
    expect([path, reply.status, answers.faults(operation, reply)]).toEqual([path, status, []]);
    return reply.json;
  };
  expect(await described("countStates", "states/status")).toEqual(await json("status"));
  expect((await svc(bus, "states", "status")).stdout).toMatch(/^base +local +\S+ +1 +0 +0 +0 +0$/m);
  expect(await described("listDrift", "states/drift")).toEqual([]);
  expect(await described("listDrift", "states/drift?status=described")).toMatchObject([{ peel: id }]);
  expect(await json("drift", "--status", "described")).toMatchObject([{ peel: id, status: "described" }]);
  expect(await described("showStates", `peels/${id}/states`)).toEqual(await show());
  const [header, row, end] = (
    await svc(bus, "states", "drift", "--status", "described", "--output", "csv")
  ).stdout.split("\n");
  expect([header, row, end]).toEqual([
    "peel,peel_id,status,run_at,trigger,jid,environment,commit,snapshot,test,ok,changed,would_change,failed,skipped,duration_ms,failures,drift",
    expect.stringMatching(/^[^{[]+$/),
    "",
  ]);
  for (const [words, message] of [
    [["drift", "nosuch"], 'the peel "nosuch" does not exist'],
    [["status", "nosuch*"], "no peel matches the target: see svc peels list"],
    [["drift", "--stale", "x"], "--stale: "],
    [["show", id, "--stale", "0"], "--stale: must be 1s or longer"],
  ] as const) {
    const ran = await svc(bus, "states", ...words);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([
      message.startsWith("--") ? 2 : 1,
      "",
      expect.stringContaining(message),
    ]);
  }
  await until(async () => (await json("status", "--stale", "1s")).counts.stale === 1);
  for (const [operation, path, status] of [
    ["countStates", "states/status?stale=x", 400],
    ["listDrift", "states/drift?status=x", 400],
    ["showStates", "peels/web-2/states", 404],
  ] as const) {
    await described(operation, path, status);
  }
  for (const path of ["states/status", "states/drift", `peels/${id}/states`]) {
    expect((await rest(path, "wrong")).status).toBe(401);
  }
  const metrics = await (await fetch(`${master.healthUrl}/metrics`)).text();
  expect(metrics).toContain('svc_compliance_peels{status="described"} 1');
});

test("a run that a person begins beside the peel is reported by the peel", async () => {
  const ran = await callOnHost("state.apply", "site");
  expect(ran.code).toBe(0);
  expect(await untilRun(({ trigger }) => trigger === "call")).toMatchObject({ status: "described" });
});

test("a run while the peel is off, and one while no master runs, are reported when they are back", async () => {
  await peel[Symbol.asyncDispose]();
  rmSync(join(out, "conf"));
  expect((await callOnHost("state.apply", "bad")).code).not.toBe(0);
  const local = ["--local", "--states", join(bus.dir, "states")];
  expect((await callOnHost("state.apply", "site", ...local)).code).toBe(0);
  // The newest one wins.
  expect(readdirSync(join(peel.dir, "compliance"))).toHaveLength(1);
  await master.program[Symbol.asyncDispose]();
  peel = startPeelBinary(bus, master.url, id, { dir: join(bus.dir, "peel") });
  // The bus takes it without a master.
  await until(() => readdirSync(join(peel.dir, "compliance")).length === 0);
  master = await startMasterBinary(bus, masterFlags());
  expect(await untilRun(({ commit }) => commit === "")).toMatchObject({
    ...{ status: "drifted", last_run: { trigger: "call", changed: 1 } },
    diffs: [{ id: "conf" }],
  });
});
