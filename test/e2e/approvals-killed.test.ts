import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { bearer, call, postJson } from "../harness/enrollee.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { followJobs } from "../harness/reactor.ts";
import { type CountingPeels, countExecutions, followRollouts } from "../harness/rollout-fleet.ts";
import { type RolloutMaster, startRolloutMaster } from "../harness/rollout-master.ts";
import type { Trap } from "../harness/rollout-master-main.ts";
import { runRecord } from "../harness/run-record.ts";
import { until } from "../harness/until.ts";

// A master gets the last agreement, and is killed with -9 right after it has said that it starts the request, or
// right after it has started it: another master continues, and it happens once. Masters are separate processes.

setDefaultTimeout(90_000);

const roles = `roles:
  asker:
    jobs: [{functions: ["test.*"], targets: "*", approvals: 1}]
    rollouts: [list, show, start]
    approvals: [list, show, approve, deny]
persons: {eve: [token:eve], fay: [token:fay], tester: [token:tester]}
`;
const newToken = () => Buffer.from(systemRandom(24)).toString("base64url");
const tokens = { eve: newToken(), fay: newToken() };
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** What is asked for, and where the master that starts it is killed. */
const falls: Readonly<Record<string, { path: string; record: Trap["record"] }>> = {
  "a rollout, before it exists": {
    path: "/api/v1/rollouts",
    record: { msg: "starting a request that others agreed to" },
  },
  "a rollout, before its master says that it exists": {
    path: "/api/v1/rollouts",
    record: { msg: "rollout started" },
  },
  "a job, before its master says that it exists": {
    path: "/api/v1/jobs",
    record: { msg: "job dispatched" },
  },
};

let bus: TestBus;
let watcher: Bus;
let peels: ManualPeel[];
let work: CountingPeels;
let survivor: RolloutMaster;
let killed: RolloutMaster[];
let rollouts: Awaited<ReturnType<typeof followRollouts>>;
let jobs: Awaited<ReturnType<typeof followJobs>>;

beforeAll(async () => {
  bus = await startBus();
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileSync(rolesFile, roles);
  const has = { tester: ["admin"], eve: ["asker"], fay: ["asker"] };
  const configured = Object.entries({ tester: testToken, ...tokens }).map(([username, token]) => {
    runRecord.register("token", token);
    const token_file = join(bus.dir, `${username}.token`);
    writeFileAtomic(token_file, token, secretMode);
    return { username, token_file, roles: has[username as keyof typeof has] };
  });
  const start = () => startRolloutMaster(bus, { roles_file: rolesFile, api: { tokens: configured } });
  survivor = await start();
  killed = [];
  for (const _ of Object.keys(falls)) killed.push(await start());
  watcher = await connectTo(bus, "master");
  [rollouts, jobs] = [await followRollouts(watcher), await followJobs(watcher)];
  // A peel for each, as two rollouts of the same function do not run on one.
  peels = [];
  for (const at of killed.keys()) {
    peels.push(await connectManualPeel(bus, await enrollPeel(survivor, `web-${at}`)));
  }
  for (const peel of peels) await peel.beat();
  work = countExecutions(peels);
});
afterAll(async () => {
  for (const peel of peels ?? []) await peel[Symbol.asyncDispose]();
  for (const master of [survivor, ...(killed ?? [])]) await master?.[Symbol.asyncDispose]();
  rollouts?.stop();
  jobs?.stop();
  await watcher?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

interface Shown {
  state: string;
  outcome?: string;
  agreed: string[];
  job?: string;
  rollout?: string;
}
const show = async (id: string) =>
  (await call(survivor, { path: `/api/v1/approvals/${id}`, headers: bearer })).json as Shown;

test("what a master was killed over is started by another one, once", async () => {
  const ids: string[] = [];
  for (const [at, { path, record }] of Object.values(falls).entries()) {
    const body = { target: `web-${at}`, function: "test.echo", args: { text: `${at}` } };
    const requested = await postJson(survivor, path, body, as(tokens.eve));
    expect(requested.status).toBe(202);
    const { approval } = requested.json as { approval: string };
    ids.push(approval);
    const master = killed[at] as RolloutMaster;
    master.trap({ record, signal: "SIGKILL" });
    const agreeing = postJson(master, `/api/v1/approvals/${approval}/approve`, {}, as(tokens.fay));
    // It dies with the agreement in hand, and answers nothing.
    await expect(agreeing).rejects.toThrow();
    await master.program.exited;
    expect(await show(approval)).toMatchObject({ state: "started", agreed: ["fay"] });
    expect((await show(approval)).outcome).toBeUndefined();
  }
  for (const [at, id] of ids.entries()) {
    const { job, rollout } = await survivor.giveUpDrivers(
      until(
        () => show(id),
        ({ outcome }) => outcome !== undefined,
      ),
    );
    expect(await show(id)).toMatchObject({ state: "started", outcome: "done" });
    if (rollout !== undefined)
      await survivor.giveUpDrivers(rollouts.until((one) => one.id === rollout && one.status === "completed"));
    else await work.until((ran) => ran.some((one) => one.jid === job));
    const late = await postJson(survivor, `/api/v1/approvals/${id}/approve`, {}, as(testToken));
    expect([late.status, JSON.stringify(late.json)]).toEqual([409, expect.stringContaining("was started")]);
    expect(work.ran.filter(({ peel }) => peel === `web-${at}`)).toHaveLength(1);
    expect([...jobs.jobs.values()].filter(({ targets }) => targets.includes(`web-${at}`))).toHaveLength(1);
  }
  const all = (await call(survivor, { path: "/api/v1/rollouts", headers: bearer })).json as unknown[];
  expect(all).toHaveLength(2);
  expect(work.failures).toEqual([]);
  // Each beginning in the audit names the request.
  const listed = await call(survivor, {
    path: "/api/v1/audit?action=rollouts.start&limit=50",
    headers: bearer,
  });
  const begun = (listed.json as { outcome: string; subjects: { approval?: string } }[]).filter(
    ({ subjects }) => subjects.approval !== undefined,
  );
  expect(new Set(begun.map(({ subjects }) => subjects.approval))).toEqual(new Set(ids.slice(0, 2)));
});
