import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import {
  binaries,
  type Daemon,
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { startProgram } from "../harness/process.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// The thin line of the product, through its compiled binaries, in the order a user walks it.

let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
let id = "";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const rest = (method: string, path: string, body?: unknown) =>
  send(master.url, bus.caPem, {
    method,
    path,
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

beforeAll(async () => {
  bus = await startBus();
  master = await startMasterBinary(bus);
  peel = startPeelBinary(bus, master.url, "web-1.example");
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a peel without credentials waits for approval, and the operator sees it", async () => {
  await peel.program.waitFor("waiting for an operator's approval");
  const listed = await svc(bus, "enroll", "list", "--output", "json");
  expect(listed.stderr).toBe("");
  const [only, ...others] = JSON.parse(listed.stdout);
  expect(others).toEqual([]);
  expect(only).toMatchObject({ peel_id: "web-1_example", state: "pending", trust: "ok" });
  id = only.id;
  const shown = await svc(bus, "enroll", "show", id);
  expect(shown.stdout).toContain("web-1.example");
  expect(shown.stdout).toMatch(/^public_key +U[A-Z2-7]{55}$/m);
});

test("a job for a peel that is not a member yet finds nobody", async () => {
  const ran = await svc(bus, "run", "web-1.example", "test.ping");
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain("is not a member of the fleet: its enrollment is pending");
});

test("approved, it fetches its credentials once, keeps them at 0600, and connects", async () => {
  const approved = await svc(bus, "enroll", "approve", id);
  expect([approved.code, approved.stderr]).toEqual([0, ""]);
  const name = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
  expect((await svc(bus, "enroll", "show", id)).stdout).toMatch(new RegExp(`^DecidedBy +${name}$`, "m"));
  await peel.program.waitFor("peel connected");
  const auth = join(peel.dir, "auth");
  expect(mode(join(auth, "web-1_example.creds"))).toBe("600");
  expect(mode(join(auth, "web-1_example.seed"))).toBe("600");
  expect(mode(auth)).toBe("700");
});

test("svc run answers, and so does REST, with the operator's name on the job", async () => {
  const ran = await svc(bus, "run", "web-*", "test.ping", "--output", "json");
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    status: "completed",
    outcomes: { "web-1_example": "ok" },
    returns: { "web-1_example": { success: true, retcode: 0, return: true } },
  });

  const created = await rest("POST", "/api/v1/jobs", { target: "web-1.example", function: "test.ping" });
  expect(created.status).toBe(202);
  const { jid, targets, status } = created.json as { jid: string; targets: string[]; status: string };
  expect([targets, status]).toEqual([["web-1_example"], "running"]);
  await peel.program.waitFor(`"msg":"job done","jid":"${jid}"`);
  const show = async () =>
    (await rest("GET", `/api/v1/jobs/${jid}`)).json as { status: string; created_by: string };
  const shown = await until(show, (job) => job.status !== "running");
  expect(shown).toMatchObject({ status: "completed", created_by: "ci", counts: { ok: 1 } });
});

test("svc run --follow shows what a command writes while it runs, and run --again what it did before", async () => {
  const gate = join(bus.dir, "gate");
  const command = `echo one; while [ ! -e ${gate} ]; do sleep 0.05; done; echo two; exit 3`;
  const running = startProgram([
    ...[
      binaries.cli,
      "--config",
      operatorConfig(bus),
      "run",
      "web-1.example",
      "cmd.run",
      command,
      "--follow",
    ],
  ]);
  await running.waitFor("\none\n");
  expect(running.output()).not.toContain("exited with 3");
  writeFileSync(gate, "");
  expect(await running.exited).toBe(1);
  // As it was written, and in the table below its peel.
  expect(running.output()).toMatch(/^two$/m);
  expect(running.output()).toMatch(/^web-1\.example +failed +exited with 3\n +one\n +two$/m);
  const [jid = ""] = /job-\w+/.exec(running.output()) ?? [];
  const again = await svc(bus, "run", "--again", jid, "--output", "jsonl");
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stdout)).toMatchObject({ peel: "web-1.example", outcome: "failed", retcode: 3 });
});

test("a restarted peel keeps its seed and its credentials, and does not enroll again", async () => {
  const seed = readFileSync(join(peel.dir, "auth/web-1_example.seed"), "utf8");
  peel.program.kill("SIGKILL");
  await peel.program.exited;
  peel = startPeelBinary(bus, master.url, "web-1.example", { dir: peel.dir });
  await peel.program.waitFor("peel connected");
  expect(peel.program.output()).not.toContain("approval");
  expect(readFileSync(join(peel.dir, "auth/web-1_example.seed"), "utf8")).toBe(seed);
});

test("after the bus was killed and came back, jobs work again without anybody's help", async () => {
  await bus.restart("SIGKILL");
  await peel.program.waitFor("bus reconnected");
  await master.program.waitFor("bus reconnected");
  const ran = await svc(bus, "run", "web-1.example", "test.ping");
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringMatching(/^job-\S+ on 1 peel\b.*\n1 peel: 1 ok\n$/),
  ]);
});

test("a revoked peel is cut off", async () => {
  const revoked = await svc(bus, "enroll", "revoke", id, "--wait", "--reason", "lost laptop");
  expect([revoked.code, revoked.stderr]).toEqual([0, ""]);
  expect(revoked.stdout).toMatch(/connection closed after \d+\.\d ms/);
  await peel.program.waitFor("bus disconnected");
  const ran = await svc(bus, "run", "web-1.example", "test.ping");
  expect(ran.stderr).toContain("is not a member of the fleet: its enrollment is revoked");
});

test("both daemons stop in order on SIGTERM, with exit code 0", async () => {
  peel.program.kill();
  expect(await peel.program.exited).toBe(0);
  master.program.kill();
  expect(await master.program.exited).toBe(0);
  expect(logRecords(master.program).at(-1)).toMatchObject({ msg: "stopped" });
});

test("no log holds a secret that was made on the way", () => {
  const logs = master.program.output() + peel.program.output() + bus.server().output();
  const secrets = [
    readFileSync(join(peel.dir, "auth/web-1_example.seed"), "utf8").trim(),
    readFileSync(join(bus.authDir, "account.seed"), "utf8").trim(),
    readFileSync(join(bus.authDir, "command.seed"), "utf8").trim(),
    master.token,
  ];
  expect(existsSync(join(peel.dir, "auth/web-1_example.creds"))).toBe(true);
  expect(secrets.filter((secret) => logs.includes(secret))).toEqual([]);
  expect(logs).not.toMatch(/-----BEGIN|eyJ[A-Za-z0-9_-]{20,}\./);
});
