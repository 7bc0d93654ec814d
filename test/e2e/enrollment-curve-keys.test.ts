import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headers } from "nats";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeSettingsRecord } from "../../internal/fleet/settings/record.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { isGenuine, readClaim } from "../../internal/wire/settings-envelope.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";

// Attacks with credentials that may write the bucket of enrollments.

setDefaultTimeout(60_000);

let bus: TestBus;
let masters: Bus;
let thief: Bus;
let settings: Bucket;
let enrollments: Bucket;
const thiefKey = deriveCurveKey(newKeyPair("user", systemRandom)).publicKey;

beforeEach(async () => {
  bus = await startBus();
  mkdirSync(join(bus.dir, "settings"));
  report(1);
});
afterEach(async () => {
  for (const connection of [thief, masters]) await connection?.nats.close();
  await bus?.[Symbol.asyncDispose]();
});

/** Another text of the settings of all peels. */
function report(level: number): void {
  writeFileSync(join(bus.dir, "settings/top.sls"), "base:\n  '*': [common]\n");
  writeFileSync(join(bus.dir, "settings/common.sls"), `level: ${level}\n`);
}

function start(): Promise<TestMaster> {
  return startMaster(bus, { flags: ["--settings-dir", join(bus.dir, "settings")] });
}

async function connect(): Promise<void> {
  masters = await connectTo(bus, "master");
  settings = await openBucket(masters, "settings");
  thief = await connectTo(bus, "direct");
  enrollments = await openBucket(thief, "enrollments");
}

/** Resolves with the revision of settings of a peel that are stored after `revision`. */
async function sealed(peelId: string, revision = 0) {
  const found = Promise.withResolvers<number>();
  const watch = settings.watch((change) => {
    if (change.key !== peelId || change.value === undefined || change.revision <= revision) return;
    if (decodeSettingsRecord(change.value)?.envelope !== undefined) found.resolve(change.revision);
  });
  return found.promise.finally(() => watch.stop());
}

/** Enrolls a peel that has reported facts: it is active, and gets settings. @returns the ID of its enrollment */
async function activePeel(master: TestMaster, peelId: string): Promise<string> {
  const { enrollmentId } = await enrollPeel(master, peelId);
  const active = Promise.withResolvers<void>();
  const watch = enrollments.watch(({ key, value }) => {
    if (key !== enrollmentId || value === undefined) return;
    if ((decode(value) as Record<string, Plain>).state === "active") active.resolve();
  });
  await (await openBucket(masters, "facts")).put(peelId, encode({ id: peelId, os: "Debian" }));
  await active.promise.finally(() => watch.stop());
  return enrollmentId;
}

/** Whether the stored settings of a peel can be opened with the key of the thief. */
async function isSealedToThief(peelId: string): Promise<boolean> {
  const entry = await settings.get(peelId);
  const envelope = entry === undefined ? undefined : decodeSettingsRecord(entry.value)?.envelope;
  const claim = envelope === undefined ? undefined : readClaim(envelope);
  return claim !== undefined && isGenuine(claim, { peelId, curvePublicKey: thiefKey }, claim.key);
}

async function replaceCurveKey(id: string): Promise<void> {
  const entry = await enrollments.get(id);
  const stored = decode(entry?.value ?? new Uint8Array()) as Record<string, Plain>;
  await enrollments.put(id, encode({ ...stored, curve_public_key: thiefKey }));
}

async function jobFor(master: TestMaster, peelId: string): Promise<number> {
  const reply = await send(master.url, master.ca, {
    ...{ method: "POST", path: "/api/v1/jobs", from: freshAddress() },
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    body: JSON.stringify({ targets: [peelId], function: "test.ping" }),
  });
  return reply.status;
}

test("settings are not sealed to a curve key that was put into an active record", async () => {
  let revision: number;
  let id: string;
  {
    await using first = await start();
    await connect();
    id = await activePeel(first, "victim");
    await activePeel(first, "witness");
    await sealed("victim");
    revision = await sealed("witness");
    await replaceCurveKey(id);
  }
  // A master that does not know the key from before.
  await using second = await start();
  const renewed = sealed("witness", revision);
  report(2);
  await renewed;
  expect(await isSealedToThief("victim")).toBe(false);
  expect(await jobFor(second, "victim")).toBe(404);
  expect(second.records).toContainEqual(
    expect.objectContaining({
      event: "an enrollment record that no master vouches for is ignored",
      fields: expect.objectContaining({ enrollment_id: id }),
    }),
  );
});

test("one message with a rollup header does not empty the enrollments, and peels stay targets after a restart", async () => {
  {
    await using first = await start();
    await connect();
    await enrollPeel(first, "kept");
    for (const rollup of ["all", "sub"]) {
      const header = headers();
      header.set("Nats-Rollup", rollup);
      const reply = await thief.nats.request("$KV.enrollments.x", "", { headers: header, timeout: 30_000 });
      expect(reply.json()).toMatchObject({ error: { err_code: 10111 } });
    }
  }
  await using second = await start();
  expect(await jobFor(second, "kept")).toBeLessThan(300);
});
