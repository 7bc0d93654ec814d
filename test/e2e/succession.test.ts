import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { isSigned, parseSuccession } from "../../internal/identity/succession/statement.ts";
import { send } from "../harness/client.ts";
import { binaries } from "../harness/fleet.ts";
import {
  busEnvironment,
  type FleetDirectory,
  fleetDirectory,
  portFlags,
  startMasterOf,
} from "../harness/fleet-directory.ts";
import { freePorts } from "../harness/free-ports.ts";
import { operate, submitPeel } from "../harness/peel-connection.ts";
import { runProgram } from "../harness/process.ts";
import { svc } from "../harness/svc.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// A fleet whose keys were stolen, and the one that succeeds it.

setDefaultTimeout(60_000);

const files = temporaryDirectory("succession");
const at = (...parts: string[]) => join(files.path, ...parts);
let ports: { bus: number; api: number };
let old: FleetDirectory;
let copy: string;
let seed: string;
const peels: Record<string, string> = {};

beforeAll(async () => {
  const [bus = 0, api = 0] = await freePorts(2);
  ports = { bus, api };
  old = await fleetDirectory(at("old"), ports);
  writeFileSync(join(old.dir, "states", "top.sls"), "base: {}\n");
  writeFileSync(join(old.dir, "roles.yaml"), "roles: {web: {enrollments: [list]}}\n");
  {
    await using _ = await startMasterOf(old);
    for (const id of ["web-1", "web-2", "web-3", "waits"]) {
      const { enrollmentId, key } = await submitPeel(old, id);
      peels[id] = enrollmentId;
      if (id === "waits") continue;
      expect((await operate(old, enrollmentId, "approve")).status).toBe(200);
      const signature = Buffer.from(key.sign(Buffer.from(enrollmentId))).toString("base64url");
      const headers = { authorization: `Nkey ${key.publicKey}:${signature}` };
      const creds = await send(old.url, old.ca, { path: `/api/v1/enroll/${enrollmentId}/creds`, headers });
      expect([creds.status, creds.json]).toMatchObject([200, { recovery_keys: [recoveryKeyOf(old.dir)] }]);
    }
    await release(old.dir);
    const creds = ["--creds", join(old.dir, "auth", "master.creds")];
    const saved = await old.svc("bus", "backup", join(old.dir, "backup"), ...creds);
    expect([saved.stderr, saved.exit]).toEqual(["", 0]);
    // After the backup: the log of decisions of the master knows it.
    expect((await operate(old, peels["web-3"] ?? "", "revoke")).status).toBe(200);
    const none = await send(old.url, old.ca, { path: "/api/v1/enroll/succession" });
    expect([none.status, none.json]).toEqual([404, { error: "this fleet does not succeed another one" }]);
    const { json: body } = await send(old.url, old.ca, { path: "/api/v1/enroll/ca" });
    expect(body).toMatchObject({ recovery_keys: [recoveryKeyOf(old.dir)] });
  }
  copy = at("copy");
  cpSync(old.dir, copy, { recursive: true });
  seed = join(copy, "auth", "recovery.seed");
});
afterAll(() => files[Symbol.dispose]());

const recoveryKeyOf = (dir: string) => readFileSync(join(dir, "auth", "recovery.pub"), "utf8").trim();
/** Releases the states of a fleet, as soon as they are in force. */
async function release(dir: string): Promise<void> {
  const words = ["--config", join(dir, "svc.yaml"), "states", "release", "--tree", join(dir, "states")];
  const env = { HOME: at("home"), PATH: process.env.PATH ?? "" };
  mkdirSync(env.HOME, { mode: 0o700 });
  await until(
    () => runProgram([binaries.cli, ...words, "--accept-sources", "--yes"], { env }),
    ({ code }) => code === 0,
  );
}
const succeed = (dir: string, flags: Record<string, string> = {}) => {
  const given = { "--from": copy, "--recovery-seed": seed, ...flags };
  const words = ["fleet", "succeed", dir, ...Object.entries(given).flat(), ...portFlags(ports)];
  return svc(words, { env: busEnvironment() });
};

test("the new fleet has new keys and the same peels, and serves its statement", async () => {
  const dir = at("new");
  const next = await fleetDirectory(dir, ports, [
    "fleet",
    "succeed",
    dir,
    "--from",
    copy,
    "--recovery-seed",
    seed,
  ]);
  const own = (name: string) => readFileSync(join(dir, "auth", name), "utf8");
  for (const name of ["operator.seed", "account.seed", "command.seed", "master.creds", "ca/root.crt"]) {
    expect(own(name)).not.toBe(readFileSync(join(copy, "auth", name), "utf8"));
  }
  expect(existsSync(join(dir, "auth", "recovery.seed"))).toBe(false);
  expect(statSync(join(dir, "auth", "succession.records")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(dir, "states", "top.sls"), "utf8")).toBe("base: {}\n");
  expect(readFileSync(join(dir, "roles.yaml"), "utf8")).toBe("roles: {web: {enrollments: [list]}}\n");
  const written = parseSuccession(JSON.parse(own("succession.json")));
  expect(isSigned(written)).toBe(true);
  expect(written).toMatchObject({
    v: 1,
    serial: 1,
    ca_bundle_pem: next.ca,
    recovery_keys: [recoveryKeyOf(copy)],
    key: recoveryKeyOf(copy),
    master_urls: [next.url],
    bus_urls: [`tls://localhost:${ports.bus}`],
  });
  // Two starts: the second one changes nothing.
  for (const _ of [1, 2]) {
    await using master = await startMasterOf(next);
    const served = await send(next.url, next.ca, { path: "/api/v1/enroll/succession" });
    expect([served.status, served.json]).toEqual([200, written]);
    const listed = await next.svc("enroll", "list", "--state", "all", "--output", "json");
    const records: { id: string; peel_id: string; state: string; trust: string }[] = JSON.parse(
      listed.stdout,
    );
    expect(records.map(({ id, peel_id, state, trust }) => [id, peel_id, state, trust]).sort()).toEqual(
      ["web-1", "web-2"].map((id) => [peels[id] ?? "", id, "approved", "-"]).sort(),
    );
    const shown = await next.svc("enroll", "show", peels["web-1"] ?? "", "--output", "json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ succeeded: true, state: "approved" });
    expect(master.records.filter(({ level }) => level === "error")).toEqual([]);
    const { json: body } = await send(next.url, next.ca, { path: "/api/v1/enroll/ca" });
    expect(body).toMatchObject({ command_keys: written.command_keys, recovery_keys: [recoveryKeyOf(copy)] });
  }

  // And that fleet can be succeeded again, with a recovery key of its own.
  const again = at("again");
  const more = [
    "--from",
    dir,
    "--bus-backup",
    join(copy, "backup"),
    "--recovery-seed",
    seed,
    "--new-recovery",
  ];
  const foreign = await svc(["fleet", "succeed", again, ...more], { env: busEnvironment() });
  expect([foreign.exit, foreign.stderr]).toEqual([
    1,
    `svc: ${join(copy, "backup")} is a backup of another fleet than ${dir}: name the right one with --bus-backup\n`,
  ]);
  expect(existsSync(again)).toBe(false);
  {
    await using _ = await startMasterOf(next);
    const creds = ["--creds", join(dir, "auth", "master.creds")];
    expect((await next.svc("bus", "backup", join(dir, "backup"), ...creds)).exit).toBe(0);
  }
  const made = await svc(
    ["fleet", "succeed", again, "--from", dir, "--recovery-seed", seed, "--new-recovery"],
    { env: busEnvironment() },
  );
  expect([made.exit, made.stdout]).toEqual([0, expect.stringContaining("Succession")]);
  const second = parseSuccession(JSON.parse(readFileSync(join(again, "auth", "succession.json"), "utf8")));
  expect([second.serial, second.key, isSigned(second)]).toEqual([2, recoveryKeyOf(copy), true]);
  expect(second.recovery_keys).toEqual([recoveryKeyOf(again)]);
  expect(recoveryKeyOf(again)).not.toBe(recoveryKeyOf(copy));
  expect(statSync(join(again, "auth", "recovery.seed")).mode & 0o777).toBe(0o600);
});

test("it names the environments to release again", async () => {
  const { exit, stderr } = await succeed(at("listed"));
  const config = join(at("listed"), "svc.yaml");
  expect([exit, stderr]).toEqual([
    0,
    expect.stringContaining(
      `release these environments again:\n  svc states release --environment base --config ${config}\n`,
    ),
  ]);
  expect(await succeed(at("listed-json"), { "--output": "json" })).toMatchObject({
    ...{ exit: 0, stdout: expect.stringContaining('"released": [\n    "base"\n  ]') },
  });
});

test("what cannot be used is one line, and nothing is written", async () => {
  const dir = at("refused");
  const wrong = at("wrong.seed");
  const { publicKey, seed: other } = newKeyPair("user", systemRandom);
  writeFileSync(wrong, other);
  const empty = at("empty");
  mkdirSync(empty);
  const cases: [flags: Record<string, string>, line: string][] = [
    [{ "--recovery-seed": at("none") }, `cannot read --recovery-seed ${at("none")}: no such file`],
    [
      { "--recovery-seed": join(copy, "auth", "account.seed") },
      `--recovery-seed: ${join(copy, "auth", "account.seed")} does not contain the seed of a recovery key`,
    ],
    [
      { "--recovery-seed": wrong },
      `--recovery-seed belongs to ${publicKey}, which is not a key of ${join(copy, "auth", "recovery.pub")}: name the recovery.seed of that fleet`,
    ],
    [
      { "--from": empty },
      `${join(empty, "auth/ca/root.crt")} is missing: name a copy of the directory of svc init with --from; where the CA is external, its owner replaces it`,
    ],
    [
      { "--bus-backup": empty },
      `cannot read the backup ${join(empty, "backup.json")}: no such file: make one with svc bus backup, or name it with --bus-backup`,
    ],
  ];
  for (const [flags, line] of cases) {
    expect(await succeed(dir, flags)).toEqual({ exit: 1, stdout: "", stderr: `svc: ${line}\n` });
    expect(existsSync(dir)).toBe(false);
  }
  expect((await svc(["fleet", "succeed", dir])).exit).toBe(2);
});

test("a clock that is behind, a damaged backup, and a directory with files are refused", async () => {
  const dir = at("refused-too");
  const words = ["fleet", "succeed", dir, "--from", copy, "--recovery-seed", seed];
  const behind = await svc(words, {
    env: busEnvironment(),
    clock: { ...systemClock, now: () => systemClock.now() - 3600_000 },
  });
  expect([behind.exit, behind.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^svc: the clock of this host is behind: it is \S+, and \S+ knows of \S+; set it, and try again\n$/,
    ),
  ]);
  const backup = at("damaged");
  cpSync(join(copy, "backup"), backup, { recursive: true });
  const snapshot = join(backup, "KV_enrollments.snapshot");
  writeFileSync(snapshot, readFileSync(snapshot).subarray(0, -1));
  const damaged = await succeed(dir, { "--bus-backup": backup });
  expect([damaged.exit, damaged.stderr]).toEqual([1, `svc: ${snapshot} is damaged: its digest differs\n`]);
  expect(existsSync(dir)).toBe(false);

  mkdirSync(join(dir, "auth"), { recursive: true });
  writeFileSync(join(dir, "auth", "succession.json"), "mine");
  const taken = await succeed(dir);
  expect([taken.exit, taken.stderr]).toEqual([
    1,
    `svc: ${join(dir, "auth/succession.json")} already exists and is not overwritten: choose another directory, or remove ${dir} if an interrupted run left it, which has no master.yaml\n`,
  ]);
  expect(readdirSync(dir, { recursive: true }).sort()).toEqual(["auth", "auth/succession.json"]);
});
