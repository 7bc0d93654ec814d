import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { call } from "../harness/enrollee.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { makeRepository, type TestRepository } from "../harness/git.ts";
import { until } from "../harness/until.ts";

// Broken state and settings files never come into force: two masters and a peel, compiled, with a Git repository.

let bus: TestBus;
let repository: TestRepository;
const masters: MasterDaemon[] = [];
let peel: Daemon;
let out = "";

beforeAll(async () => {
  bus = await startBus();
  out = join(bus.dir, "out");
  mkdirSync(out);
  repository = makeRepository(join(bus.dir, "git"));
  push(motd("one"));
  put("settings/top.sls", "base:\n  '*': [common]\n");
  put("settings/common.sls", "owner: ann\n");
  const flags = [
    ...["--settings-dir", join(bus.dir, "settings"), "--states-dir", join(bus.dir, "states")],
    ...["--gitfs-remotes", repository.url, "--gitfs-interval", "1s"],
  ];
  masters.push(await startMasterBinary(bus, flags), await startMasterBinary(bus, flags));
  peel = startPeelBinary(bus, master(0).url, "web-1.example", { dir: join(bus.dir, "web-1") });
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
  await until(async () => (await applied()) === "one ann");
}, 60_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  for (const one of masters) await one[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

function master(at: number): MasterDaemon {
  const found = masters[at];
  if (found === undefined) throw new Error("no such master");
  return found;
}

const motd = (text: string) =>
  `${out}/motd:\n  file.managed:\n    - contents: "${text} {{ pillar.owner }}"\n`;

/** Pushes a tree with this `motd.sls`. @returns the commit */
const push = (text: string) =>
  repository.commit("main", { "top.sls": "base:\n  '*': [motd]\n", "motd.sls": text });

function put(path: string, text: string): void {
  const file = join(bus.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

/** What the highstate writes; nothing while it fails. */
async function applied(): Promise<string | undefined> {
  const ran = await svc(bus, "run", "web-1.example", "state.highstate", "--output", "json");
  if (ran.code !== 0) return undefined;
  return readFileSync(join(out, "motd"), "utf8").trim();
}

async function checksOf(name: string): Promise<{ status: string; message: string }[]> {
  const found = await Promise.all(
    masters.map(async ({ healthUrl }) => {
      const { checks } = (await (await fetch(`${healthUrl}/readyz`)).json()) as {
        checks: Record<string, { status: string; message?: string }>;
      };
      return { status: "none", message: "", ...checks[name] };
    }),
  );
  return found.sort((one, other) => (one.status < other.status ? -1 : 1));
}

const events = async () => {
  const { stdout } = await svc(
    bus,
    "events",
    "--since",
    "1h",
    "--tag",
    "svc/states/refused",
    "--output",
    "jsonl",
  );
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { tag: string; data: Record<string, unknown> });
};

test("a broken push leaves the last good snapshot in force, and a fix comes into force", async () => {
  const broken = push(`${motd("two")}    - requires:\n      - pkg: x\nnext:\n  file.manged: []\n`);
  await until(async () => (await checksOf("states")).some(({ status }) => status === "degraded"));
  const place = 'environment base: motd.sls:4:1: file.managed: unknown requisite "requires"';
  expect(await checksOf("states")).toEqual(
    [
      { status: "degraded", message: expect.stringContaining(place) },
      { status: "up", message: expect.stringMatching(/^\S+ refused state files: .*motd\.sls:4:1: /) },
    ].map((each) => expect.objectContaining(each)),
  );
  expect(await applied()).toBe("one ann");

  const status = await svc(bus, "status");
  expect(status.stdout + status.stderr).toContain("motd.sls:4:1: ");
  expect(status.stdout).toMatch(/^base +motd\.sls:4:1 +file\.managed: unknown requisite/m);
  expect(status.stdout).toMatch(/^base +motd\.sls:7:1 +unknown state function/m);
  const doctor = await svc(bus, "doctor");
  expect(doctor.stdout + doctor.stderr).toContain("motd.sls:4:1: ");
  expect(doctor.stdout).toMatch(/^warn +state files +base motd\.sls:4:1 .*; base motd\.sls:7:1 /m);
  // Any master answers, also the one that does not publish.
  for (const { url, token } of masters) {
    const headers = { authorization: `Bearer ${token}` };
    const { json } = await call({ url, ca: bus.caPem }, { path: "/api/v1/states/files", headers });
    expect(json).toMatchObject({
      environments: [{ content: { environment: "base" }, since: expect.stringMatching(/Z$/) }],
      report: {
        refused: [
          {
            ...{ environment: "base", commit: broken },
            problems: [
              { file: "motd.sls", line: 4, column: 1 },
              { file: "motd.sls", line: 7, column: 1 },
            ],
          },
        ],
      },
    });
  }
  await until(async () => (await events()).length === 1);
  expect(await events()).toMatchObject([
    {
      tag: "svc/states/refused",
      data: {
        environment: "base",
        commit: broken,
        snapshot: expect.stringMatching(/^[0-9a-f]{64}$/),
        problems: [
          { file: "motd.sls", line: 4, column: 1, reason: expect.stringContaining("unknown requisite") },
          { file: "motd.sls", line: 7, column: 1, reason: expect.stringContaining("unknown state function") },
        ],
      },
    },
  ]);

  push(motd("three"));
  await until(async () => (await applied()) === "three ann");
  expect((await checksOf("states")).map(({ status }) => status)).toEqual(["up", "up"]);
  expect(await events()).toHaveLength(1);
}, 60_000);

test("broken settings leave the last good ones in force on every master", async () => {
  put("settings/common.sls", "owner: [bob\nport: 1\n");
  await until(async () => (await checksOf("settings")).every(({ status }) => status === "degraded"));
  for (const { message } of await checksOf("settings"))
    expect(message).toStartWith("common.sls:1:8: the bracket [ is not closed");
  expect(await applied()).toBe("three ann");
  put("settings/common.sls", "owner: bob\n");
  await until(async () => (await applied()) === "three bob");
  expect((await checksOf("settings")).map(({ status }) => status)).toEqual(["up", "up"]);
}, 60_000);

test("what masters refuse svc state lint refuses, with the same place", async () => {
  const dir = join(bus.dir, "checkout");
  mkdirSync(dir);
  writeFileSync(join(dir, "top.sls"), "base:\n  '*': [motd]\n");
  writeFileSync(join(dir, "motd.sls"), "{% if facts.os == 'x' %}\n");
  const linted = await svc(bus, "state", "lint", dir);
  expect([linted.code, linted.stdout.split(" ")[0]]).toEqual([1, "motd.sls:1:25:"]);
  push(readFileSync(join(dir, "motd.sls"), "utf8"));
  await until(async () => (await checksOf("states"))[0]?.message.includes("motd.sls:1:25: ") === true);
}, 60_000);
