import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readTaken } from "../../internal/agent/releases/release-file.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, publicMode, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { parseCredentials } from "../../internal/identity/credentials.ts";
import { readClaims } from "../../internal/identity/jwt.ts";
import { merkleTree } from "../../internal/identity/merkle/merkle.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { snapshotOf } from "../../internal/tree/files/snapshot.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { type Call, type Evidence, encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import {
  encodeOperator,
  lastRecordKey,
  type OperatorRecord,
  type SignedOperatorRecord,
  signOperator,
} from "../../internal/wire/operator-record.ts";
import { signRelease } from "../../internal/wire/release.ts";
import { signRequest } from "../../internal/wire/signed-request.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { contentsOf } from "../harness/contents.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import {
  newOperator,
  requestAs,
  signedBy as signRequestOf,
  type TestOperator,
} from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// A thief has all files and keys of a master, publishes state files of its own, and tries every way in which a peel
// runs state files. The peel obeys operators only. Each refusal stands beside the same thing with released files.

setDefaultTimeout(60_000);

const root = newOperator("root");
const [ann, vic] = [newOperator("ann", ["operator"]), newOperator("vic", ["viewer"])];
const files = temporaryDirectory("released-files");
const states = join(files.path, "states");
const mark = (name: string) => join(files.path, name);
const dataDir = join(files.path, "web-1");

let bus: TestBus;
let master: TestMaster;
let thief: Bus;
let commandKey: ReturnType<typeof keyPairFromSeed>;
let peel: TestPeel;

/** Makes a state file that leaves a mark, and waits until masters have published it. @returns the snapshot */
async function publish(name: string): Promise<string> {
  const texts = {
    "top.sls": "base:\n  '*':\n    - web\n",
    "web.sls": `${name}:\n  cmd.run:\n    - name: touch ${mark(name)}\n`,
  };
  for (const [path, text] of Object.entries(texts)) writeFileAtomic(join(states, path), text, publicMode);
  const snapshot = snapshotOf(contentsOf(texts));
  await until(async () => (await inForce()) === snapshot);
  return snapshot;
}

const rest = async (method: string, path: string, body?: unknown) =>
  (
    await send(master.url, master.ca, {
      ...{ method, path },
      headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  ).json as Record<string, Plain>;

/** The snapshot of `base` that masters publish. */
async function inForce(): Promise<string | undefined> {
  const { environments } = await rest("GET", "/api/v1/states/releases");
  return (environments as { content?: { snapshot: string } }[] | undefined)?.[0]?.content?.snapshot;
}

const fleet = () => {
  const { nats, iss } = readClaims(
    parseCredentials(readFileSync(join(dataDir, "auth", "web-1.creds"), "utf8")).jwt,
  );
  return typeof nats.issuer_account === "string" ? nats.issuer_account : iss;
};
const release = (version: number, snapshot: string, by: TestOperator = root) => ({
  bytes: signRelease(
    {
      ...{ fleet: fleet(), environment: "base", snapshot, version },
      ...{ releasedAt: systemClock.now(), operator: by.name },
    },
    by.key,
  ),
  records: by === root ? [] : [recordOf(by)],
});
const recordOf = ({ name, key, roles }: TestOperator, signer = root.key) =>
  encodeOperator(
    signOperator(
      {
        ...{ name, publicKey: key.publicKey, roles },
        ...{ createdAt: 0, createdBy: root.name, version: 1 },
      },
      signer,
    ),
  );
const contentOf = (snapshot: string) => ({ environment: "base", commit: "local", snapshot });
const highstate = (more: Partial<Call> = {}): Call => ({ function: "state.highstate", args: {}, ...more });

/** Sends what a master sends, with its key, and waits for the answer of the peel. */
async function command(call: Call, evidence?: Evidence) {
  const jid = newId("job", systemClock.now(), systemRandom);
  const returned = Promise.withResolvers<{ success: boolean; error?: string }>();
  const subscription = thief.nats.subscribe(`svc.job.${jid}.return.web-1`, {
    callback: (_, { data }) => returned.resolve(decode(data) as { success: boolean; error?: string }),
  });
  const body = encodeCall(call, undefined, evidence);
  const order = { kind: "dispatch", jid, deadline: systemClock.now() + 50_000, body, peel: "web-1" } as const;
  thief.nats.publish(`svc.job.${jid}.dispatch.web-1`, signCommand(order, commandKey));
  const { success, error } = await returned.promise;
  subscription.unsubscribe();
  return { success, error };
}

/** What this operator signed, as masters send it. */
function signedBy(who: TestOperator, call: Call, more: Record<string, Plain> = {}): Evidence {
  const tree = merkleTree(["web-1"]);
  const { function: name, args, content } = call;
  const digests = {
    targets_digest: tree.root,
    ...(content === undefined ? {} : { snapshot: Buffer.from(content.snapshot, "hex") }),
  };
  const body = encode({ target: "web-1", function: name, args, ...digests, ...more });
  const sent = { body, operator: who.name, sentAt: systemClock.now(), nonce: systemRandom(16) };
  const request = signRequest("svc.job.request", sent, who.key);
  return { request, proof: tree.proofOf("web-1") ?? [], records: who === root ? [] : [recordOf(who)] };
}

/** The schedule runs each second, and the states of the start are the highstate. */
async function start(): Promise<TestPeel> {
  const schedule = { often: { module: "state.highstate", interval: "1s" } };
  const config = join(dataDir, "peel.yaml");
  const options = { require_operator: "on", startup_states: "highstate", schedule };
  writeFileAtomic(config, JSON.stringify(options), secretMode);
  const started = startPeel(dataDir, [
    ...["--config", config, "--id", "web-1", "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile],
  ]);
  return started;
}
const restart = async () => {
  await peel[Symbol.asyncDispose]();
  peel = await start();
  await peel.ready;
  // It hears commands then: they are not sent again here.
  await peel.log.logged("masters answered hello");
};
const ran = (name: string) => existsSync(mark(name));
const forget = (name: string) => rmSync(mark(name), { force: true });

beforeAll(async () => {
  bus = await startBus();
  mkdirSync(states);
  const administrators = formatAdministrators([{ name: root.name, publicKey: root.key.publicKey }]);
  writeFileAtomic(join(bus.authDir, "administrators"), administrators, publicMode);
  master = await startMaster(bus, {
    flags: ["--states-dir", states],
    env: { SVC_DATA_DIR: bus.dir },
  });
  thief = await connectTo(bus, "master");
  for (const one of [ann, vic]) {
    await (await openBucket(thief, "operators")).put(one.name, recordOf(one));
  }
  commandKey = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  makeDirectory(dataDir, 0o700);
  peel = await start();
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(master, String(fields?.enrollment_id), "approve");
  await peel.ready;
}, 60_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await thief?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const nobody = "not run, because no operator released these state files";
const notOf = (version: number) => `not run: these state files are not those of release ${version} of base`;
/** The next run of the schedule, and the states of a start. */
const nextOf = (event: string, error?: string) =>
  peel.log.logged(event, (fields) => error === undefined || fields.error === error);

let good = "";
let evil = "";

describe("before anything is released", () => {
  test("state files run in no way without an operator", async () => {
    good = await publish("good");
    expect(await command(highstate())).toEqual({ success: false, error: nobody });
    expect(await command(highstate({ content: contentOf(good) }))).toEqual({ success: false, error: nobody });
    await nextOf("scheduled job failed", nobody);
    await restart();
    await nextOf("start-up states failed", nobody);
    expect(ran("good")).toBe(false);
  });

  test("nor for an operator who signs the request", async () => {
    const call = highstate({ content: contentOf(good) });
    expect(await command(call, signedBy(ann, call))).toEqual({ success: false, error: nobody });
    expect(await command(call, signedBy(ann, call, { unreleased: true }))).toMatchObject({
      error: expect.stringContaining("has none of the roles admin"),
    });
    expect(ran("good")).toBe(false);
    // The control: an administrator says that it shall run unreleased.
    expect(await command(call, signedBy(root, call, { unreleased: true }))).toMatchObject({ success: true });
    expect(ran("good")).toBe(true);
  });

  test("what uses no state files runs as before", async () => {
    expect(await command({ function: "test.ping", args: {} })).toMatchObject({ success: true });
  });
});

describe("a release that an operator gives to the masters", () => {
  const store = async (version: number, snapshot: string) => {
    const subject = "svc.admin.states.release";
    const body = encode({ release: release(version, snapshot).bytes });
    return decode(await requestAs(thief, root, subject, signRequestOf(root, subject, body)));
  };

  test("reaches the peel without a job, and each job that nobody signed runs its files", async () => {
    forget("good");
    expect(await store(1, good)).toMatchObject({ ok: true });
    await peel.log.logged("release taken", ({ version }) => version === 1);
    await until(() => ran("good"));
    // Files that are in force and not released: a master gives this peel those that are.
    const candidate = await publish("candidate");
    expect(candidate).not.toBe(good);
    forget("good");
    const { jid } = await rest("POST", "/api/v1/jobs", { targets: ["web-1"], function: "state.highstate" });
    await until(async () => JSON.stringify(await rest("GET", `/api/v1/jobs/${jid}`)).includes('"ok"'));
    expect([ran("good"), ran("candidate")]).toEqual([true, false]);
  });

  test("has a version that exceeds what peels took, also when a master does not know of it", async () => {
    await until(async () => {
      const { environments } = await rest("GET", "/api/v1/states/releases");
      return (environments as { next_version: number }[])[0]?.next_version === 2;
    });
    expect(await store(1, good)).toMatchObject({ ok: false });
  });
});

describe("once files are released", () => {
  test("they run, without and with an operator, by the schedule and at the start", async () => {
    forget("good");
    const content = contentOf(good);
    expect(await command(highstate({ content, release: release(2, good) }))).toMatchObject({ success: true });
    expect(ran("good")).toBe(true);
    forget("good");
    await until(() => ran("good"));
    await restart();
    await nextOf("start-up states applied");
    const call = highstate({ content });
    expect(await command(call, signedBy(ann, call))).toMatchObject({ success: true });
  });

  test("the files of a thief run in no way, whatever it sends with them", async () => {
    evil = await publish("evil");
    const content = contentOf(evil);
    const eve = newOperator("eve", ["admin"]);
    const released = release(2, good);
    // The thief has the command key, and the keys of a viewer and of an operator.
    const forged = { bytes: release(9, evil, eve).bytes, records: [recordOf(eve, commandKey)] };
    for (const one of [undefined, released, forged, release(9, evil, vic), release(9, evil, ann)]) {
      const call = highstate({ content, ...(one === undefined ? {} : { release: one }) });
      expect(await command(call)).toEqual({ success: false, error: notOf(2) });
      expect(await command(call, signedBy(ann, call))).toMatchObject({
        error: expect.stringContaining(nobody),
      });
    }
    // An operator signed the released files, and the thief puts its own in their place.
    const signed = signedBy(ann, highstate({ content: contentOf(good) }));
    expect(await command(highstate({ content }), signed)).toMatchObject({
      error: expect.stringContaining("ann signed the state files"),
    });
    expect(ran("evil")).toBe(false);
  });

  test("the schedule and the states at the start go on with the released files", async () => {
    forget("good");
    await until(() => ran("good"));
    await restart();
    await nextOf("start-up states applied");
    // A command that names no files: from a master of an earlier version.
    expect(await command(highstate())).toMatchObject({ success: true });
    expect(ran("evil")).toBe(false);
  });

  test("jobs and rollouts of a master, which nobody signed, run the released files and not those of a thief", async () => {
    const body = { function: "state.highstate" };
    const shown = async (path: string) => JSON.stringify(await rest("GET", path));
    const hasRun = (jid: string) => until(async () => (await shown(`/api/v1/jobs/${jid}`)).includes('"ok"'));
    forget("good");
    const { jid } = await rest("POST", "/api/v1/jobs", { ...body, targets: ["web-1"] });
    await hasRun(String(jid));
    expect(ran("good")).toBe(true);
    const { id } = await rest("POST", "/api/v1/rollouts", { ...body, target: "web-1", canary: "1" });
    const wave = await until(async () => /job-\w+/.exec(await shown(`/api/v1/rollouts/${id}`))?.[0]);
    await hasRun(wave ?? "");
    expect(ran("evil")).toBe(false);
  });

  test("the key of a viewer is no help", async () => {
    const run = { function: "cmd.run", args: { command: `touch ${mark("viewer")}` } };
    expect(await command(run, signedBy(vic, run))).toMatchObject({
      error: expect.stringContaining("vic has viewer, and no such role may request cmd.run on this peel"),
    });
    expect(ran("viewer")).toBe(false);
    // The control.
    expect(await command(run, signedBy(ann, run))).toMatchObject({ success: true });
    expect(ran("viewer")).toBe(true);
  });

  test("an older release does not come back, also after a restart", async () => {
    const newer = await publish("newer");
    const old = release(2, good);
    const content = contentOf(newer);
    expect(await command(highstate({ content, release: release(3, newer) }))).toMatchObject({
      success: true,
    });
    expect(ran("newer")).toBe(true);
    for (const restarted of [false, true]) {
      if (restarted) await restart();
      const call = highstate({ content: contentOf(good), release: old });
      expect(await command(call)).toEqual({ success: false, error: notOf(3) });
      // An operator may sign a request for it.
      expect(await command(call, signedBy(ann, call))).toMatchObject({ success: true });
    }
    expect(ran("evil")).toBe(false);
  });
});

/** Names and versions of the records that the peel has. */
const storedByPeel = () =>
  [...readTaken(join(dataDir, "auth", "releases")).records.values()].map(
    ({ name, version }) => `${name} ${version}`,
  );

describe("an operator who released files, and whose key a thief has,", () => {
  const rel = newOperator("rel");
  const record = (version: number, more: Partial<OperatorRecord> = {}, of = rel) =>
    signOperator(
      {
        ...{ name: "rel", publicKey: of.key.publicKey, roles: ["admin"], createdAt: 0, createdBy: root.name },
        ...{ version, ...more },
      },
      root.key,
    );
  const last = { disabled: true, released: { base: 4 } } as const;
  const put = async (signed: SignedOperatorRecord, key = signed.name) =>
    (await openBucket(thief, "operators")).put(key, encodeOperator(signed));
  let released = "";

  /** Release 4 runs by itself, and the next one of the thief does not, with what a master sends along. */
  async function staysReleased(...records: SignedOperatorRecord[]): Promise<void> {
    const [theirs] = [release(5, evil, rel)];
    const next = { bytes: theirs.bytes, records: records.map(encodeOperator) };
    forget("released");
    expect(await command(highstate({ content: contentOf(evil), release: next }))).toEqual({
      success: false,
      error: notOf(4),
    });
    await until(() => ran("released"));
    const { jid } = await rest("POST", "/api/v1/jobs", { targets: ["web-1"], function: "state.highstate" });
    await until(async () => JSON.stringify(await rest("GET", `/api/v1/jobs/${jid}`)).includes('"ok"'));
    expect(ran("evil")).toBe(false);
  }

  test("is disabled: what was released stays on the peel, and nothing new comes", async () => {
    await put(record(1));
    released = await publish("released");
    const subject = "svc.admin.states.release";
    const body = encode({ release: release(4, released, rel).bytes });
    expect(decode(await requestAs(thief, rel, subject, signRequestOf(rel, subject, body)))).toMatchObject({
      ok: true,
    });
    await peel.log.logged("release taken", ({ version }) => version === 4);
    await put(record(2, last));
    // It learns that without a command, and does not forget it.
    await until(() => storedByPeel().includes("rel 2"));
    await staysReleased(record(1));
    await restart();
    await staysReleased(record(1));
  });

  test("is removed, and another one has the name: the same, also for a master without a log", async () => {
    await put(record(3, last), lastRecordKey(record(3)));
    const bucket = await openBucket(thief, "operators");
    await bucket.remove("rel", (await bucket.get("rel"))?.revision ?? 0);
    const other = newOperator("rel");
    await put(record(4, {}, other));
    await until(() => storedByPeel().includes("rel 3"));
    await master[Symbol.asyncDispose]();
    master = await startMaster(bus, { flags: ["--states-dir", states] });
    for (const restarted of [false, true]) {
      if (restarted) await restart();
      await staysReleased(record(1), record(4, {}, other));
    }
    // The control: the one who has the name now releases.
    const next = { bytes: release(5, good, other).bytes, records: [encodeOperator(record(4, {}, other))] };
    expect(await command(highstate({ content: contentOf(good), release: next }))).toMatchObject({
      success: true,
    });
  });
});
