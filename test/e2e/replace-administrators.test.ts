import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory, publicMode, secretMode, writeFileAtomic } from "../../internal/base/files/file.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { hintSubject } from "../../internal/bus/subjects/subjects.ts";
import { merkleTree } from "../../internal/identity/merkle/merkle.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import { encodeAdministrators, signAdministrators } from "../../internal/wire/administrators-statement.ts";
import { encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { signRequest } from "../../internal/wire/signed-request.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { newOperator, type TestOperator, writeOperatorFile } from "../harness/operators.ts";
import { startPeel, type TestPeel } from "../harness/peel.ts";
import { operate } from "../harness/peel-connection.ts";
import { listAdministrators } from "../harness/registered.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// The administrators on peels change by a statement of an administrator, and by nothing that a master has.

setDefaultTimeout(150_000);

const [root, carl, eve] = [newOperator("root"), newOperator("carl"), newOperator("eve")];
const files = temporaryDirectory("replace-administrators");
const at = (...names: string[]) => join(files.path, ...names);

let bus: TestBus;
let master: TestMaster;
let thief: Bus;
let fleet: string;
const peels = new Map<string, TestPeel>();

const lineOf = ({ name, key }: TestOperator) => `${key.publicKey} ${name}\n`;
const administratorsOf = (peel: string) => readFileSync(at(peel, "auth", "administrators"), "utf8");

function run(id: string): TestPeel {
  const peel = startPeel(at(id), [
    ...["--config", at(id, "peel.yaml"), "--id", id, "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile],
  ]);
  peels.set(id, peel);
  return peel;
}

async function enroll(id: string): Promise<void> {
  makeDirectory(at(id), 0o700);
  writeFileAtomic(at(id, "peel.yaml"), JSON.stringify({ require_operator: "on" }), secretMode);
  const peel = run(id);
  const { fields } = await peel.log.logged("enrollment pending: waiting for an operator's approval");
  await operate(master, String(fields?.enrollment_id), "approve");
  await peel.ready;
}

async function stop(id: string): Promise<void> {
  await peels.get(id)?.[Symbol.asyncDispose]();
  peels.delete(id);
}

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  master = await startMaster(bus, { config: { operators: { require_signed: true } } });
  thief = await connectTo(bus, "master");
  fleet = keyPairFromSeed("account", readFileSync(join(bus.authDir, "account.seed"), "utf8")).publicKey;
  await enroll("web-1");
  await enroll("web-2");
});
afterAll(async () => {
  for (const id of [...peels.keys()]) await stop(id);
  await thief?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

async function svc(as: TestOperator, ...argv: string[]) {
  const running = startCli(bus, argv, { operatorFile: writeOperatorFile(bus, as) });
  const exit = await running.exit;
  return { exit, stdout: running.stdout, stderr: running.stderr };
}
function listFile(...list: TestOperator[]): string {
  const administrators = list.map(({ name, key }) => ({ name, publicKey: key.publicKey }));
  writeFileAtomic(at("new"), formatAdministrators(administrators), publicMode);
  return at("new");
}

/** Sends what a stolen master sends: a command that this operator signed, with its signature. */
async function command(peel: string, by: TestOperator, shell: string) {
  const call = { function: "cmd.run", args: { command: shell } };
  const tree = merkleTree([peel]);
  const sentAt = systemClock.now();
  const body = encode({ target: peel, ...call, timeout: "50s", targets_digest: tree.root });
  const request = signRequest(
    "svc.job.request",
    { body, operator: by.name, sentAt, nonce: systemRandom(16) },
    by.key,
  );
  const evidence = { request, proof: tree.proofOf(peel) ?? [], records: [] };
  const jid = newId("job", sentAt, systemRandom);
  const returned = Promise.withResolvers<{ success: boolean; error?: string }>();
  const subscription = thief.nats.subscribe(`svc.job.${jid}.return.${peel}`, {
    callback: (_, { data }) => returned.resolve(decode(data) as { success: boolean; error?: string }),
  });
  const key = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  const order = { kind: "dispatch", jid, peel, deadline: sentAt + 45_000 } as const;
  thief.nats.publish(
    `svc.job.${jid}.dispatch.${peel}`,
    signCommand({ ...order, body: encodeCall(call, undefined, evidence) }, key),
  );
  const answer = await returned.promise;
  subscription.unsubscribe();
  return answer;
}

test("before, masters and peels know the same, and only an administrator can sign another list", async () => {
  const shown = await svc(root, "operator", "administrators", "--output", "json");
  const listed = [{ name: "root", public_key: root.key.publicKey }];
  expect(JSON.parse(shown.stdout)).toMatchObject({
    ...{ fleet, masters: listed, peels: listed, version: 0, differ: false },
  });
  const seed = writeOperatorFile(bus, eve);
  const stolen = await svc(
    root,
    "operator",
    "administrators",
    "--replace",
    listFile(eve),
    "--sign-with",
    seed,
  );
  expect([stolen.exit, stolen.stderr]).toEqual([
    1,
    expect.stringContaining("peels know other administrators than the key"),
  ]);
  for (const [argv, says] of [
    [["--replace", listFile(root)], "peels have these administrators already"],
    [["--replace", at("none")], "no such file"],
    [["--sign-with", seed], "--sign-with is for --replace"],
  ] as const) {
    const refused = await svc(root, "operator", "administrators", ...argv);
    expect([refused.exit === 0, refused.stderr]).toEqual([false, expect.stringContaining(says)]);
  }
  writeFileAtomic(at("empty"), "# nobody\n", publicMode);
  const empty = await svc(root, "operator", "administrators", "--replace", at("empty"));
  expect([empty.exit, empty.stderr]).toEqual([1, expect.stringContaining("names no administrator")]);
});

test("an administrator replaces the list: on connected peels at once, on the others when they connect", async () => {
  await stop("web-2");
  const replaced = await svc(root, "operator", "administrators", "--replace", listFile(carl));
  expect([replaced.exit, replaced.stderr]).toEqual([
    0,
    expect.stringContaining("only masters know root; only peels know carl"),
  ]);
  const next = `# version 1 ${fleet}\n${lineOf(carl)}`;
  await until(() => administratorsOf("web-1") === next);
  expect(administratorsOf("web-2")).toBe(lineOf(root));

  // The masters follow their own file.
  listAdministrators(bus.authDir, carl);
  await until(async () => (await svc(carl, "operator", "administrators", "--output", "json")).exit === 0);
  const shown = await svc(carl, "operator", "administrators");
  expect([shown.exit, shown.stderr]).toEqual([0, ""]);
  expect(shown.stdout).toContain(`with ${root.key.publicKey}`);

  const ran = await svc(carl, "run", "web-1", "cmd.run", `touch ${at("carl")}`);
  expect({ ...ran, exit: ran.exit }).toMatchObject({ exit: 0 });
  expect(existsSync(at("carl"))).toBe(true);
  expect(await command("web-1", root, `touch ${at("root")}`)).toMatchObject({
    success: false,
    error: expect.stringContaining("this peel does not accept root"),
  });
  expect(existsSync(at("root"))).toBe(false);

  // A kill during the write leaves the file as it was, and a part of the next one.
  writeFileAtomic(at("web-2", "auth", ".administrators.0.tmp"), "# vers", secretMode);
  await run("web-2").ready;
  await until(() => administratorsOf("web-2") === next);
  expect((await svc(carl, "run", "web-2", "cmd.run", `touch ${at("late")}`)).exit).toBe(0);
  expect(existsSync(at("late"))).toBe(true);
  expect(readdirSync(at("web-2", "auth")).filter((name) => name.startsWith("administrators"))).toEqual([
    "administrators",
  ]);
});

test("a peel that enrolls afterwards starts from the version of its list", async () => {
  await enroll("web-3");
  expect(administratorsOf("web-3")).toBe(`# version 1 ${fleet}\n${lineOf(carl)}`);
});

test("an attacker with a stolen master, and all that it has, replaces nothing", async () => {
  const bucket = await openBucket(thief, "secrets");
  const list = [{ name: "eve", publicKey: eve.key.publicKey }];
  const stolen = [
    { version: 2, by: eve.key },
    { version: 3, by: root.key },
    { version: 4, by: keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8")) },
  ];
  for (const { version, by } of stolen) {
    const statement = signAdministrators({ fleet, version, administrators: list, issuedAt: 0 }, by);
    await bucket.put(`_administrators.${version}`, encodeAdministrators(statement));
  }
  const { log } = peels.get("web-1") as TestPeel;
  const refusal = log.logged("a statement about administrators is refused", ({ reason }) =>
    String(reason).includes("version 4"),
  );
  // Also with the file of a master, which its thief can write.
  listAdministrators(bus.authDir, eve);
  await until(() => {
    thief.nats.publish(hintSubject("web-1"));
    return Promise.race([refusal.then(() => true), thief.nats.flush().then(() => false)]);
  });
  expect(administratorsOf("web-1")).toBe(`# version 1 ${fleet}\n${lineOf(carl)}`);
  expect(await command("web-1", eve, `touch ${at("eve")}`)).toMatchObject({ success: false });
  expect(existsSync(at("eve"))).toBe(false);
  // What the thief stored does not keep the next statement of an administrator out.
  listAdministrators(bus.authDir, carl);
  await until(async () => (await svc(carl, "operator", "administrators")).exit === 0);
  const next = await svc(carl, "operator", "administrators", "--replace", listFile(carl, root));
  expect([next.exit, next.stderr]).toEqual([0, expect.any(String)]);
  await until(() => administratorsOf("web-1") === `# version 5 ${fleet}\n${lineOf(carl)}${lineOf(root)}`);
});
