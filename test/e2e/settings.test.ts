import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startSession } from "../../internal/agent/daemon/session.ts";
import { createKeyRing } from "../../internal/agent/identity/key-ring.ts";
import { createSpread } from "../../internal/agent/link/spread.ts";
import { openPeelSettings } from "../../internal/agent/settings/settings.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { acquireWriter } from "../../internal/bus/storage/fenced-writer.ts";
import { hintSubject } from "../../internal/bus/subjects/subjects.ts";
import { decodeSettingsRecord, encodeSettingsRecord } from "../../internal/fleet/settings/record.ts";
import { targetDoors } from "../../internal/fleet/targeting/doors.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { createEnvelopeMaker, encodeSettings } from "../../internal/wire/settings-envelope.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { connectionOver } from "../harness/connection.ts";
import { bearer, call } from "../harness/enrollee.ts";
import { fixedFacts } from "../harness/facts.ts";
import { localIn } from "../harness/local.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  connectPeel,
  type EnrolledPeel,
  enrollPeel,
  observedLog,
  type PeelConnection,
  refusals,
} from "../harness/peel-connection.ts";
import { runRecord } from "../harness/run-record.ts";
import { noStateFiles } from "../harness/state-files.ts";

// Settings from the files of a master to their peel, and to no other, over a real bus.

const ringOf = (dataDir: string, seed: string) =>
  createKeyRing(
    { seed, newSeed: join(dataDir, "new-seed"), oldSeed: join(dataDir, "old-seed") },
    observedLog(),
  );
const secret = "s3cret-of-the-database";
runRecord.register("settings value", secret);
const marker = "marker-told-in-facts";
let bus: TestBus;
let master: TestMaster;
let masters: Bus;
let bucket: Bucket;
let tree: string;
const peels: LivePeel[] = [];

interface LivePeel extends AsyncDisposable {
  readonly peel: EnrolledPeel;
  readonly dataDir: string;
  readonly facts: ReturnType<typeof fixedFacts>;
  readonly settings: ReturnType<typeof openPeelSettings>;
  readonly connection: PeelConnection;
  readonly log: ReturnType<typeof observedLog>;
  /** Resolves when these settings are in force. */
  holds(names: Record<string, unknown>): Promise<void>;
}

beforeAll(async () => {
  bus = await startBus();
  tree = join(bus.dir, "settings");
  makeDirectory(tree, 0o700);
  write("top.sls", "base:\n  '*': [common]\n  'db-*': [db]\n");
  write("common.sls", "os: {{ facts.os }}\nlevel: 1\n");
  write("db.sls", `password: ${secret}\n`);
  master = await startMaster(bus, { flags: ["--settings-dir", tree] });
  masters = await connectTo(bus, "master");
  bucket = await openBucket(masters, "settings");
  for (const id of ["db-1", "web-1"]) peels.push(await live(await enrollPeel(master, id)));
});
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  await masters?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** Puts a file of the tree in place as a whole. */
function write(path: string, text: string): void {
  writeFileSync(join(tree, `.${path}`), text);
  renameSync(join(tree, `.${path}`), join(tree, path));
}

function at(index: number): LivePeel {
  const found = peels[index];
  if (found === undefined) throw new Error("no such peel");
  return found;
}

async function live(peel: EnrolledPeel): Promise<LivePeel> {
  const { peelId } = peel;
  const dataDir = join(bus.dir, `peel-${peelId}`);
  mkdirSync(dataDir, { mode: 0o700, recursive: true });
  const seed = join(dataDir, "seed");
  writeFileAtomic(seed, `${peel.seed}\n`, secretMode);
  const log = observedLog();
  const commandKeys = { current: peel.commandKeys };
  const settings = openPeelSettings({
    dataDir,
    peelId,
    keys: ringOf(dataDir, seed),
    commandKeys,
    clock: systemClock,
    log,
  });
  const facts = fixedFacts({ id: peelId, os: "Debian", marker });
  const local = localIn(dataDir, peelId, log);
  const connection = await connectPeel(bus, peel);
  const session = startSession({
    connection: connectionOver(connection.bus),
    peelId,
    commandKeys,
    facts,
    settings,
    stateFiles: noStateFiles(),
    onCluster: async () => {},
    local,
    clock: systemClock,
    random: systemRandom,
    spread: createSpread(() => 0),
    jitter: () => 0,
    log,
  });
  return {
    peel,
    dataDir,
    facts,
    settings,
    connection,
    log,
    async holds(wanted) {
      await log.logged("settings in force", () => Bun.deepEquals(settings.current(), wanted));
    },
    async [Symbol.asyncDispose]() {
      session.stop();
      await local.stop();
      await connection[Symbol.asyncDispose]();
    },
  };
}

const recordOf = async (peelId: string) => {
  const entry = await bucket.get(peelId);
  if (entry === undefined) throw new Error(`no settings of ${peelId}`);
  const record = decodeSettingsRecord(entry.value);
  if (record === undefined) throw new Error(`the settings of ${peelId} are malformed`);
  return { ...record, revision: entry.revision };
};

/** Replaces the stored settings of a peel and notifies it, as an attacker with access to the bus could. */
async function replace(peelId: string, envelope: Uint8Array | undefined): Promise<void> {
  await bucket.put(peelId, encodeSettingsRecord({ peelId, ...(envelope === undefined ? {} : { envelope }) }));
  masters.nats.publish(hintSubject(peelId));
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test("each peel gets its own settings, and a file for the time without a bus", async () => {
  await at(0).holds({ os: "Debian", level: 1, password: secret });
  await at(1).holds({ os: "Debian", level: 1 });
  const snapshot = join(at(0).dataDir, "settings-snapshot.msgpack");
  expect(statSync(snapshot).mode & 0o777).toBe(0o600);
});

test("a file that changed reaches the peels that use it", async () => {
  const before = await recordOf("web-1");
  write("db.sls", `password: ${secret}\nport: 5432\n`);
  await at(0).holds({ os: "Debian", level: 1, password: secret, port: 5432 });
  expect((await recordOf("web-1")).revision).toBe(before.revision);
  write("common.sls", "os: {{ facts.os }}\nlevel: 2\n");
  await Promise.all([
    at(0).holds({ os: "Debian", level: 2, password: secret, port: 5432 }),
    at(1).holds({ os: "Debian", level: 2 }),
  ]);
});

test("settings chosen by facts are compiled, with a warning that says what is wrong with it", async () => {
  const warnings = () =>
    master.records.filter(({ event }) => event.startsWith("settings are chosen by facts"));
  expect(warnings()).toEqual([]);
  write("top.sls", "base:\n  '*': [common]\n  'db-*': [db]\n  'G@os:Plan9 or P@role:db': [db]\n");
  at(1).facts.set("role", "db");
  await at(1).holds({ os: "Debian", level: 2, password: secret, port: 5432 });
  expect(warnings()).toMatchObject([
    { level: "warn", fields: { target: "G@os:Plan9 or P@role:db", at: "top.sls:4" } },
  ]);
  write("top.sls", "base:\n  '*': [common]\n  'db-*': [db]\n");
  await at(1).log.logged("settings in force", () => at(1).settings.get("password") === undefined);
});

test("a fact that a peel reports never adds files or settings, whatever is in it", async () => {
  write("common.sls", "os: {{ facts.os }}\nlevel: 2\nmotd: {{ facts.get('motd', 'none') }}\n");
  await at(1).holds({ os: "Debian", level: 2, motd: "none" });
  const attack = "hi\ninclude:\n  - db\nlevel: 9";
  at(1).facts.set("motd", attack);
  await at(1).holds({ os: "Debian", level: 2, motd: attack });
  expect(at(1).settings.get("password")).toBeUndefined();
  at(1).facts.set("motd", null);
  write("common.sls", "os: {{ facts.os }}\nlevel: 2\n");
  await at(1).holds({ os: "Debian", level: 2 });
});

test("facts that changed compile that peel's settings alone", async () => {
  const before = await recordOf("db-1");
  at(1).facts.set("os", "Rocky");
  await at(1).holds({ os: "Rocky", level: 2 });
  expect((await recordOf("db-1")).revision).toBe(before.revision);
});

test("no file of the bus, no log and no subject has a setting in the clear", async () => {
  const has = (text: string) =>
    filesBelow(join(bus.dir, "store")).filter((path) => readFileSync(path).includes(text));
  // The search finds what is there: facts are no secret.
  expect(has(marker).length).toBeGreaterThan(0);
  expect(has(secret)).toEqual([]);
  expect(JSON.stringify(master.records)).not.toContain(secret);
  expect(bus.server().output()).not.toContain(secret);
  for (const { log, connection } of peels) {
    expect(JSON.stringify([log.records, connection.records])).not.toContain(secret);
  }
});

test("neither a peel nor an operator reads or writes the bucket, nor gives hints", async () => {
  const { connection } = at(1);
  const { nats } = connection;
  const subjects = [
    "$KV.settings.web-1",
    "$KV.settings.db-1",
    "$JS.API.STREAM.MSG.GET.KV_settings",
    hintSubject("db-1"),
  ];
  for (const subject of subjects) {
    expect(await refusals(connection.bus, connection.records, () => nats.publish(subject, "x"))).toEqual([
      subject,
    ]);
    expect(await refusals(connection.bus, connection.records, () => void nats.subscribe(subject))).toEqual([
      subject,
    ]);
  }
  const log = observedLog();
  const admin = await connectTo(bus, "admin");
  const denied = [
    "$KV.settings.web-1",
    "$JS.API.STREAM.MSG.GET.KV_settings",
    "$JS.API.CONSUMER.CREATE.KV_settings",
  ];
  for (const subject of denied) {
    await expect(admin.nats.request(subject, "{}", { timeout: 300 })).rejects.toThrow();
  }
  await admin.nats.close();
  expect(log.records).toEqual([]);
});

test("what is replayed, another peel's or forged is refused, and what was in force stays", async () => {
  const { settings, log, peel } = at(1);
  const inForce = settings.current();
  const others = at(0).settings.current();
  const older = await recordOf("web-1");
  write("common.sls", "os: {{ facts.os }}\nlevel: 3\n");
  // Stop both: a running master would repair the value that is replaced below.
  await Promise.all([0, 1].map((i) => at(i).holds({ ...(i === 0 ? others : inForce), level: 3 })));
  const newest = await recordOf("web-1");
  const refusedFor = (reason: string) =>
    log.logged("settings rejected; the previous settings stay in force", (fields) =>
      String(fields.reason).includes(reason),
    );

  await replace("web-1", older.envelope);
  await refusedFor("older than those in force");
  await replace("web-1", (await recordOf("db-1")).envelope);
  await refusedFor("for another peel");
  const to = {
    peelId: "web-1",
    curvePublicKey: deriveCurveKey(keyPairFromSeed("user", peel.seed)).publicKey,
  };
  const forger = createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom);
  const bytes = encodeSettings({ level: 99 });
  const version = systemClock.now() + 60_000;
  await replace("web-1", forger.make(bytes, to, { version, digest: forger.digest(bytes, to) }));
  await refusedFor("unknown command key");
  await replace("web-1", Buffer.from("junk"));
  await refusedFor("malformed");

  expect(settings.current()).toEqual({ ...inForce, level: 3 });
  await replace("web-1", newest.envelope);
});

test("settings of a peel that cannot be compiled stay as they were, and the master says so", async () => {
  const before = await recordOf("web-1");
  const { facts, settings, log } = at(1);
  const inForce = settings.current();
  facts.set("os", null);
  await log.logged("the masters cannot compile newer settings of this peel", ({ reason }) =>
    String(reason).startsWith("common.sls:1: undefined: facts.os"),
  );
  expect(settings.current()).toEqual(inForce);
  expect((await recordOf("web-1")).envelope).toEqual(before.envelope as Uint8Array);
  const ready = await fetch(`${master.healthUrl}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({
    checks: { settings: { status: "degraded", message: expect.stringContaining("web-1: common.sls:1") } },
  });
  facts.set("os", "SUSE");
  await at(1).holds({ ...inForce, os: "SUSE" });
  expect(await (await fetch(`${master.healthUrl}/readyz`)).json()).toMatchObject({
    checks: { settings: { status: "up" } },
  });
});

test("labels choose settings and targets at once; what a peel says of itself is no label", async () => {
  const claimed = at(0).settings.current();
  at(0).facts.set("labels", { env: "prod" });
  const before = at(1).settings.current();
  write("prod.sls", "stage: {{ labels.env }}\n");
  write("top.sls", "base:\n  '*': [common]\n  'db-*': [db]\n  'T@env:prod': [prod]\n");
  const label = (...changes: string[]) => cli(bus, "enroll", "label", at(1).peel.enrollmentId, ...changes);
  expect(await label("rack=7", "env=prod")).toMatchObject({ exit: 0, stdout: "web-1: env=prod rack=7\n" });
  await at(1).holds({ ...before, stage: "prod" });
  expect(at(1).settings.labels()).toEqual({ env: "prod", rack: "7" });
  const meant = async (target: string) =>
    decode(
      (
        await masters.nats.request(
          targetDoors.resolveTarget.bus.subject,
          encode({ operator: "ci", target }),
          {
            timeout: 10_000,
          },
        )
      ).data,
    );
  expect(await meant("T@env:pr* and T@rack:*")).toMatchObject({ targets: [{ peel_id: "web-1" }] });

  expect(await label("env-", "rack=8")).toMatchObject({ exit: 0, stdout: "web-1: rack=8\n" });
  await at(1).holds(before);
  expect(await meant("T@env:*")).toMatchObject({ targets: [] });
  const set = {
    method: "PUT",
    path: `/api/v1/enrollments/${at(1).peel.enrollmentId}/labels`,
    headers: { ...bearer, "content-type": "application/json" },
  };
  const stale = await call(master, { ...set, body: JSON.stringify({ labels: {}, expected: { rack: "7" } }) });
  expect(stale.status).toBe(409);
  const { status, json } = await call(master, { ...set, body: JSON.stringify({ labels: {} }) });
  expect([status, json]).toEqual([200, expect.not.objectContaining({ labels: expect.anything() })]);
  expect(await label()).toMatchObject({ exit: 0, stdout: "web-1: no labels\n" });
  for (const wrong of ["Env=x", "env", "=x", "-"]) expect((await label(wrong)).exit).toBe(2);
  expect(at(0).settings.current()).toEqual(claimed);
  expect(at(0).settings.labels()).toEqual({});
});

test("a refresh asks the masters, and fails without a bus; what was in force is there at the next start", async () => {
  const { settings, peel, dataDir } = at(1);
  expect(await settings.refresh()).toBe(false);
  const seed = join(dataDir, "seed");
  const again = openPeelSettings({
    dataDir,
    peelId: peel.peelId,
    keys: ringOf(dataDir, seed),
    commandKeys: { current: [] },
    clock: systemClock,
    log: observedLog(),
  });
  expect(again).toMatchObject({ resolved: true, version: settings.version });
  expect(again.current()).toEqual(settings.current());
  await expect(again.refresh()).rejects.toThrow("not connected to the bus yet");
});

test("a master that stops hands over, and one that somebody took over from writes nothing", async () => {
  await using second = await startMaster(bus, { flags: ["--settings-dir", tree] });
  const secondLog = (event: string) => second.records.some((record) => record.event === event);
  expect(secondLog("this master compiles the settings")).toBe(false);
  await master[Symbol.asyncDispose]();
  master = second;
  write("common.sls", "os: {{ facts.os }}\nlevel: 4\n");
  await at(1).holds({ os: "SUSE", level: 4 });
  expect(secondLog("this master compiles the settings")).toBe(true);

  // A writer with a newer tenure that this master does not know.
  await acquireWriter(masters, "settings", Number.MAX_SAFE_INTEGER);
  const before = await recordOf("web-1");
  const refused = Promise.withResolvers<unknown>();
  const push = second.records.push.bind(second.records);
  second.records.push = (...records) => {
    for (const { event, fields } of records) {
      if (event === "settings are not up to date") refused.resolve(fields.reason);
    }
    return push(...records);
  };
  write("common.sls", "os: {{ facts.os }}\nlevel: 5\n");
  expect(await refused.promise).toContain("another master writes the bucket settings now");
  expect(await recordOf("web-1")).toEqual(before);
  expect(at(1).settings.current()).toMatchObject({ level: 4 });
});
