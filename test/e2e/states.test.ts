import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { encode } from "../../internal/base/msgpack.ts";
import { progressSubject } from "../../internal/bus/subjects/subjects.ts";
import { followJob } from "../../internal/cli/job/follow-job.ts";
import type { Progress } from "../../internal/fleet/jobs/follow.ts";
import type { StateResult } from "../../internal/host/modules/states-service.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import {
  binaries,
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";

// States from the directory of a master to a file on a host, through the compiled binaries.

let bus: TestBus;
let master: MasterDaemon;
let web: Daemon;
let db: Daemon;
/** What the states write to. */
let out = "";

const webKey = "web-1_example";
const dbKey = "db-1_example";

interface Returned {
  states: StateResult[];
  summary: Record<string, number | boolean | string>;
}

/** Puts a file into a directory of the master as an editor does. */
function put(path: string, text: string): void {
  const file = join(bus.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

async function apply(target: string, ...args: string[]) {
  const ran = await svc(bus, "run", target, "state.apply", ...args, "--output", "json");
  const view = JSON.parse(ran.stdout);
  const returnOf = (peel: string) => view.returns[peel].return as Returned;
  return { ...view, returnOf } as {
    outcomes: Record<string, string>;
    returnOf: typeof returnOf;
  };
}

/** Changes a file of the master, and resolves when it is published: a run asks for the newest. */
async function publish(path: string, text: string): Promise<void> {
  const said = '"msg":"state files published"';
  const before = master.program.output().split(said).length - 1;
  put(path, text);
  await master.program.waitFor(new RegExp(`(?:${said}[^]*){${before + 1}}`));
}

async function enroll(id: string): Promise<Daemon> {
  const peel = startPeelBinary(bus, master.url, id, {
    dir: join(bus.dir, id),
    flags: ["--startup-states", "sls", "--startup-sls-list", "started"],
  });
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
  return peel;
}

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  mkdirSync(out);
  put("states/top.sls", "base:\n  '*': [motd]\n  'web-*': [site]\n");
  put("states/started.sls", `${out}/{{ facts.id }}.started:\n  file.managed:\n    - contents: here\n`);
  put(
    "states/motd.sls",
    `motd:\n  file.managed:\n    - name: ${out}/{{ facts.id }}.motd\n    - source: svc://motd.txt\n    - template: jinja\n`,
  );
  put("states/motd.txt", "Welcome to {{ facts.id }}, {{ pillar.owner }}\n");
  put(
    "states/site.sls",
    `site:\n  file.managed:\n    - name: ${out}/site.conf\n    - contents: "port {{ pillar.get('port', 80) }}"\n    - mode: 0644\n    - require:\n      - file: motd\n`,
  );
  put("settings/top.sls", "base:\n  '*': [common]\n");
  put("settings/common.sls", "owner: the web team\nport: 8080\n");
  const flags = ["--states-dir", join(bus.dir, "states"), "--settings-dir", join(bus.dir, "settings")];
  master = await startMasterBinary(bus, flags);
  web = await enroll("web-1.example");
  db = await enroll("db-1.example");
}, 60_000);
afterAll(async () => {
  await web?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

test("a new peel applies its start-up states as soon as it has files and settings", async () => {
  for (const peel of [web, db]) await peel.program.waitFor("start-up states applied");
  expect(readFileSync(join(out, "web-1.example.started"), "utf8")).toBe("here\n");
  expect(existsSync(join(out, "db-1.example.started"))).toBe(true);
}, 60_000);

test("a test run shows what a run then does, and a second run has nothing to do", async () => {
  const tested = (await apply("web-1.example", "test=true")).returnOf(webKey);
  expect(tested.states.map(({ id, result }) => [id, result])).toEqual([
    ["motd", null],
    ["site", null],
  ]);
  expect(existsSync(join(out, "site.conf"))).toBe(false);

  const applied = (await apply("web-1.example")).returnOf(webKey);
  expect(applied.states.map(({ changes }) => changes)).toEqual(tested.states.map(({ changes }) => changes));
  expect(applied.summary).toMatchObject({ changed: 2, ok: 0, failed: 0, test: false, environment: "base" });
  expect(readFileSync(join(out, "web-1.example.motd"), "utf8")).toBe(
    "Welcome to web-1.example, the web team\n",
  );
  expect(readFileSync(join(out, "site.conf"), "utf8")).toBe("port 8080\n");

  const again = (await apply("web-1.example")).returnOf(webKey);
  expect(again.summary).toMatchObject({ changed: 0, ok: 2, failed: 0 });
});

test("people see what changed as a difference", async () => {
  writeFileSync(join(out, "site.conf"), "port 1\n");
  const { stdout, code } = await svc(bus, "run", "web-1.example", "state.highstate", "test=true");
  expect(code).toBe(0);
  expect(stdout).toContain("1 would change, 1 ok");
  expect(stdout).toContain(`would change: file.managed ${out}/site.conf (site)  [site.sls:`);
  expect(stdout).toMatch(/^ +-port 1\n +\+port 8080$/m);
  await apply("web-1.example");
});

test("a file that changes on the master changes on the host", async () => {
  await publish("states/motd.txt", "Hello from {{ facts.id }}\n");
  const { states } = (await apply("web-1.example")).returnOf(webKey);
  expect(states.map(({ changes }) => Object.keys(changes).length)).toEqual([1, 0]);
  expect(readFileSync(join(out, "web-1.example.motd"), "utf8")).toBe("Hello from web-1.example\n");
});

test("a template that breaks for one peel is an error of that peel, with place and text", async () => {
  const broken = `{% if facts.id.startswith('db') %}\nx: {{ pillar.nothing }}\n{% endif %}\n`;
  await publish("states/odd.sls", broken);
  const ran = await svc(bus, "run", "*", "state.apply", "odd", "--output", "json");
  const { outcomes, returns } = JSON.parse(ran.stdout);
  expect(outcomes).toEqual({ [webKey]: "ok", [dbKey]: "failed" });
  expect(returns[dbKey].error).toStartWith("odd.sls:2:13: undefined: pillar.nothing\n");
  expect(returns[dbKey].error).toContain(">     2 | x: {{ pillar.nothing }}");
});

test("a state that fails is a failed job, and what requires it is not run", async () => {
  const states = [
    `a:\n  file.managed:\n    - name: ${out}/missing/a\n    - contents: x`,
    `b:\n  file.managed:\n    - name: ${out}/b\n    - contents: x\n    - require: [file: a]`,
    `c:\n  file.managed:\n    - name: ${out}/c\n    - contents: x\n`,
  ];
  await publish("states/failing.sls", states.join("\n"));
  const ran = await apply("db-1.example", "failing");
  expect(ran.outcomes).toEqual({ [dbKey]: "failed" });
  expect(ran.returnOf(dbKey).states.map(({ result, skipped }) => [result, skipped])).toEqual([
    [false, undefined],
    [false, "requisite"],
    [true, undefined],
  ]);
  expect([existsSync(join(out, "b")), existsSync(join(out, "c"))]).toEqual([false, true]);
});

test("who follows a run sees how far it is", async () => {
  const slow = "retry: {attempts: 2, interval: 1500ms}";
  await publish(
    "states/slow.sls",
    `first:\n  test.nop: []\nslow:\n  test.fail_without_changes:\n    - ${slow}\n`,
  );
  const { stdout } = await svc(
    bus,
    "run",
    "db-1.example",
    "state.apply",
    "slow",
    "--async",
    "--output",
    "json",
  );
  const connection = await connectTo(bus, "admin");
  const other = await connectTo(bus, "master");
  const forged = encode({ done: 1, total: 1, failed: 0, current: "forged" });
  const seen: Progress["running"][] = [];
  const { jid } = JSON.parse(stdout);
  await followJob(connection, jid, {
    onProgress({ running }) {
      if (running === undefined) other.nats.publish(progressSubject(jid, "other"), forged);
      else seen.push(running);
    },
  });
  await Promise.all([connection.nats.close(), other.nats.close()]);
  // Only a target of the job can tell how far it is.
  expect(new Set(seen.map((each) => each?.peel))).toEqual(new Set([dbKey]));
  expect(seen).toContainEqual({
    peel: dbKey,
    done: 1,
    total: 2,
    failed: 0,
    current: "test.fail_without_changes slow",
  });
});

test("with the bus away a host still has its states and settings", async () => {
  await bus.stop();
  writeFileSync(join(out, "site.conf"), "port 1\n");
  const call = (...args: string[]) =>
    runProgram([binaries.peel, "call", "--id", "web-1.example", ...args], {
      env: { SVC_DATA_DIR: web.dir },
    });
  const reported = await call("settings.get", "port");
  expect(reported).toMatchObject({ code: 0, stdout: "8080\n" });
  const ran = await call("state.highstate", "--output", "json");
  expect(ran.code).toBe(0);
  const { summary } = JSON.parse(ran.stdout) as Returned;
  expect(summary).toMatchObject({ changed: 1, ok: 1, failed: 0 });
  expect(readFileSync(join(out, "site.conf"), "utf8")).toBe("port 8080\n");
});
