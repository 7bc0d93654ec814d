import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { startPeel } from "../harness/peel.ts";
import { type RenewingMasters, startRenewingMasters } from "../harness/renewing-masters.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

// A whole peel on a real bus that renews, recovers and replaces what it is known by. The masters' side is written
// from the specification of the wire.

let bus: TestBus;
let directory: ReturnType<typeof temporaryDirectory>;
const open: RenewingMasters[] = [];

beforeAll(async () => {
  directory = temporaryDirectory("renewal");
  bus = await startBus();
}, 60_000);
afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  directory?.[Symbol.dispose]();
});

/** A host with the files of an enrolled peel, and its masters. */
async function host(peelId: string, how: { lifetimeMs?: number } = {}) {
  const masters = await startRenewingMasters(bus, peelId);
  open.push(masters);
  const dataDir = join(directory.path, peelId);
  const at = (name: string) => join(dataDir, "auth", `${peelId}.${name}`);
  mkdirSync(join(dataDir, "auth"), { recursive: true, mode: 0o700 });
  const caFile = join(dataDir, "masters.crt");
  writeFileSync(caFile, masters.ca);
  writeFileSync(at("creds"), masters.issue(how), { mode: 0o600 });
  writeFileSync(at("seed"), `${masters.key.seed}\n`, { mode: 0o600 });
  writeFileSync(at("enrollment"), `${masters.enrollmentId}\n`, { mode: 0o600 });
  const start = (options: Parameters<typeof startPeel>[2] = {}) =>
    startPeel(
      dataDir,
      [
        ...["--id", peelId, "--bus-ca", bus.caFile, "--bus-url", bus.url],
        ...["--master-url", masters.url, "--enroll-ca", caFile],
      ],
      options,
    );
  const busKey = () => parseCredentials(readFileSync(at("creds"), "utf8")).key.publicKey;
  const key = () => keyPairFromSeed("user", readFileSync(at("seed"), "utf8")).publicKey;
  return { masters, at, start, busKey, key };
}

type Running = ReturnType<typeof startPeel>;

async function readiness(peel: Running) {
  const { fields } = await peel.log.logged("peel started");
  const answer = await fetch(`http://127.0.0.1:${fields.health_port}/readyz`);
  const { checks } = (await answer.json()) as {
    checks: Record<string, { status: string; message?: string } | undefined>;
  };
  return checks.credentials;
}

test("credentials are renewed at two thirds of their lifetime, and the connection moves with them", async () => {
  const { masters, at, start, busKey } = await host("web-1", { lifetimeMs: 6_000 });
  const before = busKey();
  await using peel = start();
  await peel.ready;
  expect((await readiness(peel))?.status).toBe("up");
  const { fields } = await peel.log.logged("credentials renewed");
  expect(fields.public_key).toBe(busKey());
  expect([busKey() === before, masters.record.busKeys]).toEqual([false, [before, busKey()]]);
  expect(statSync(at("creds")).mode & 0o777).toBe(0o600);
  expect(existsSync(at("next-seed"))).toBe(false);
  // The old credentials end, and nothing is lost: the peel lives on the new connection.
  const refusals = () => peel.log.records.filter(({ event }) => event === "bus error").length;
  expect(refusals()).toBe(0);
  expect(masters.requested).toMatchObject({ renew: 1, recover: 0 });
}, 60_000);

test("a lost answer is asked for again with the same key", async () => {
  const { masters, start, busKey } = await host("web-2", { lifetimeMs: 6_000 });
  masters.loseAnswers = 1;
  await using peel = start();
  await peel.log.logged("credentials renewed");
  expect(masters.requested.renew).toBe(2);
  expect(masters.record.busKeys).toHaveLength(2);
  expect(masters.record.busKeys.at(-1)).toBe(busKey());
}, 60_000);

test("a renewal that a crash interrupted goes on with the same key", async () => {
  const { masters, at, start, busKey } = await host("web-3");
  const next = masters.issue();
  const { key } = parseCredentials(next);
  writeFileSync(at("next-seed"), `${key.seed}\n`, { mode: 0o600 });
  await using peel = start();
  await peel.log.logged("credentials renewed");
  expect([busKey(), masters.record.busKeys.length]).toEqual([key.publicKey, 2]);
}, 60_000);

test("a peel that lost the id of its enrollment looks it up, and the previous credentials stay valid", async () => {
  const { masters, start, busKey, at } = await host("web-4", { lifetimeMs: 6_000 });
  rmSync(at("enrollment"));
  const before = busKey();
  await using peel = start();
  await peel.log.logged("credentials renewed");
  expect(masters.requested).toMatchObject({ renew: 1, recover: 0, byKey: 1 });
  expect(masters.record.busKeys).toEqual([before, busKey()]);
  expect(readFileSync(at("enrollment"), "utf8")).toBe(`${masters.enrollmentId}\n`);
  expect(statSync(at("enrollment")).mode & 0o777).toBe(0o600);
}, 60_000);

test("missing, damaged and expired credentials are recovered, and the previous ones do not work any more", async () => {
  const expired = { lifetimeMs: -10_000 };
  const damages: [string, { lifetimeMs?: number }, (creds: string) => void][] = [
    ["web-5", {}, (creds) => rmSync(creds)],
    ["web-6", {}, (creds) => writeFileSync(creds, readFileSync(creds).subarray(0, 300))],
    ["web-7", expired, () => {}],
  ];
  for (const [peelId, how, damage] of damages) {
    const { masters, at, start, busKey } = await host(peelId, how);
    damage(at("creds"));
    await using peel = start();
    await peel.log.logged("credentials recovered");
    await peel.ready;
    expect(masters.record.busKeys).toEqual([busKey()]);
    expect((await readiness(peel))?.status).toBe("up");
  }
}, 60_000);

test("a peel whose enrollment has ended says what to do, and does not enroll again", async () => {
  const { masters, at, start } = await host("web-8");
  masters.record.state = "revoked";
  rmSync(at("creds"));
  await using peel = start();
  const event = `the enrollment ${masters.enrollmentId} of this peel was revoked`;
  const { level, fields } = await peel.log.logged(event);
  expect({ level, ...fields }).toMatchObject({
    level: "error",
    next: `if this host shall be a peel, delete ${at("creds")} and ${at("enrollment")}, and restart the peel: it enrolls again`,
  });
  expect(await readiness(peel)).toMatchObject({ status: "down" });
  expect(masters.requested.recover).toBe(1);
}, 60_000);

test("a suspected clone is said once, and the credentials stay in use", async () => {
  const { masters, start, busKey } = await host("web-9", { lifetimeMs: 6_000 });
  masters.issue();
  await using peel = start();
  const { level, fields } = await peel.log.logged("credentials not renewed yet");
  expect({ level, ...fields }).toMatchObject({
    level: "error",
    reason: "clone_suspected",
    next: expect.stringContaining("svc enroll clear-clone"),
  });
  expect(Number(fields.retry_in_ms)).toBeGreaterThanOrEqual(60_000);
  expect(masters.record.busKeys[0]).toBe(busKey());
}, 60_000);

test("credentials that the bus refuses three times in a row are recovered while the peel runs", async () => {
  const { masters, start, busKey } = await host("web-10", { lifetimeMs: 4_000 });
  masters.refuseWith = "unavailable";
  await using peel = start();
  await peel.ready;
  const before = busKey();
  await peel.log.logged("credentials recovered");
  await peel.log.logged("bus connection moved");
  expect([busKey() === before, masters.record.busKeys]).toEqual([false, [busKey()]]);
  expect((await masters.run({ function: "test.ping", args: {} })).success).toBe(true);
}, 60_000);

test("a lost answer to a recovery costs another key, and no operator", async () => {
  const { masters, at, start, busKey } = await host("web-11");
  rmSync(at("creds"));
  masters.loseAnswers = 1;
  await using peel = start();
  await peel.log.logged("credentials recovered");
  await peel.ready;
  expect(masters.record.busKeys).toEqual([busKey()]);
}, 60_000);

test("a job renews the credentials, and its return arrives over the new connection", async () => {
  const { masters, start, busKey } = await host("web-12");
  await using peel = start();
  await peel.ready;
  const before = busKey();
  const result = await masters.run({ function: "identity.renew", args: {} });
  expect(result).toMatchObject({ success: true, return: { public_key: masters.key.publicKey } });
  expect([busKey() === before, masters.record.busKeys]).toEqual([false, [before, busKey()]]);
}, 60_000);

test("a job that runs goes on while the credentials are renewed, and is done once", async () => {
  const { masters, at, start } = await host("web-13", { lifetimeMs: 6_000 });
  await using peel = start();
  await peel.ready;
  const marks = at("marks");
  const running = masters.run({
    function: "cmd.run",
    args: {
      command: `echo begun >> ${marks}; while [ ! -e ${marks}.go ]; do sleep 0.1; done; echo done >> ${marks}`,
    },
  });
  await peel.log.logged("job taken");
  await peel.log.logged("credentials renewed");
  writeFileSync(`${marks}.go`, "");
  expect((await running).success).toBe(true);
  expect(readFileSync(marks, "utf8")).toBe("begun\ndone\n");
}, 60_000);

test("a job replaces the keys of the peel, and the old one is deleted when settings arrive for the new one", async () => {
  const { masters, at, start, key } = await host("web-14");
  masters.seal({ motd: "one" });
  await using peel = start();
  await peel.log.logged("settings in force");
  const result = await masters.run({ function: "identity.rekey", args: {} });
  expect(result).toMatchObject({ success: true, return: { public_key: masters.record.publicKey } });
  expect([key(), key() === masters.key.publicKey]).toEqual([masters.record.publicKey, false]);
  masters.seal({ motd: "two" });
  await peel.log.logged("settings in force", ({ version }) => Number(version) > 1);
  await masters.run({ function: "settings.refresh", args: {} });
  expect([existsSync(at("old-seed")), existsSync(at("new-seed")), statSync(at("seed")).mode & 0o777]).toEqual(
    [false, false, 0o600],
  );
  // The new key renews.
  expect((await masters.run({ function: "identity.renew", args: {} })).success).toBe(true);
}, 60_000);

test("a lost answer to a change of keys leaves a key that the record knows", async () => {
  const { masters, start, key } = await host("web-15");
  await using peel = start();
  await peel.ready;
  masters.loseAnswers = 1;
  const result = await masters.run({ function: "identity.rekey", args: {} });
  expect(result.success).toBe(false);
  expect((await masters.run({ function: "identity.rekey", args: {} })).success).toBe(true);
  expect(key()).toBe(masters.record.publicKey);
}, 60_000);
