import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, publicMode, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeJob, encodeJob } from "../../internal/fleet/jobs/records/record.ts";
import { isProven, merkleTree } from "../../internal/identity/merkle/merkle.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { decodeEvidence, type Evidence, encodeCall } from "../../internal/wire/call.ts";
import { type Command, openCommand, signCommand, signForAll } from "../../internal/wire/command.ts";
import { encodeOperator, signOperator } from "../../internal/wire/operator-record.ts";
import { openRequest } from "../../internal/wire/signed-request.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type RunningCli, startCli } from "../harness/cli.ts";
import { send } from "../harness/client.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import {
  newOperator,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// Peels that obey operators only, and a thief who has everything that a master has: its command key and its
// credentials on the bus.

setDefaultTimeout(60_000);

const root = newOperator("root");
const ann = newOperator("ann", ["operator"]);
/** What they run needs the other one. */
const [ben, cho] = [newOperator("ben", ["pair"]), newOperator("cho", ["pair"])];
const roles = `roles:
  pair:
    jobs:
      - {functions: [cmd.run], targets: "*", approvals: 1}
    rollouts: [list, show, start, abort]
    approvals: [list, show, approve, deny]
`;
const files = temporaryDirectory("require-operator");
const mark = (name: string) => join(files.path, name);

let bus: TestBus;
let master: TestMaster;
let thief: Bus;
let commandKey: ReturnType<typeof keyPairFromSeed>;
let operatorFile: string;
const peels: TestPeel[] = [];
/** Commands as they went over the bus, by job. */
const sent = new Map<string, Command>();

async function newPeel(id: string): Promise<TestPeel> {
  const dataDir = join(files.path, id);
  makeDirectory(dataDir, 0o700);
  const config = join(dataDir, "peel.yaml");
  writeFileAtomic(
    config,
    JSON.stringify({ require_operator: "on", operator_roles: { operator: ["*"], pair: ["cmd.run"] } }),
    secretMode,
  );
  const peel = startPeel(dataDir, [
    ...["--config", config, "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile],
  ]);
  peels.push(peel);
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(master, String(fields?.enrollment_id), "approve");
  await peel.ready;
  return peel;
}

beforeAll(async () => {
  bus = await startBus();
  const administrators = formatAdministrators([{ name: root.name, publicKey: root.key.publicKey }]);
  writeFileAtomic(join(bus.authDir, "administrators"), administrators, publicMode);
  const rolesFile = join(bus.dir, "roles.yaml");
  writeFileAtomic(rolesFile, roles, publicMode);
  master = await startMaster(bus, {
    config: { operators: { require_signed: true } },
    flags: ["--roles-file", rolesFile],
  });
  thief = await connectTo(bus, "master");
  for (const { name, key, roles: own } of [ann, ben, cho]) {
    const record = signOperator(
      {
        ...{ name, publicKey: key.publicKey, roles: own },
        ...{ createdAt: systemClock.now(), createdBy: root.name, version: 1 },
      },
      root.key,
    );
    await (await openBucket(thief, "operators")).put(name, encodeOperator(record));
  }
  commandKey = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  operatorFile = writeOperatorFile(bus, ann);
  thief.nats.subscribe("svc.job.*.dispatch.*", {
    callback: (_, { subject, data }) => {
      const [, , jid = "", , peel = ""] = subject.split(".");
      sent.set(jid, openCommand(data, { peel }, { keys: [commandKey.publicKey], now: 0 }));
    },
  });
  await newPeel("web-1");
  await newPeel("web-2");
}, 60_000);
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  await thief?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const svc = (...argv: string[]): RunningCli => startCli(bus, argv, { operatorFile });
const as = async (who: TestOperator, ...argv: string[]) => {
  const running = startCli(bus, argv, { operatorFile: writeOperatorFile(bus, who) });
  return { exit: await running.exit, stdout: running.stdout, stderr: running.stderr };
};
/** The evidence of the last command of a job, and what it ran. */
const sentOf = (jid: string) => {
  const { body, proof } = sent.get(jid) as Command;
  const { function: name, args } = decode(body) as { function: string; args: Record<string, Plain> };
  const found = decodeEvidence(body) as Evidence;
  // Next to the body when a master signed once for several peels.
  const evidence = found === undefined ? found : { ...found, proof: found.proof ?? proof };
  return { call: { function: name, args }, evidence };
};
const jobsIn = (text: string) => [...new Set(text.match(/job-\w+/g))];
const touch = (name: string) => ({ function: "cmd.run", args: { command: `touch ${mark(name)}` } });
/** Sends what a master sends, with its key, and waits for the answer of the peel. */
async function command(
  peel: string,
  call: { function: string; args: Record<string, Plain> },
  evidence?: Evidence,
  /** Signs for these peels at once. */
  peels: readonly string[] = [],
) {
  const jid = newId("job", systemClock.now(), systemRandom);
  const returned = Promise.withResolvers<{ success: boolean; error?: string }>();
  const subscription = thief.nats.subscribe(`svc.job.${jid}.return.${peel}`, {
    callback: (_, { data }) => returned.resolve(decode(data) as { success: boolean; error?: string }),
  });
  const body = encodeCall(call, undefined, evidence);
  const order = { kind: "dispatch", jid, deadline: systemClock.now() + 50_000, body } as const;
  const bytes =
    peels.length === 0
      ? signCommand({ ...order, peel }, commandKey)
      : signForAll(order, merkleTree(peels), commandKey)(peel);
  thief.nats.publish(`svc.job.${jid}.dispatch.${peel}`, bytes);
  const answer = await returned.promise;
  subscription.unsubscribe();
  return answer;
}
const notRun = (why: string) => ({
  success: false,
  error: expect.stringContaining(
    `not run, because this peel obeys operators only (require_operator): ${why}`,
  ),
});

test("a peel learns the administrators with its credentials", () => {
  expect(readFileSync(join(files.path, "web-1", "auth", "administrators"), "utf8")).toBe(
    `${root.key.publicKey} root\n`,
  );
});

describe("what an operator signed", () => {
  test("runs on the peels that it is for", async () => {
    const running = svc("run", "web-*", "cmd.run", `touch ${mark("signed")}`);
    expect({ exit: await running.exit, stderr: running.stderr }).toMatchObject({ exit: 0 });
    expect(existsSync(mark("signed"))).toBe(true);
    const jid = /job-\w+/.exec(running.stderr)?.[0] ?? "";
    const { peel } = sent.get(jid) as Command;
    const { request, records, proof = [] } = sentOf(jid).evidence;
    const { targets_digest } = decode(openRequest(request).body) as { targets_digest: Uint8Array };
    expect(isProven(peel, proof, targets_digest)).toBe(true);
    expect(records).toHaveLength(1);
  });

  test("stops when the operator signs that", async () => {
    const running = svc("run", "web-1", "test.sleep", "length=1h", "--timeout", "2h", "--async");
    expect(await running.exit).toBe(0);
    const jid = running.stdout.trim();
    await peels[0]?.log.logged("job taken", (fields) => fields.jid === jid);
    const cancel = svc("job", "cancel", jid, "--wait");
    expect({ exit: await cancel.exit, stdout: cancel.stdout }).toMatchObject({
      stdout: expect.stringContaining("cancelled"),
    });
  });

  test("counts once, on the peels that were signed, as it was signed", async () => {
    const running = svc("run", "web-1", "cmd.run", `touch ${mark("once")}`);
    expect(await running.exit).toBe(0);
    const { body } = sent.get(/job-\w+/.exec(running.stderr)?.[0] ?? "") as Command;
    const evidence = decodeEvidence(body) as Evidence;
    const { command: shell } = (decode(body) as { args: { command: string } }).args;
    const call = { function: "cmd.run", args: { command: shell } };
    expect(await command("web-1", call, evidence)).toMatchObject(
      notRun("the signed request was used on this peel"),
    );
    expect(await command("web-2", call, evidence)).toMatchObject(notRun("this peel is not among those"));
    expect(await command("web-1", touch("other"), evidence)).toMatchObject(
      notRun("ann signed other arguments"),
    );
    // Nor by a signature for more peels than those that the operator signed for.
    const { proof: _, ...unproven } = evidence;
    for (const peels of [["web-2"], ["web-1", "web-2"]]) {
      expect(await command("web-2", call, unproven, peels)).toMatchObject(
        notRun("this peel is not among those"),
      );
    }
    expect(existsSync(mark("other"))).toBe(false);
  });
});

describe("what two operators signed", () => {
  const run = async (name: string) => {
    const waits = await as(ben, "run", "web-*", "cmd.run", `touch ${mark(name)}`, "--timeout", "30s");
    expect({ ...waits, exit: waits.exit }).toMatchObject({ exit: 0, stderr: "" });
    return /apr-\w+/.exec(waits.stdout)?.[0] ?? "";
  };

  test("runs, and without the second one it does not, whoever signs the command", async () => {
    const id = await run("pair");
    const agreed = await as(cho, "approval", "approve", id);
    expect(agreed).toMatchObject({ exit: 0, stdout: expect.stringContaining("it was started") });
    expect(agreed.stderr).toContain("ben wants to run cmd.run on 2 peels (target web-*), signed at ");
    expect(agreed.stderr).toContain(`touch ${mark("pair")}`);
    await until(() => existsSync(mark("pair")));
    const jid = [...sent.keys()].find((one) => sentOf(one).evidence?.approvals !== undefined) ?? "";
    const { call, evidence } = sentOf(jid);
    const { peel } = sent.get(jid) as Command;
    const { approvals: _, ...without } = evidence;
    expect(await command(peel, call, without)).toMatchObject(
      notRun("ben signed that 1 must agree, and 0 did"),
    );
    expect(await command(peel, call, evidence)).toMatchObject(notRun("the signed request was used"));
  });

  test("an agreement counts for one request", async () => {
    const [first, second] = [await run("first"), await run("second")];
    expect((await as(cho, "approval", "approve", first)).exit).toBe(0);
    await until(() => existsSync(mark("first")));
    const jid = [...sent.keys()].find((one) => sentOf(one).call.args.command === `touch ${mark("first")}`);
    const { approvals = [] } = sentOf(jid ?? "").evidence;
    const bucket = await openBucket(thief, "approvals");
    const { asker } = decode((await bucket.get(second))?.value ?? new Uint8Array()) as unknown as {
      asker: { envelope: Uint8Array };
    };
    const { function: name, args } = touch("second");
    const records = sentOf(jid ?? "").evidence.records;
    const evidence = { request: asker.envelope, proof: [], records, approvals };
    expect(await command("web-1", { function: name, args }, evidence)).toMatchObject(
      notRun("cho agreed to another request"),
    );
    expect(existsSync(mark("second"))).toBe(false);
  });
});

describe("a rollout that an operator signed", () => {
  test("runs in waves, with its check, and each wave once", async () => {
    const started = await as(
      ...([ann, "rollout", "start", "web-*", "cmd.run", `touch ${mark("wave")}`] as const),
      ...["--canary", "1", "--waves", "1", "--check", "test.ping"],
    );
    expect(started).toMatchObject({ exit: 0 });
    const waves = [...sent].filter(([jid]) => jobsIn(started.stdout + started.stderr).includes(jid));
    expect(new Set(waves.map(([, { peel }]) => peel))).toEqual(new Set(["web-1", "web-2"]));
    const [jid = "", { peel = "" } = {}] =
      waves.find(([one]) => sentOf(one).call.function === "cmd.run") ?? [];
    const { call, evidence } = sentOf(jid);
    expect(evidence.records).toHaveLength(1);
    expect(await command(peel, call, evidence)).toMatchObject(notRun("the signed request was used"));
    expect(await command(peel, touch("other-wave"), evidence)).toMatchObject(
      notRun("ann signed other arguments of cmd.run"),
    );
    const other = peel === "web-1" ? "web-2" : "web-1";
    expect(await command(other, call, evidence)).toMatchObject(notRun("this peel is not among those"));
    expect(await command(peel, call, { ...evidence, step: "check" })).toMatchObject(
      notRun("ann signed a request for test.ping"),
    );
  });

  test("with two persons it waits, and then runs", async () => {
    const waits = await as(
      ...([ben, "rollout", "start", "web-*", "cmd.run", `touch ${mark("pairs")}`, "--async"] as const),
    );
    expect(waits.exit).toBe(0);
    const id = /apr-\w+/.exec(waits.stdout)?.[0] ?? "";
    expect((await as(cho, "approval", "approve", id)).stdout).toContain("it was started");
    const list = async () => (await as(ben, "rollout", "list", "--output", "json")).stdout;
    await until(async () => (JSON.parse(await list()) as { status: string }[])[0]?.status === "completed");
    expect(existsSync(mark("pairs"))).toBe(true);
  });

  test("ends when an operator aborts it", async () => {
    const started = await as(
      ...([ann, "rollout", "start", "web-1", "cmd.run", "sleep 600", "--timeout", "20m", "--async"] as const),
    );
    const id = started.stdout.trim();
    const isIt = (jid: string) => sentOf(jid).call.args.command === "sleep 600";
    const wave = await until(() => [...sent.keys()].find(isIt));
    await peels[0]?.log.logged("job taken", (fields) => fields.jid === wave);
    expect((await as(ann, "rollout", "abort", id)).exit).toBe(0);
    const shown = async () => (await as(ann, "rollout", "show", id, "--output", "json")).stdout;
    await until(async () => (JSON.parse(await shown()) as { status: string }).status === "aborted");
  });
});

describe("a stolen master", () => {
  test("runs nothing that no operator signed", async () => {
    expect(await command("web-1", touch("stolen"))).toMatchObject(
      notRun("no operator signed it, and cmd.run"),
    );
    expect(await command("web-1", { function: "file.remove", args: { path: files.path } })).toMatchObject(
      notRun("no operator signed it"),
    );
    expect(existsSync(mark("stolen"))).toBe(false);
  });

  test("runs nothing with anything that operators signed before, in whatever way it puts it together", async () => {
    const signed = [...sent.keys()].map(sentOf).filter(({ evidence }) => evidence !== undefined);
    expect(signed.length).toBeGreaterThan(5);
    const stolen = touch("replayed");
    for (const peel of ["web-1", "web-2"]) {
      for (const { call, evidence } of signed) {
        const { step: _, ...asWave } = evidence;
        for (const one of [evidence, asWave, { ...asWave, step: "check" } as const]) {
          expect(await command(peel, call, one)).toMatchObject(notRun(""));
          expect(await command(peel, stolen, one)).toMatchObject(notRun(""));
        }
      }
    }
    expect(existsSync(mark("replayed"))).toBe(false);
  });

  test("gets no signature for what a record was changed to, when an operator runs the job again", async () => {
    const running = svc("run", "web-1", "cmd.run", "exit 3");
    expect(await running.exit).toBe(1);
    const jid = /job-\w+/.exec(running.stderr)?.[0] ?? "";
    const own = svc("run", "--again", jid);
    expect({ exit: await own.exit, out: own.stdout }).toMatchObject({
      out: expect.stringContaining("exited with 3"),
    });
    const jobs = await openBucket(thief, "jobs");
    const stored = await jobs.get(jid);
    const job = decodeJob(stored?.value ?? new Uint8Array());
    await jobs.put(jid, encodeJob({ ...job, args: { command: `touch ${mark("again")}` } }));
    const refused = svc("run", "--again", jid);
    expect(await refused.exit).toBe(2);
    expect(refused.stderr).toContain("was not signed with your key");
    const requested = startCli(bus, ["run", "--again", jid], { operatorFile, answer: "n" });
    expect(await requested.exit).toBe(1);
    expect(requested.stderr).toContain(`touch ${mark("again")}`);
    expect(existsSync(mark("again"))).toBe(false);
  });

  test("does not become an operator by a record on the bus", async () => {
    const eve = newOperator("eve");
    const record = signOperator(
      {
        ...{ name: "eve", publicKey: eve.key.publicKey, roles: ["admin"] },
        ...{ createdAt: 0, createdBy: "root", version: 1 },
      },
      commandKey,
    );
    await (await openBucket(thief, "operators")).put("eve", encodeOperator(record));
    const file = writeOperatorFile(bus, eve);
    const refused = startCli(bus, ["run", "web-1", "cmd.run", `touch ${mark("eve")}`], {
      operatorFile: file,
    });
    expect(await refused.exit).toBe(1);
    expect(refused.stderr).toContain("the request of eve is refused");
    expect(existsSync(mark("eve"))).toBe(false);
  });

  test("runs what runs by itself", async () => {
    expect(await command("web-1", { function: "test.ping", args: {} })).toMatchObject({ success: true });
  });
});

test("over REST, where nobody signs, the answer says what to do", async () => {
  const answer = await send(master.url, master.ca, {
    method: "POST",
    path: "/api/v1/jobs",
    headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
    body: JSON.stringify({ targets: ["web-1"], ...touch("rest") }),
  });
  const { jid } = answer.json as { jid: string };
  const show = async () => {
    const running = svc("job", "show", jid, "--output", "json");
    await running.exit;
    return running.stdout;
  };
  await until(async () => (await show()).includes("ask with svc and an operator file (svc login)"));
  expect(existsSync(mark("rest"))).toBe(false);
});

test("when other peels match than those that were signed, nothing is started", async () => {
  const subject = "svc.job.request";
  const body = encode({ target: "web-*", ...touch("frozen"), targets_digest: new Uint8Array(32) });
  const reply = decode(await requestAs(thief, ann, subject, signedBy(ann, subject, body)));
  expect(reply).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("other peels match the target now (2)") },
  });
  expect(existsSync(mark("frozen"))).toBe(false);
});
