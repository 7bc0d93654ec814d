import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AckPolicy } from "nats";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { startMaster } from "../harness/master.ts";

// Backs up the data of a bus and restores it to a new one.

let bus: TestBus;
let saved: string;
let creds: string;

beforeAll(async () => {
  bus = await startBus();
  saved = join(bus.dir, "saved");
  creds = join(bus.authDir, "master.creds");
  await using _ = await startMaster(bus);
  await using connection = await asMaster();
  const { bucket } = connection;
  for (let i = 0; i < 300; i++) await bucket.put(`key-${i % 100}`, Buffer.alloc(5_000, i % 256));
});
afterAll(async () => {
  await bus?.[Symbol.asyncDispose]();
});

async function asMaster() {
  const connection = await connectTo(bus, "master");
  return {
    bucket: await openBucket(connection, "facts"),
    [Symbol.asyncDispose]: () => connection.nats.close(),
  };
}

const contents = async () => {
  await using connection = await asMaster();
  const entries = await connection.bucket.entries();
  return entries.map(({ key, revision, value }) => [key, revision, Bun.hash(value)]).sort();
};

test("an operator's credentials do not read everything", async () => {
  const refused = await cli(bus, "bus", "backup", saved, "--creds", join(bus.authDir, "admin.creds"));
  expect(refused.exit).toBe(1);
  expect(refused.stderr).toContain("Permissions Violation");
  expect(readdirSync(saved)).toEqual([]);
});

test("a backup is for its owner alone, and is not overwritten", async () => {
  const made = await cli(bus, "bus", "backup", saved, "--creds", creds, "--output", "json");
  expect([made.stderr, made.exit]).toEqual(["", 0]);
  const { streams } = JSON.parse(made.stdout);
  expect(streams.map(({ name }: { name: string }) => name)).toContain("KV_facts");
  expect(streams.map(({ name }: { name: string }) => name)).not.toContain("KV_enroll-challenges");
  expect(statSync(saved).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(saved)) expect(statSync(join(saved, name)).mode & 0o777).toBe(0o600);
  const again = await cli(bus, "bus", "backup", saved, "--creds", creds);
  expect([again.exit, again.stderr]).toEqual([
    1,
    `svc: ${saved}/backup.json exists: choose another directory\n`,
  ]);
});

test("what reads the bus meanwhile does not disturb a backup", async () => {
  const reader = await connectTo(bus, "master");
  const { consumers } = await reader.nats.jetstreamManager();
  const stop = new AbortController();
  // As each list of svc does. Without another attempt, 80 of 200 snapshots failed next to these.
  const readers = Array.from({ length: 8 }, async () => {
    while (!stop.signal.aborted) {
      const { name } = await consumers.add("KV_facts", { ack_policy: AckPolicy.Explicit });
      await consumers.delete("KV_facts", name);
    }
  });
  for (const attempt of ["first", "second", "third"]) {
    const made = await cli(bus, "bus", "backup", `${saved}-${attempt}`, "--creds", creds, "--output", "json");
    expect([made.stderr, made.exit]).toEqual(["", 0]);
    const { streams } = JSON.parse(readFileSync(join(`${saved}-${attempt}`, "backup.json"), "utf8"));
    for (const { name, bytes, sha256 } of streams) {
      const stored = readFileSync(join(`${saved}-${attempt}`, `${name}.snapshot`));
      expect([stored.length, createHash("sha256").update(stored).digest("hex")]).toEqual([bytes, sha256]);
    }
  }
  stop.abort();
  await Promise.all(readers);
  await reader.nats.close();
}, 60_000);

test("it goes onto a new bus with every revision, and onto no other", async () => {
  const before = await contents();
  const onto = await cli(bus, "bus", "restore", saved, "--creds", creds);
  expect(onto.stderr).toContain("the bus already has KV_approvals: restore to a new bus");
  await bus.stop();
  renameSync(join(bus.dir, "store"), join(bus.dir, "store-before"));
  await bus.start();

  const file = join(saved, "KV_facts.snapshot");
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(0, -1));
  const damaged = await cli(bus, "bus", "restore", saved, "--creds", creds);
  expect(damaged.stderr).toBe(`svc: ${file} is damaged: its digest differs\n`);
  writeFileSync(file, bytes);

  const restored = await cli(bus, "bus", "restore", saved, "--creds", creds);
  expect([restored.stderr, restored.exit]).toEqual(["", 0]);
  expect(await contents()).toEqual(before);
  await using master = await startMaster(bus);
  expect(master.records.filter(({ level }) => level === "error")).toEqual([]);
});

test("what is no backup is told", async () => {
  const missing = await cli(bus, "bus", "restore", bus.dir, "--creds", creds);
  expect(missing.stderr).toBe(`svc: cannot read the backup ${bus.dir}/backup.json: no such file\n`);
  writeFileSync(join(bus.dir, "backup.json"), "{}");
  const other = await cli(bus, "bus", "restore", bus.dir, "--creds", creds);
  expect(other.stderr).toContain("was not written by svc bus backup");
});
