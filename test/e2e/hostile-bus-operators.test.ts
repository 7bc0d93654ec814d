import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { fromOperatorSubject, parseFromOperator } from "../../internal/base/names/operator-subject.ts";
import { sha256Hex } from "../../internal/base/sha256.ts";
import { type AssetName, assets, streamName } from "../../internal/bus/assets/assets.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { approvalOperations } from "../../internal/fleet/approvals/mod.ts";
import { createAuditWriter } from "../../internal/fleet/audit/append.ts";
import { enrollmentOperations } from "../../internal/fleet/enrollment/mod.ts";
import { jobOperations } from "../../internal/fleet/jobs/mod.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { rolloutOperations } from "../../internal/fleet/rollout/mod.ts";
import { tokenOperations } from "../../internal/fleet/tokens/mod.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { forgedRecords } from "../harness/forger.ts";
import { type Intruder, type Message, startIntruder } from "../harness/intruder.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  newOperator,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { submitPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { runRecord } from "../harness/run-record.ts";
import { operatorConfig, svc } from "../harness/svc.ts";
import { until } from "../harness/until.ts";

// An attacker who controls the bus edits everything that is stored there, while one master runs and another one starts again. It
// has the credentials of masters, and no key: of no operator, no administrator, and no master.

setDefaultTimeout(120_000);

const root = newOperator("root");
const ann = newOperator("ann", ["operator"]);
const vera = newOperator("vera", ["viewer"]);
const dave = newOperator("dave", ["deployer"]);
const ben = newOperator("ben", ["deployer"]);
/** Disabled, and removed. */
const fred = newOperator("fred", ["admin"]);
const gone = newOperator("gone", ["admin"]);
/** Never registered. */
const eve = newOperator("eve", ["admin"]);
const roles = `roles:
  deployer:
    jobs: [{functions: [cmd.run], targets: "*", approvals: 1}]
    approvals: [list, show, approve, deny]
`;
const tokens = { live: text(), revoked: text(), forged: text() };

let bus: TestBus;
let intruder: Intruder;
let masters: [TestMaster, TestMaster];
/** Ends the second master and starts it again, with the same disk or an empty one. */
let restart: (options?: { meanwhile?: () => Promise<void>; onEmptyDisk?: boolean }) => Promise<void>;
let peel: TestPeel;
let config: string;
let dir: string;
let fences = 0;
/** What operators asked, as it was sent. */
let genuine: readonly Message[] = [];

interface Answer {
  ok: boolean;
  error?: { code: string; message: string };
  approval?: unknown;
  jid?: string;
}

function text(): string {
  const token = `svct_${Buffer.from(systemRandom(32)).toString("base64url")}`;
  runRecord.register("token", token);
  return token;
}

/** Sends a request as it is; over the connection of the intruder, who can publish everywhere. */
async function sendRaw(who: TestOperator, subject: string, data: Uint8Array): Promise<Answer> {
  return decode(await requestAs(intruder.bus, who, subject, data)) as unknown as Answer;
}
const request = (
  who: TestOperator,
  { bus: { subject } }: { bus: { subject: string } },
  fields: Record<string, Plain> = {},
) => sendRaw(who, subject, signedBy(who, subject, encode(fields)));
async function must(...requested: Parameters<typeof request>): Promise<Answer> {
  const answer = await request(...requested);
  expect(answer).toMatchObject({ ok: true });
  return answer;
}
/** A command that says on the host that it ran. */
const job = (name: string) => ({
  ...{ target: "web-1", function: "cmd.run" },
  args: { command: `echo ran >> ${join(dir, name)}` },
});
const times = (name: string) =>
  existsSync(join(dir, name)) ? readFileSync(join(dir, name), "utf8").trim().split("\n").length : 0;
const add = (who: TestOperator) =>
  must(root, operatorOperations.addOperator, { record: signedRecord(recordOf(who), root) });
const statusWith = async (master: TestMaster, token: string) => {
  const headers = { authorization: `Bearer ${token}` };
  return (await send(master.url, master.ca, { path: "/api/v1/jobs", headers, from: freshAddress() })).status;
};

beforeAll(async () => {
  bus = await startBus();
  dir = mkdtempSync(join(bus.dir, "marks-"));
  listAdministrators(bus.authDir, root);
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileSync(rolesFile, roles);
  const start = (dataDir: string) =>
    startMaster(bus, {
      ...{ config: { operators: { require_signed: true } }, flags: ["--roles-file", rolesFile] },
      env: { SVC_DATA_DIR: dataDir },
    });
  const homes = [mkdtempSync(join(bus.dir, "a-")), mkdtempSync(join(bus.dir, "b-"))] as const;
  masters = [await start(homes[0]), await start(homes[1])];
  restart = async ({ meanwhile, onEmptyDisk = false } = {}) => {
    await masters[1][Symbol.asyncDispose]();
    await meanwhile?.();
    masters[1] = await start(onEmptyDisk ? mkdtempSync(join(bus.dir, "c-")) : homes[1]);
  };
  intruder = await startIntruder(bus);
  config = operatorConfig(bus, writeOperatorFile(bus, root));
  const dataDir = mkdtempSync(join(bus.dir, "peel-"));
  peel = startPeel(dataDir, [
    ...["--id", "web-1", "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", masters[0].url, "--enroll-ca", bus.caFile],
  ]);
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await must(root, enrollmentOperations.approveEnrollment, { id: String(fields?.enrollment_id) });
  await peel.ready;
  for (const who of [ann, vera, dave, ben, fred, gone]) await add(who);
  await must(ann, jobOperations.createJob, job("ann"));
  await must(fred, jobOperations.createJob, job("fred"));
  await must(gone, jobOperations.createJob, job("gone"));
  for (const [who, action] of [
    [fred, "disable"],
    [gone, "remove"],
  ] as const) {
    const { operator } = (await must(root, operatorOperations.showOperator, {
      name: who.name,
    })) as unknown as {
      operator: { created_at: string };
    };
    const more = { version: 2, disabled: true as const, createdAt: Date.parse(operator.created_at) };
    const record = signedRecord(recordOf(who, more), root);
    await must(root, operatorOperations[`${action}Operator`], { name: who.name, record });
  }
  for (const name of ["live", "revoked"] as const) {
    const digest = sha256Hex(tokens[name]);
    await must(root, tokenOperations.createToken, { name, roles: ["viewer"], expires: "90d", digest });
    expect(await statusWith(masters[1], tokens[name])).toBe(200);
  }
  await must(root, tokenOperations.revokeToken, { id: "revoked" });
  const denied = await must(dave, jobOperations.createJob, job("denied"));
  await must(ben, approvalOperations.denyRequest, { id: String(denied.approval) });
  const agreed = await must(dave, jobOperations.createJob, job("agreed"));
  await must(ben, approvalOperations.approveRequest, { id: String(agreed.approval) });
  await must(dave, jobOperations.createJob, job("waiting"));
  await submitPeel(masters[0], "intruder-1");
  genuine = [...intruder.requests];
  await fence();
  const [requested] = JSON.parse(
    (await audit("verify", "--witness", "*", "--output", "json")).stdout,
  ).witnesses;
  expect(requested.problem).toBeUndefined();
}, 120_000);
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await intruder?.[Symbol.asyncDispose]();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const audit = (...argv: string[]) => svc(["audit", ...argv, "--config", config], { env: {} });

/** A genuine job, which ends after everything that was sent to the peel before it. */
async function fence(): Promise<void> {
  fences++;
  await until(async () => (await request(root, jobOperations.createJob, job("fence"))).ok);
  await until(() => times("fence") >= fences);
  fences = times("fence");
  genuine = [
    ...genuine,
    ...intruder.requests.filter(({ subject }) => subject === jobOperations.createJob.bus.subject).slice(-1),
  ];
}

/** What only those with a key can do, asked by those who have none that counts. */
async function nothingIsGained(): Promise<void> {
  const forEve = signedRecord(recordOf(eve), eve);
  const requested: [what: string, request: () => Promise<Answer>][] = [eve, fred, gone, vera].flatMap(
    (who) => [
      [`a job of ${who.name}`, () => request(who, jobOperations.createJob, job("pwned"))],
      [`an operator of ${who.name}`, () => request(who, operatorOperations.addOperator, { record: forEve })],
      [
        `roles of ${who.name}`,
        () => request(who, operatorOperations.setOperatorRoles, { name: who.name, record: forEve }),
      ],
      [
        `a token of ${who.name}`,
        () =>
          request(who, tokenOperations.createToken, {
            ...{ name: "mine", roles: ["admin"], expires: "1d", digest: sha256Hex(tokens.forged) },
          }),
      ],
    ],
  );
  const unsigned = encode({ ...job("pwned"), operator: "root" });
  requested.push(["a job of nobody", () => sendRaw(root, jobOperations.createJob.bus.subject, unsigned)]);
  for (const [what, run] of requested) expect([what, (await run()).ok]).toEqual([what, false]);
  for (const master of masters) {
    for (const name of ["revoked", "forged"] as const) {
      const status = await statusWith(master, tokens[name]);
      // 503 while nothing can be known; never an answer.
      expect([name, status]).toEqual([name, status === 503 ? 503 : 401]);
    }
  }
}

/** Sends everything again that operators ever asked, on its subject. */
async function replayAll(): Promise<void> {
  const { nats } = intruder.bus;
  // Commands for peels are among them, which nobody answers: the fence comes behind them.
  const again = ({ subject: published, data }: Message) => {
    const { user: publicKey, subject } = parseFromOperator(published);
    return publicKey === undefined
      ? nats.publish(subject, data)
      : requestAs(intruder.bus, { key: { publicKey } }, subject, data, 1_000).catch(() => undefined);
  };
  await Promise.all(genuine.map(again));
}

function nothingRan(): void {
  const found = Object.fromEntries(
    ["ann", "fred", "gone", "agreed", "denied", "waiting", "pwned"].map((name) => [name, times(name)]),
  );
  expect(found).toEqual({ ann: 1, fred: 1, gone: 1, agreed: 1, denied: 0, waiting: 0, pwned: 0 });
}

/** Empties a bucket, as its owner can. */
async function purge(asset: AssetName): Promise<void> {
  const manager = await intruder.bus.nats.jetstreamManager();
  await manager.streams.purge(streamName(asset));
}
/** What the bus stores under a key of a bucket. */
const storedIn = async (asset: AssetName, key: string) =>
  (await (await openBucket(intruder.bus, asset)).get(key))?.value ?? new Uint8Array();

test.each([
  ["with its disk", false],
  ["on an empty disk", true],
])(
  "a token that was revoked while a master was stopped, and put back, counts nowhere %s",
  async (_, empty) => {
    const late = text();
    const digest = sha256Hex(late);
    await must(root, tokenOperations.createToken, {
      name: "late",
      roles: ["viewer"],
      expires: "90d",
      digest,
    });
    expect(await statusWith(masters[1], late)).toBe(200);
    const before = await storedIn("tokens", "late");
    await restart({
      onEmptyDisk: empty,
      async meanwhile() {
        await must(root, tokenOperations.revokeToken, { id: "late" });
        await purge("tokens");
        await (await openBucket(intruder.bus, "tokens")).put("late", before);
      },
    });
    for (const master of masters) expect(await statusWith(master, late)).toBe(401);
  },
);

test.each([
  ["with its disk", false],
  ["on an empty disk", true],
])(
  "an operator who was disabled while a master was stopped, and put back, is refused %s",
  async (_, empty) => {
    const late = newOperator(`late-${empty}`, ["operator"]);
    const record = recordOf(late);
    await must(root, operatorOperations.addOperator, { record: signedRecord(record, root) });
    await must(late, jobOperations.listJobs, {});
    const before = await storedIn("operators", late.name);
    await restart({
      onEmptyDisk: empty,
      async meanwhile() {
        const disabled = signedRecord({ ...record, version: 2, disabled: true }, root);
        await must(root, operatorOperations.disableOperator, { name: late.name, record: disabled });
        await (await openBucket(intruder.bus, "operators")).put(late.name, before);
      },
    });
    // Whichever of the masters answers.
    for (let at = 0; at < 8; at++) {
      const { ok, error } = await request(late, jobOperations.listJobs, {});
      expect([ok, error?.code]).toEqual([false, "unauthorized"]);
    }
  },
);

test("a rollout does not start again after its record and the used nonces were deleted", async () => {
  const { subject } = rolloutOperations.startRollout.bus;
  const { args, ...requested } = job("rollout");
  const started = (await must(root, rolloutOperations.startRollout, { ...requested, args })) as unknown as {
    id: string;
  };
  const running = async () =>
    JSON.stringify(await must(root, rolloutOperations.listRollouts, { status: "running" }));
  await until(running, (list) => !list.includes(started.id));
  const sent = intruder.requests.findLast(
    (one) => one.subject === fromOperatorSubject(root.key.publicKey, subject),
  );
  for (const onEmptyDisk of [false, true]) {
    await restart({ onEmptyDisk });
    for (const asset of ["rollouts", "jobs", "request-nonces"] as const) await purge(asset);
    for (let at = 0; at < 4; at++) {
      const answer = await sendRaw(root, subject, sent?.data ?? new Uint8Array());
      expect([answer.ok, answer.error?.code]).toEqual([false, "unauthorized"]);
    }
  }
  await fence();
  expect(times("rollout")).toBe(1);
});

test("records that are made with other keys are ignored by every master", async () => {
  const runs = { function: "cmd.run", args: job("pwned").args, target: "web-1" };
  const forged = forgedRecords({
    forger: eve,
    others: [root, ann, vera, fred, gone],
    token: tokens.forged,
    runs,
  });
  // What is in the audit is of no master, and says of an operator and a token what is not so.
  const thief = { bus: intruder.bus, master: "thief", signer: eve.key, keys: () => [], clock: systemClock };
  const audit = createAuditWriter({ ...thief, log: recordingLog() });
  const entry = { operator: "root", key: "", via: "bus", outcome: "done", requestId: "" } as const;
  const requestDigest = new Uint8Array(32);
  const restoreAudit = await intruder.snapshot("audit");
  const operators = await openBucket(intruder.bus, "operators");
  const before = await operators.entries();
  await audit.append({
    ...{ ...entry, requestDigest, action: "operators.roles", subjects: { operator: "ann", version: 99 } },
  });
  for (const onEmptyDisk of [false, true]) {
    await restart({
      onEmptyDisk,
      meanwhile: async () => {
        for (const [asset, messages] of Object.entries(forged)) {
          expect([asset, messages.length > 0]).toEqual([asset, true]);
          for (const { subject, data } of messages)
            await intruder.bus.nats.jetstream().publish(subject, data);
        }
      },
    });
    await nothingIsGained();
    await replayAll();
  }
  // What was there before counts again: nothing that was forged is remembered.
  for (const { key, value } of before) await operators.put(key, value);
  await must(ann, jobOperations.createJob, job("ann-again"));
  await until(() => times("ann-again") === 1);
  await restoreAudit();
  nothingRan();
});

/** The audit first: each case adds a hundred entries to it, and all of them are stored again in its own case. */
const edited = (Object.keys(assets) as AssetName[]).toSorted(
  (one, other) => Number(other === "audit") - Number(one === "audit"),
);
describe("who edits", () => {
  test.each(edited)("%s gains nothing", async (asset) => {
    const restore = await intruder.snapshot(asset);
    for (const { what, run } of await intruder.attacksOn(asset)) {
      await run();
      await nothingIsGained().catch((thrown) => {
        throw new Error(`${asset}: ${what}`, { cause: thrown });
      });
    }
    await replayAll();
    await restart();
    await replayAll();
    await nothingIsGained();
    await restore();
    await nothingIsGained();
    await replayAll();
    await fence();
    nothingRan();
  });
});
