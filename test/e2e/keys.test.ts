import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { cli, startCli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { observedLog, operate } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Two masters with an auth directory each, and three peels: the command key is replaced while a rollout is open.

setDefaultTimeout(60_000);

let bus: TestBus;
let second: TestBus;
/** The peels enroll from one address. */
const config = { enroll: { networks: { test: { cidr: ["127.0.0.0/8"], capacity: 500, refill: "1s" } } } };
const logs = [observedLog(), observedLog()] as const;
const masters: TestMaster[] = [];
const peels: TestPeel[] = [];

beforeAll(async () => {
  bus = await startBus();
  second = { ...bus, authDir: join(bus.dir, "auth-2") };
  cpSync(bus.authDir, second.authDir, { recursive: true });
  masters.push(await startMaster(bus, { log: logs[0], config }));
  masters.push(await startMaster(second, { log: logs[1], config }));
  for (const id of ["web-a", "web-b", "web-c"]) peels.push(await admit(id));
});
afterAll(async () => {
  for (const one of [...peels, ...masters]) await one[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Starts a peel that asks both masters, and lets it in. */
async function admit(id: string): Promise<TestPeel> {
  const dataDir = join(bus.dir, `peel-${id}`);
  makeDirectory(dataDir, 0o700);
  const config = join(dataDir, "peel.yaml");
  writeFileAtomic(config, "{}\n", secretMode);
  const peel = startPeel(dataDir, [
    ...[
      "--config",
      config,
      "--id",
      id,
      "--bus-url",
      bus.url,
      "--bus-ca",
      bus.caFile,
      "--enroll-ca",
      bus.caFile,
    ],
    ...["--master-urls", masters.map(({ url }) => url).join(",")],
  ]);
  const pending = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(masters[0] as TestMaster, String(pending.fields.enrollment_id), "approve");
  await peel.ready;
  return peel;
}

const keys = (...argv: string[]) => cli(bus, "keys", ...argv, "--dir", bus.authDir);
const statusOf = async (dir = bus.authDir) => {
  const { exit, stdout } = await cli(bus, "keys", "status", "--dir", dir, "--output", "json");
  expect(exit).toBe(0);
  return JSON.parse(stdout);
};
const copy = (...names: string[]) => {
  for (const name of names) copyFileSync(join(bus.authDir, name), join(second.authDir, name));
};
/** Repeats what is refused until the masters have told that they are ready. */
function untilFinished(key: string) {
  const finish = async () => {
    const finished = await keys("finish", key);
    if (finished.exit !== 0) expect(finished.stderr).toMatch(/try again soon|not confirmed/);
    return finished;
  };
  return until(finish, ({ exit }) => exit === 0);
}
const ping = async () => {
  const { exit, stdout } = await cli(bus, "run", "*", "test.ping", "--timeout", "20s", "--full");
  for (const id of ["web-a", "web-b", "web-c"]) expect(stdout).toMatch(new RegExp(`${id} +ok +true`));
  expect(exit).toBe(0);
};

test("before a change, status shows every key with its holder, and finish has nothing to do", async () => {
  const status = await statusOf();
  expect(status.command).toMatchObject({ phase: "none", unconfirmed_count: 0 });
  expect(status.account).toMatchObject({ phase: "none" });
  expect(status.masters).toHaveLength(2);
  expect(status.notes).toEqual([]);
  for (const key of [
    "operator.seed",
    "account.seed",
    "command.seed",
    "master.creds",
    "ca/intermediate.key",
  ]) {
    expect(status.keys).toContainEqual(
      expect.objectContaining({ key, holder: expect.any(String), depends: expect.any(String) }),
    );
  }
  expect(await keys("finish", "command")).toMatchObject({ exit: 1 });
  expect(await keys("rotate", "operator")).toMatchObject({ exit: 2 });
});

test("the next key of settings is made next to the current one, and status names the master that lacks it", async () => {
  const { current } = (await statusOf()).settings;
  expect(current).toStartWith("X");
  const rotated = await keys("rotate", "settings");
  const file = join(bus.authDir, "settings-next.seed");
  expect([rotated.exit, rotated.stderr]).toEqual([
    0,
    `Next: copy ${file} to auth_dir of every other master. They use it without a restart.\nsvc keys status shows which masters have it.\n`,
  ]);
  // Both lack it until the first one has read it and said so.
  const lacking = await until(statusOf, ({ notes }) => notes.length === 1);
  const { name } = lacking.masters.find(
    ({ settings_keys }: { settings_keys: string[] }) => settings_keys.length === 1,
  );
  expect(lacking.notes).toEqual([
    `master ${name} does not have the same keys of settings as this directory: copy the files of one to the other`,
  ]);
  expect(lacking.settings).toMatchObject({
    ...{ current, phase: "waiting" },
    reason: `master ${name} does not have the next key of settings: copy settings-next.seed there`,
  });
  copy("settings-next.seed");
  const whole = await until(statusOf, ({ settings }) => settings.phase === "ready");
  for (const { settings_keys } of whole.masters)
    expect(settings_keys).toEqual([current, whole.settings.next]);
  expect((await keys("rotate", "settings")).stderr).toContain("holds the next settings key already");
  expect((await keys("finish", "settings")).stderr).toContain("expected command or account");
});

test("the command key is replaced while a rollout is open, and nobody restarts", async () => {
  const before = readFileSync(join(bus.authDir, "command.seed"), "utf8");
  const gate = join(bus.dir, "gate");
  const wait = `while [ ! -e ${gate} ]; do sleep 0.1; done`;
  const rollout = startCli(bus, ["rollout", "start", "*", "cmd.run", wait, "--waves", "1"]);
  await rollout.wrote(/wave 1\/3: job-/);

  expect(await keys("rotate", "command")).toMatchObject({ exit: 0 });
  expect((await keys("rotate", "command")).stderr).toContain("holds the next command key already");
  // The other master lacks it: it is named, and nothing is finished.
  await logs[0].logged("command keys reloaded");
  const refused = await keys("finish", "command");
  expect(refused.exit).toBe(1);
  expect(refused.stderr).toContain("does not have the next command key");
  expect(refused.stderr.trim().split("\n")).toHaveLength(1);

  copy("command-next.seed");
  for (const { log } of peels) await log.logged("command keys replaced");
  for (const log of logs) await log.logged("commands are signed with the next command key");
  await ping();
  const next = readFileSync(join(bus.authDir, "command-next.seed"), "utf8");
  // The heartbeats of the masters say so within 5 s.
  const finished = await untilFinished("command");
  expect(finished).toMatchObject({ exit: 0 });
  expect(readFileSync(join(bus.authDir, "command.seed"), "utf8")).toBe(next);
  copy("command.seed", "command-earlier.json");
  await cli(bus, "keys", "finish", "command", "--dir", second.authDir);

  await ping();
  writeFileSync(gate, "");
  expect(await rollout.exit).toBe(0);
  expect(rollout.stderr).toContain("completed; 0 peels of 3 failed");
  expect(before).not.toBe(next);
});

test("credentials are signed with a new key of the account, those before stay valid, and finish names their peels", async () => {
  expect(await keys("rotate", "account")).toMatchObject({ exit: 0 });
  copy("account-signing-next.seed");
  for (const log of logs) await log.logged("credentials are signed with the next signing key of the account");
  await ping();
  const next = (await statusOf()).account.next;
  peels.push(await admit("web-d"));
  const creds = readFileSync(join(bus.dir, "peel-web-d/auth/web-d.creds"), "utf8");
  const { jwt } = parseCredentials(creds);
  const account = keyPairFromSeed("account", readFileSync(join(bus.authDir, "account.seed"), "utf8"));
  expect(readClaims(jwt)).toMatchObject({ iss: next, nats: { issuer_account: account.publicKey } });
  // The records of the first three depend on the key before.
  const refused = await until(
    () => keys("finish", "account"),
    ({ stderr }) => !stderr.includes("try again soon"),
  );
  expect(refused.exit).toBe(1);
  expect(refused.stderr).toContain("web-a, web-b, web-c");
  expect((await statusOf()).account).toMatchObject({ phase: "waiting" });
});
