import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { newOperator, writeOperatorFile } from "../harness/operators.ts";
import { newPerson } from "../harness/person.ts";
import { listAdministrators } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// States and settings are compiled for one peel of each kind before they come into force: a master, two database
// hosts with a label, and one without, compiled.

const root = newOperator("root");
const secret = "hunter2-very-secret";
let bus: TestBus;
let master: MasterDaemon;
const peels: Daemon[] = [];
let os = "";

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  put("settings/top.sls", "base:\n  '*': [common]\n");
  put("settings/common.sls", `owner: annabelle\nadmin_password: ${secret}\n`);
  put("states/top.sls", "base:\n  '*': [site]\n");
  put("states/site.sls", "first:\n  test.nop: []\n");
  master = await startMaster("compile");
  for (const [name, label] of [
    ["db-1", "role=db"],
    ["db-2", "role=db"],
    ["web-1", undefined],
  ] as const) {
    const peel = startPeelBinary(bus, master.url, `${name}.example`, { dir: join(bus.dir, name) });
    peels.push(peel);
    await peel.program.waitFor("waiting for an operator's approval");
    const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    await svc(bus, "enroll", "approve", pending.id);
    if (label !== undefined) await svc(bus, "enroll", "label", pending.id, label);
  }
  const facts = async (name: string) =>
    (await svc(bus, "facts", "get", `${name}.example`, "os")).stdout.trim();
  await until(async () =>
    (await Promise.all(["db-1", "db-2", "web-1"].map(facts))).every((each) => each !== ""),
  );
  os = await facts("db-1");
  await until(async () => (await ran("web-1.example")).includes("first"));
}, 90_000);
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const startMaster = (level: "syntax" | "compile") =>
  startMasterBinary(bus, [
    ...["--settings-dir", join(bus.dir, "settings"), "--states-dir", join(bus.dir, "states")],
    ...["--states-check", level],
  ]);

function put(path: string, text: string): void {
  const file = join(bus.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

/** What a highstate says, good or not. */
async function ran(peel: string): Promise<string> {
  const { stdout, stderr } = await svc(bus, "run", peel, "state.highstate", "--output", "json");
  return stdout + stderr;
}

async function check(name: string): Promise<{ status: string; message: string }> {
  const { checks } = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
    checks: Record<string, { status: string; message?: string }>;
  };
  return { status: "none", message: "", ...checks[name] };
}

const events = async () =>
  (await svc(bus, "events", "--since", "1h", "--tag", "svc/states/refused", "--output", "jsonl")).stdout;

const lint = (kind: "state" | "settings", ...more: string[]) =>
  svc(bus, kind, "lint", join(bus.dir, kind === "state" ? "states" : "settings"), ...more);

/** States that break only on hosts with this system and label. */
const onlyOn = (role: string, broken: string) =>
  `second:\n  test.nop: []\n{% if facts.os == '${os}' and labels.get('role', 'none') == '${role}' %}\n${broken}{% endif %}\n`;

test("a state that breaks for one kind of peels alone is refused, with file and line", async () => {
  put("states/site.sls", onlyOn("db", "third:\n  test.nop:\n    - require:\n      - pkg: gone\n"));
  await until(async () => (await check("states")).status === "degraded");
  const { message } = await check("states");
  expect(message).toMatch(/environment base: site\.sls:\d+:1: for 2 peels such as db-1\.example: .*gone/);
  expect(await ran("web-1.example")).toContain("first");
  const place = /site\.sls:\d+:1: /.exec(message)?.[0] ?? "none";

  const linted = await lint("state", "--check", "compile");
  expect([linted.code, linted.stdout]).toEqual([
    1,
    expect.stringContaining(`${place}for 2 peels such as db-1.example`),
  ]);
  expect((await lint("state")).code).toBe(0);
}, 60_000);

test("an operator releases what does not compile for a kind, and sees it; broken syntax is refused anyway", async () => {
  const file = writeOperatorFile(bus, root);
  const person = await newPerson(bus, file, "anna", ["admin"]);
  const release = () =>
    person.svc("states", "release", "--tree", join(bus.dir, "states"), "--accept-sources", "--yes");
  expect((await check("states")).status).toBe("degraded");
  const done = await release();
  expect([done.code, done.stderr]).toEqual([
    0,
    expect.stringMatching(
      /they do not compile for some peels; a release brings .*\nsite\.sls:\d+:1: for 2 peels/,
    ),
  ]);
  await until(async () => (await check("states")).status === "up");
  expect(await ran("web-1.example")).toContain("second");
  put("states/site.sls", "x: [\n");
  await until(async () => (await check("states")).message.includes("site.sls:"));
  const refused = await release();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("masters refuse these files, released or not: site.sls:"),
  ]);
  put("states/site.sls", "first:\n  test.nop: []\n");
  await until(async () => (await check("states")).status === "up");
}, 60_000);

test("what breaks for a single peel comes into force, with a hint", async () => {
  put("states/site.sls", onlyOn("none", "third:\n  test.nop:\n    - require:\n      - pkg: gone\n"));
  await until(async () => (await ran("db-1.example")).includes("second"));
  expect((await check("states")).status).toBe("up");
  expect(master.program.output()).toContain("for web-1.example alone: ");
  const linted = await lint("state", "--check", "compile");
  expect([linted.code, linted.stderr]).toEqual([0, expect.stringContaining("for web-1.example alone: ")]);
}, 60_000);

test("no text of a setting is in a reason, whatever a template makes of it", async () => {
  const before = (await events()).split("\n").length;
  put(
    "states/site.sls",
    "{{ settings.admin_password }}:\n  {{ settings.owner | upper }}.nop: []\nz:\n  {{ settings.admin_password }}.x: []\n",
  );
  await until(async () => (await check("states")).status === "degraded");
  await until(async () => (await events()).split("\n").length > before);
  const linted = await lint("state", "--check", "compile");
  expect(linted.code).toBe(1);
  const status = await svc(bus, "status");
  const doctor = await svc(bus, "doctor");
  const all = [await check("states"), await events(), master.program.output(), linted, status, doctor];
  const text = JSON.stringify(all);
  expect(text).toContain("unknown state function");
  expect(text).not.toMatch(/hunter2|annabelle/i);
}, 60_000);

test("settings that break for one kind of peels are refused", async () => {
  put("states/site.sls", "last:\n  test.nop: []\n");
  put(
    "settings/common.sls",
    `owner: bob\nadmin_password: ${secret}\n{% if labels.role == 'db' %}\nport: {{ facts.gone.port }}\n{% endif %}\n`,
  );
  await until(async () => (await check("settings")).status === "degraded");
  expect((await check("settings")).message).toMatch(
    /^common\.sls:\d+:\d+: for \d peels such as db-1\.example: /,
  );
  const linted = await lint("settings", "--check", "compile");
  expect([linted.code, linted.stdout]).toEqual([
    1,
    expect.stringContaining("for 2 peels such as db-1.example: "),
  ]);
  expect((await lint("settings")).code).toBe(0);
  expect(JSON.stringify([linted, master.program.output()])).not.toContain("hunter2");
  put("settings/common.sls", `owner: bob\nadmin_password: ${secret}\n`);
  await until(async () => (await check("settings")).status === "up");
}, 60_000);

test("the same state is published where only its syntax is checked", async () => {
  await master[Symbol.asyncDispose]();
  master = await startMaster("syntax");
  put("states/site.sls", onlyOn("db", "third:\n  test.nop:\n    - require:\n      - pkg: gone\n"));
  await until(async () => (await ran("web-1.example")).includes("second"));
  expect((await check("states")).status).toBe("up");
  expect(await ran("db-1.example")).toContain("gone");
}, 90_000);
