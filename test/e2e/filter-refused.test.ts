import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { send } from "../harness/client.ts";
import { ConsoleClient } from "../harness/console-client.ts";
import { binaries } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { runRecord } from "../harness/run-record.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// An operator who may do everything but read settings asks which peels a setting means, at each door of a fleet that
// svc init made. Each refusal has a control that differs in the right alone, and each has an entry in the audit.

setDefaultTimeout(120_000);

const peelId = "db-1.example";
const roles = (settings: string, approvals: string) => `
    jobs:
      - {functions: [test.*, event.send], targets: '*'${approvals}}
    rollouts: [list, start]
    facts: [read, resolve]
    states: [read]
    roles: [read]
    console: [use]
    approvals: [list, show, approve]
${settings}`;
const rolesFile = `roles:
  blind:${roles("", "")}
  seeing:${roles("    settings: [render]\n", "")}
  blind-pair:${roles("", ", approvals: 1")}
  seeing-pair:${roles("    settings: [render]\n", ", approvals: 1")}
  of-databases:
    jobs:
      - {functions: [test.*], targets: 'I@role:db'}
`;
const rules = `rules:
  - name: of-databases
    match: disk/full
    do:
      - job: {target: 'I@role:db', function: test.echo, args: {text: by the reactor}}
`;

type Svc = (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>;
interface Entry {
  action: string;
  operator: string;
  outcome: string;
  reason?: string;
  subjects: { target?: string };
  via: string;
}

let host: SingleHost;
const files = temporaryDirectory("filter-refused");
const people = new Map<string, Svc>();
const tokens = new Map<string, string>();
const as = (name: string, ...args: string[]) => {
  const svc = people.get(name);
  if (svc === undefined) throw new Error(`no person ${name}`);
  return svc(...args);
};

async function personOf(role: string): Promise<Svc> {
  const home = join(files.path, role);
  mkdirSync(home, { mode: 0o700 });
  const added = await host.svc("operator", "add", role, "--role", role, "--with-key");
  const file = join(home, "file.operator");
  writeFileSync(file, added.stdout, { mode: 0o600 });
  const options = { cwd: home, env: { HOME: home, PATH: process.env.PATH ?? "" } };
  const svc: Svc = (...args) => runProgram([binaries.cli, ...args], options);
  expect(added).toMatchObject({ code: 0 });
  expect([added.stderr, await svc("login", file)]).toMatchObject([expect.any(String), { code: 0 }]);
  return svc;
}

beforeAll(async () => {
  host = await initSingleHost();
  const at = (path: string, text: string) => {
    const file = join(files.path, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  at("settings/top.sls", "base:\n  'db-*': [db]\n");
  at("settings/db.sls", "role: db\ndb_password: hunter2secretb\n");
  at("settings/nodegroups.yaml", "databases: I@role:db\n");
  at("reactor/rules.yaml", rules);
  await host.startMaster([
    ...["--settings-dir", join(files.path, "settings"), "--roles-file", at("roles.yaml", rolesFile)],
    ...["--reactor-dir", join(files.path, "reactor")],
  ]);
  const peel = host.startPeel(peelId);
  const pending = await until(
    async () => JSON.parse((await host.svc("enroll", "list", "--output", "json")).stdout) as { id: string }[],
    (found) => found.length === 1,
  );
  expect((await host.svc("enroll", "approve", pending[0]?.id ?? "")).code).toBe(0);
  await peel.waitFor("peel connected");
  for (const role of ["blind", "seeing", "blind-pair", "seeing-pair", "of-databases"]) {
    people.set(role, await personOf(role));
  }
  for (const role of ["blind", "seeing", "blind-pair"]) {
    const made = await host.svc("token", "create", "--name", `${role}-token`, "--role", role);
    expect(made.code).toBe(0);
    const token = made.stdout.trim();
    runRecord.register("token", token);
    tokens.set(role, token);
  }
  // The facts of the peel, its settings and its heartbeat have come.
  await until(
    async () =>
      JSON.parse((await host.svc("run", "I@role:db", "test.ping", "--output", "json")).stdout || "null"),
    (found) => found !== null,
  );
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const target = "I@role:db";
const refusal = "I@ in a target reads settings: no rule allows settings render";

/** The refusals of an operator in the audit, oldest first. */
async function refusedOf(operator: string): Promise<Entry[]> {
  const listed = await host.svc(
    ...[
      "audit",
      "list",
      "--operator",
      operator,
      "--outcome",
      "refused",
      "--limit",
      "500",
      "--output",
      "json",
    ],
  );
  return (JSON.parse(listed.stdout) as Entry[]).reverse();
}

test.each<[action: string, words: string[]]>([
  ["targets.resolve", ["run", target, "test.ping"]],
  ["targets.resolve", ["run", target, "test.ping", "--preview"]],
  ["targets.resolve", ["rollout", "start", target, "test.ping"]],
  ["rollouts.start", ["rollout", "start", target, "test.ping", "--dry-run"]],
  ["peels.list", ["peels", "list", target]],
  ["facts.find", ["facts", "find", target, "--show", "os"]],
  ["facts.count", ["facts", "count", "os", target]],
  ["states.status", ["states", "status", target]],
  ["states.drift", ["states", "drift", target]],
  ["exports.inventory", ["peels", "list", target, "--output", "ansible"]],
])("svc, over the bus: %s is refused for %j, and recorded", async (action, words) => {
  const before = (await refusedOf("blind")).length;
  const refused = await as("blind", ...words);
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(refusal) });
  const entries = (await refusedOf("blind")).slice(before);
  expect(entries).toMatchObject([{ action, via: "bus", reason: expect.stringContaining(refusal) }]);
  // Nothing that is not in the request.
  expect(JSON.stringify(entries)).not.toContain(peelId);
  const seen = await as("seeing", ...words);
  expect([seen.stderr, seen.code]).toEqual([expect.not.stringContaining("may not"), 0]);
});

test("svc can answers whether a request is allowed, and nothing is recorded as refused", async () => {
  const before = (await refusedOf("blind")).length;
  const can = await as("blind", "can", "run", target, "test.ping");
  expect([can.code, can.stdout + can.stderr]).toEqual([1, expect.stringContaining(refusal)]);
  expect((await as("seeing", "can", "run", target, "test.ping")).code).toBe(0);
  expect(await refusedOf("blind")).toHaveLength(before);
});

const url = () => `https://127.0.0.1:${host.apiPort}`;
const caPem = () => readFileSync(join(host.dir, "bus", "nats-ca.crt"), "utf8");
const encoded = encodeURIComponent(target);
const requests: [action: string, method: string, path: string, body: object | undefined][] = [
  ["jobs.create", "POST", "/jobs", { target, function: "test.ping" }],
  ["rollouts.start", "POST", "/rollouts", { target, function: "test.ping" }],
  ["targets.resolve", "GET", `/targets?target=${encoded}`, undefined],
  ["peels.list", "GET", `/peels?target=${encoded}`, undefined],
  ["facts.find", "GET", `/facts?target=${encoded}&show=os`, undefined],
  ["facts.count", "GET", `/facts/count?target=${encoded}&by=os`, undefined],
  ["states.status", "GET", `/states/status?target=${encoded}`, undefined],
  ["states.drift", "GET", `/states/drift?target=${encoded}`, undefined],
  ["exports.inventory", "GET", `/inventory?target=${encoded}`, undefined],
  ["exports.prometheus", "GET", `/prometheus/targets?target=${encoded}`, undefined],
];

const rest = (who: string, method: string, path: string, body?: object) =>
  send(url(), caPem(), {
    ...{ method, path: `/api/v1${path}` },
    headers: { authorization: `Bearer ${tokens.get(who)}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

test.each(requests)("REST: %s is refused, and recorded", async (action, method, path, body) => {
  const before = (await refusedOf("token:blind-token")).length;
  const refused = await rest("blind", method, path, body);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(refusal)]);
  const entries = (await refusedOf("token:blind-token")).slice(before);
  expect(entries).toMatchObject([{ action, via: "rest", reason: expect.stringContaining(refusal) }]);
  expect((await rest("seeing", method, path, body)).status).toBeLessThan(300);
});

test.each(requests)(
  "console: %s is refused in a session, and recorded",
  async (action, method, path, body) => {
    const master = { url: url(), ca: caPem() };
    const request = async (who: string) => {
      const browser = new ConsoleClient();
      expect((await browser.signIn(master, { token: tokens.get(who) })).status).toBe(201);
      return browser.request(master, method, `/api/v1${path}`, body === undefined ? {} : { body });
    };
    const before = (await refusedOf("token:blind-token")).length;
    const refused = await request("blind");
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(refusal)]);
    const entries = (await refusedOf("token:blind-token")).slice(before);
    expect(entries).toMatchObject([{ action, reason: expect.stringContaining(refusal) }]);
    expect((await request("seeing")).status).toBeLessThan(300);
  },
);

test("a request that others must agree to is refused before it waits; who agrees reads no settings", async () => {
  const words = ["run", target, "test.echo", "text=agreed", "--output", "json"];
  const refused = await as("blind-pair", ...words);
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(refusal) });
  const fields = { target, function: "test.echo", args: { text: "agreed" } };
  expect((await rest("blind-pair", "POST", "/jobs", fields)).status).toBe(403);
  expect(await refusedOf("token:blind-pair-token")).toMatchObject([{ action: "jobs.create", via: "rest" }]);
  const waiting = await host.svc("approval", "list", "--output", "json");
  expect(JSON.parse(waiting.stdout)).toEqual([]);
  const parked = await as("seeing-pair", ...words);
  const { approval } = JSON.parse(parked.stdout) as { approval: string };
  // The peels were fixed for who encoded.
  const agreed = await as("blind-pair", "approval", "approve", approval);
  expect([agreed.stderr, agreed.code]).toEqual([expect.any(String), 0]);
  const [job = ""] = /job-\w+/.exec(agreed.stdout) ?? [];
  const shown = await until(
    async () => (await host.svc("job", "show", job)).stdout,
    (found) => found.includes("completed"),
  );
  expect(shown).toContain(peelId);
});

test("files of masters use settings for everyone: node groups, the targets of a role, and rules of the reactor", async () => {
  expect((await as("blind", "run", "N@databases", "test.ping")).code).toBe(0);
  expect((await as("of-databases", "run", peelId, "test.ping")).code).toBe(0);
  // Who may run functions on these peels still learns nothing of other settings.
  const refused = await as("of-databases", "run", target, "test.ping");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(refusal) });
  expect((await as("blind", "run", peelId, "event.send", "disk/full")).code).toBe(0);
  const entries = await until(
    async () =>
      JSON.parse(
        (await host.svc("audit", "list", "--operator", "reactor:of-databases", "--output", "json")).stdout,
      ) as Entry[],
    (found) => found.some(({ outcome }) => outcome === "done"),
  );
  expect(entries.map(({ action, via }) => `${action} ${via}`)).toEqual([
    "jobs.create reactor",
    "jobs.create reactor",
  ]);
});

test("a value that is hidden where settings are shown means no peel, for an administrator too", async () => {
  for (const words of [["I@db_password:hunter2secretb"], ["I@db_password:*"]]) {
    const ran = await host.svc("run", ...words, "test.ping", "--preview");
    expect(ran.stdout + ran.stderr).not.toContain(peelId);
  }
  expect((await host.svc("run", target, "test.ping", "--preview")).stdout).toContain(peelId);
});
