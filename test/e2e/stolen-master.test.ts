import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { defined } from "../../internal/base/defined.ts";
import { publicMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import {
  dispatchSubject,
  fetchSubject,
  helloSubject,
  hintSubject,
  mastersQueue,
} from "../../internal/bus/subjects/subjects.ts";
import { merkleTree } from "../../internal/identity/merkle/merkle.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { snapshotOf } from "../../internal/tree/files/snapshot.ts";
import { type Call, type Evidence, encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { createHelloEncoder, type HelloOwn } from "../../internal/wire/hello.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../internal/wire/operator-record.ts";
import { signRelease } from "../../internal/wire/release.ts";
import { signRequest } from "../../internal/wire/signed-request.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { send } from "../harness/client.ts";
import { contentsOf } from "../harness/contents.ts";
import {
  binaries,
  type Daemon,
  logRecords,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../harness/fleet.ts";
import { newOperator, type TestOperator, writeOperatorFile } from "../harness/operators.ts";
import { runProgram } from "../harness/process.ts";
import { rulesDirectory, sendEvent } from "../harness/reactor.ts";
import { listAdministrators, recordOf } from "../harness/registered.ts";
import { mastersOf } from "../harness/state-masters.ts";
import { operatorConfig } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// A peel that obeys operators only, and a thief who has all files and keys of a master, and the keys of a viewer, with
// the compiled programs. Each way in which files run beside the same way with released files.

setDefaultTimeout(120_000);

const root = newOperator("root");
const [vic, eve] = [newOperator("vic", ["viewer"]), newOperator("eve")];
const rules = rulesDirectory(
  "rules:\n  - {name: marked, match: mark/now, do: [{job: {target: web-1, function: state.apply, args: {mods: [web]}}}]}\n",
);
let bus: TestBus;
let master: MasterDaemon;
let peel: Daemon;
let thief: Bus;
let commandKey: ReturnType<typeof keyPairFromSeed>;
let data: string;
let states: string;

const mark = (name: string) => join(bus.dir, `ran-${name}`);
const ran = (name: string) => existsSync(mark(name));
/** State files that leave marks: whoever runs them, runs these. */
const filesOf = (name: string) => ({
  "other.sls": `other:\n  cmd.run:\n    - name: touch ${mark(`${name}-other`)}\n`,
  "top.sls": "base:\n  '*':\n    - web\n",
  "web.sls": `web:\n  cmd.run:\n    - name: touch ${mark(name)}\n`,
});
const digestOf = (name: string) => snapshotOf(contentsOf(filesOf(name)));
const contentOf = (name: string) => ({ environment: "base", commit: "local", snapshot: digestOf(name) });

/** Puts files where a master publishes from, and waits until it has published them. */
async function publish(name: string): Promise<void> {
  for (const [path, text] of Object.entries(filesOf(name))) {
    writeFileAtomic(join(states, path), text, publicMode);
  }
  await isPublished(name);
}
const isPublished = (name: string) =>
  until(async () => {
    // A master that has published nothing yet answers that it does not know.
    const { environments = [] } = await rest("GET", "/api/v1/states/releases");
    const [base] = environments as { content?: { snapshot: string } }[];
    return base?.content?.snapshot === digestOf(name);
  });

const rest = async (method: string, path: string, body?: unknown) =>
  (
    await send(master.url, bus.caPem, {
      ...{ method, path },
      headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  ).json as Record<string, Plain>;

/** An operator releases what is in the directory of state files. */
async function release(): Promise<string> {
  const config = operatorConfig(bus, writeOperatorFile(bus, root));
  const words = ["states", "release", "--tree", states, "--accept-sources", "--yes"];
  const done = await runProgram([binaries.cli, "--config", config, ...words], { env: { HOME: bus.dir } });
  expect([done.code, done.stdout, done.stderr]).toEqual([
    0,
    expect.stringContaining("as version"),
    expect.stringContaining("a release covers state files"),
  ]);
  return done.stdout.trim();
}

const startMaster = () =>
  startMasterBinary(bus, ["--states-dir", states, "--reactor-dir", rules.path], { SVC_DATA_DIR: data });

const peelConfig = JSON.stringify({
  require_operator: "on",
  startup_states: "highstate",
  schedule: { often: { module: "state.highstate", interval: "1s" } },
});
function startPeel(): Daemon {
  const options = { dir: join(bus.dir, "web-1"), config: peelConfig, flags: ["--log-level", "debug"] };
  return startPeelBinary(bus, master.url, "web-1", options);
}
const isAlive = () =>
  until(async () => (await rest("GET", "/api/v1/peels/web-1/heartbeat")).heartbeat !== undefined);
const connects = () => peel.program.waitFor("masters answered hello");

/** Runs something, and waits until the released files have run since. */
async function runsReleased(name: string, run: () => Promise<unknown> = async () => {}): Promise<void> {
  rmSync(mark(name), { force: true });
  await run();
  await until(() => ran(name));
}

/** How a job ended on the peel: its outcome, and the error. */
async function endOf(
  jid: Plain | undefined,
): Promise<{ outcome: string | undefined; error: string | undefined }> {
  const job = await until(
    () => rest("GET", `/api/v1/jobs/${jid}`),
    ({ finished_at }) => finished_at !== undefined,
  );
  const { outcomes, returns } = job as {
    outcomes: Record<string, string>;
    returns: Record<string, { error?: string }>;
  };
  return { outcome: outcomes["web-1"], error: returns["web-1"]?.error };
}
/** A master that has just found the bus again may refuse for a moment. */
const runJob = (named: string, args: Record<string, Plain> = {}) =>
  until(async () => (await rest("POST", "/api/v1/jobs", { targets: ["web-1"], function: named, args })).jid);
const ok = { outcome: "ok", error: undefined };

beforeAll(async () => {
  bus = await startBus();
  states = join(bus.dir, "states");
  data = join(bus.dir, "data");
  mkdirSync(states);
  listAdministrators(bus.authDir, root);
  master = await startMaster();
  thief = await connectTo(bus, "master");
  commandKey = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  await (await openBucket(thief, "operators")).put(vic.name, provenRecord(vic));
  peel = startPeel();
  await peel.program.waitFor("waiting for an operator's approval");
  const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
  await svc(bus, "enroll", "approve", pending.id);
  await connects();
  await isAlive();
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await thief?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  rules[Symbol.dispose]();
});

const provenRecord = (who: TestOperator, more: Partial<OperatorRecord> = {}, signer = root.key) =>
  encodeOperator(signOperator(recordOf(who, more), signer));

const nothingOfTheThief = () => expect([ran("evil"), ran("evil-other")]).toEqual([false, false]);
const notOf = (version: number) => `not run: these state files are not those of release ${version} of base`;

/** Sends what a master sends, with its key, and waits for the answer of the peel. */
async function command(call: Call, evidence?: Evidence) {
  const { jid, bytes } = commandOf(call, evidence);
  const returned = Promise.withResolvers<{ success: boolean; error?: string }>();
  const subscription = thief.nats.subscribe(`svc.job.${jid}.return.web-1`, {
    callback: (_, { data: bytes }) => returned.resolve(decode(bytes) as { success: boolean; error?: string }),
  });
  await thief.nats.flush();
  thief.nats.publish(dispatchSubject(jid, "web-1"), bytes);
  const { success, error } = await returned.promise;
  subscription.unsubscribe();
  return { success, error };
}
function commandOf(call: Call, evidence?: Evidence) {
  const jid = newId("job", systemClock.now(), systemRandom);
  const body = encodeCall(call, undefined, evidence);
  const order = {
    kind: "dispatch",
    jid,
    deadline: systemClock.now() + 100_000,
    body,
    peel: "web-1",
  } as const;
  return { jid, bytes: signCommand(order, commandKey) };
}
const highstate = (name: string, more: Partial<Call> = {}): Call => ({
  ...{ function: "state.highstate", args: {}, content: contentOf(name) },
  ...more,
});
/** No administrator knows eve, who is the thief's own. */
const recordsFor = (who: TestOperator) =>
  who === root ? [] : [provenRecord(who, {}, who === eve ? commandKey : root.key)];
/** What this operator signed, as masters send it. */
function signedBy(who: TestOperator, call: Call, more: Record<string, Plain> = {}): Evidence {
  const { function: name, args, content } = call;
  const tree = merkleTree(["web-1"]);
  const snapshot = content === undefined ? {} : { snapshot: Buffer.from(content.snapshot, "hex") };
  const body = encode({
    target: "web-1",
    function: name,
    args,
    targets_digest: tree.root,
    ...snapshot,
    ...more,
  });
  const sent = { body, operator: who.name, sentAt: systemClock.now(), nonce: systemRandom(16) };
  const request = signRequest("svc.job.request", sent, who.key);
  return { request, proof: tree.proofOf("web-1") ?? [], records: recordsFor(who) };
}

/** Each way in which files run without an operator, by a master that a thief has. */
const ways: Record<string, () => Promise<unknown>> = {
  "a job": async () => expect(await endOf(await runJob("state.highstate"))).toEqual(ok),
  "a job with names of files": async () =>
    expect(await endOf(await runJob("state.apply", { mods: ["web"] }))).toEqual(ok),
  async "a rollout and its check"() {
    const check = { function: "state.apply", args: { mods: ["web"] } };
    const started = { target: "web-1", canary: "1", function: "state.highstate", check };
    const { id } = await rest("POST", "/api/v1/rollouts", started);
    await until(
      () => rest("GET", `/api/v1/rollouts/${id}`),
      ({ status }) => status === "completed",
    );
  },
  async "the reactor"() {
    await sendEvent(thief, "web-1", "mark/now");
    const { stdout } = await until(
      () => svc(bus, "job", "list", "--output", "json"),
      ({ stdout: text }) => text.includes("reactor:marked"),
    );
    const jobs = JSON.parse(stdout) as { jid: string; created_by: string }[];
    const { jid } = jobs.find((job) => job.created_by === "reactor:marked") ?? {};
    expect(await endOf(jid)).toEqual(ok);
  },
  "the schedule of the peel": async () => {},
  async "the start of the peel"() {
    await peel[Symbol.asyncDispose]();
    peel = startPeel();
    await peel.program.waitFor("start-up states applied");
  },
  async "a highstate that waits until the peel is back"() {
    await peel[Symbol.asyncDispose]();
    const jid = await runJob("state.highstate");
    peel = startPeel();
    expect(await endOf(jid)).toEqual(ok);
  },
  async "a highstate after the bus was away"() {
    await bus.restart();
    await isAlive();
    expect(await endOf(await runJob("state.highstate"))).toEqual(ok);
  },
};

test("before anything is released nothing runs, and then what was released", async () => {
  await publish("good");
  expect((await endOf(await runJob("state.highstate"))).outcome).toBe("failed");
  expect(ran("good")).toBe(false);
  await runsReleased("good", release);
});

describe("a thief who publishes from a master runs, by", () => {
  beforeAll(() => publish("evil"));

  test.each(Object.entries(ways))("%s, the released files and no others", async (_, run) => {
    await runsReleased("good", run);
    nothingOfTheThief();
  });
});

describe("a thief who sends commands with the key of a master", () => {
  test("runs no files but those that were released", async () => {
    expect(await command(highstate("evil"))).toEqual({ success: false, error: notOf(1) });
    expect(await command(highstate("evil"), signedBy(eve, highstate("evil")))).toMatchObject({
      success: false,
    });
    expect(await command(highstate("good"))).toMatchObject({ success: true });
    nothingOfTheThief();
  });

  test("and has the key of a viewer, runs nothing with it", async () => {
    const run: Call = { function: "cmd.run", args: { command: `touch ${mark("evil")}` } };
    for (const call of [run, highstate("good"), highstate("evil")]) {
      for (const more of [{}, { unreleased: true }]) {
        expect(await command(call, signedBy(vic, call, more))).toEqual({
          success: false,
          error: expect.stringMatching(/vic (has viewer, and no such role|signed state files that are not)/),
        });
      }
    }
    nothingOfTheThief();
    // The control: an administrator signs the same, and for files that nobody released.
    const touch: Call = { function: "cmd.run", args: { command: `touch ${mark("root")}` } };
    expect(await command(touch, signedBy(root, touch))).toMatchObject({ success: true });
    expect(ran("root")).toBe(true);
  });
});

describe("after the restore of an old backup of the bus and of the master", () => {
  const saved = () => join(bus.dir, "saved");
  const creds = () => ["--creds", join(bus.authDir, "master.creds")];

  beforeAll(async () => {
    await publish("good");
    expect((await svc(bus, "bus", "backup", saved(), ...creds())).code).toBe(0);
    cpSync(data, `${data}-saved`, { recursive: true });
    await publish("newer");
    await runsReleased("newer", release);
    await master[Symbol.asyncDispose]();
    await thief.nats.close();
    await bus.stop();
    renameSync(join(bus.dir, "store"), join(bus.dir, "store-lost"));
    rmSync(data, { recursive: true });
    renameSync(`${data}-saved`, data);
    for (const [path, text] of Object.entries(filesOf("good"))) {
      writeFileAtomic(join(states, path), text, publicMode);
    }
    await bus.start();
    expect((await svc(bus, "bus", "restore", saved(), ...creds())).code).toBe(0);
    master = await startMaster();
    thief = await connectTo(bus, "master");
    await isAlive();
    await isPublished("good");
  });

  test("the release in it does not run, and the one that the peel took does", async () => {
    rmSync(mark("good"), { force: true });
    expect(await endOf(await runJob("state.highstate"))).toEqual({ outcome: "failed", error: notOf(2) });
    expect(await command(highstate("good"))).toEqual({ success: false, error: notOf(2) });
    await runsReleased("newer");
    await peel[Symbol.asyncDispose]();
    peel = startPeel();
    await runsReleased("newer", () => peel.program.waitFor("start-up states applied"));
    await bus.restart();
    await runsReleased("newer");
    expect(ran("good")).toBe(false);
    nothingOfTheThief();
  });

  test("the next release has a version that exceeds what the peel took, and runs", async () => {
    const next = async () =>
      JSON.stringify(await rest("GET", "/api/v1/states/releases")).includes('"next_version":3');
    await until(next);
    await runsReleased("good", async () => expect(await release()).toContain("as version 3"));
    expect(await endOf(await runJob("state.highstate"))).toEqual(ok);
  });
});

describe("masters that lie about every byte", () => {
  let masters: ReturnType<typeof mastersOf>;
  let answer: Partial<HelloOwn> = {};
  let hellos = 0;
  let fleet = "";

  /** The peel has nothing of what was released, and only the thief answers. */
  beforeAll(async () => {
    fleet = String((await rest("GET", "/api/v1/states/releases")).fleet);
    const clusterInfo = await rest("GET", "/api/v1/enroll/ca");
    await master[Symbol.asyncDispose]();
    await peel[Symbol.asyncDispose]();
    rmSync(join(bus.dir, "web-1", "states-cache"), { recursive: true });
    masters = mastersOf(commandKey);
    masters.version = systemClock.now();
    thief.serve(fetchSubject("web-1"), mastersQueue, (bytes, subject) => masters.request(subject, bytes));
    const encodeAnswer = createHelloEncoder();
    thief.serve(helloSubject("web-1"), mastersQueue, () => {
      hellos++;
      const all = { clusterInfo, states: defined({ statement: masters.statement }), spreadMs: 0 };
      return encodeAnswer(all, { serverTime: systemClock.now(), jobs: [], ...answer });
    });
    masters.claim = digestOf("good");
    await masters.publish(filesOf("evil"));
    rmSync(mark("good"), { force: true });
    peel = startPeel();
    await connects();
  });
  /** The peel says hello, and takes what counts of this. */
  async function sendsHello(own: Partial<HelloOwn>): Promise<void> {
    answer = own;
    const before = hellos;
    thief.publish(hintSubject("web-1"), new Uint8Array());
    // The second one shows that the first was judged.
    await until(() => hellos > before);
    thief.publish(hintSubject("web-1"), new Uint8Array());
    await until(() => hellos > before + 1);
  }

  const wrong = "the masters have other state files as";
  const lies: [what: string, publishLie: () => Promise<void>, error: string][] = [
    ["files of its own under the digest of the released ones", async () => {}, wrong],
    [
      "the list of the released files, with the parts of others",
      async () => {
        masters.claim = undefined;
        masters.disguise = filesOf("good");
        await masters.publish(filesOf("evil"));
      },
      "do not match its digest",
    ],
    [
      "the released files, with other bytes",
      async () => {
        masters.disguise = {};
        await masters.publish(filesOf("good"));
        const [text, other] = [filesOf("good"), filesOf("evil")].map((files) =>
          Buffer.from(files["web.sls"]),
        );
        masters.spoil = (bytes) => (text?.equals(bytes) === true && other !== undefined ? other : bytes);
      },
      "the bytes of a master do not match the digest",
    ],
  ];
  test.each(lies)("run nothing with %s", async (_, publishLie, error) => {
    await publishLie();
    expect(await command(highstate("good"))).toEqual({
      success: false,
      error: expect.stringContaining(error),
    });
    await until(() =>
      logRecords(peel.program).some(
        (record) => record.msg === "scheduled job failed" && String(record.error).includes(error),
      ),
    );
    expect(ran("good")).toBe(false);
    nothingOfTheThief();
  });

  test("run nothing at the start of the peel, and by no release and no record of their own", async () => {
    const evil = (by: TestOperator, more = {}) =>
      signRelease(
        {
          ...{ fleet, environment: "base", snapshot: digestOf("evil"), version: 9 },
          ...{ releasedAt: systemClock.now(), operator: by.name },
          ...more,
        },
        by.key,
      );
    const another = { ...root, key: eve.key };
    const releases = [evil(vic), evil(eve), evil(another), evil({ ...vic, key: commandKey })];
    const operatorRecords = [
      provenRecord(vic),
      provenRecord({ ...vic, roles: ["admin"] }, { version: 2 }, vic.key),
      provenRecord(eve, {}, commandKey),
      provenRecord(root, { disabled: true }, vic.key),
    ];
    await peel[Symbol.asyncDispose]();
    peel = startPeel();
    await peel.program.waitFor("start-up states failed");
    await sendsHello({ releases, operatorRecords });
    await peel.program.waitFor("a release is refused");
    for (const bytes of releases) {
      const named = highstate("evil", { release: { bytes, records: operatorRecords } });
      expect(await command(named)).toEqual({ success: false, error: notOf(3) });
      expect((await command(named, signedBy(vic, named))).success).toBe(false);
    }
    expect(ran("good")).toBe(false);
    nothingOfTheThief();
  });

  test("run what was released once they tell the truth, also what waits while the peel is away", async () => {
    masters.spoil = (bytes) => bytes;
    answer = {};
    await runsReleased("good");
    expect(await command(highstate("good"))).toEqual({ success: true, error: undefined });
    await masters.publish(filesOf("evil"));
    const other: Call = { function: "state.apply", args: { mods: ["other"] }, content: contentOf("good") };
    const evil = { ...other, content: contentOf("evil") };
    answer = { jobs: [evil, other].map((call) => commandOf(call).bytes) };
    await bus.restart();
    await until(() => ran("good-other"));
    await runsReleased("good");
    nothingOfTheThief();
  });
});
