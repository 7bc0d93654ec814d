import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { operatorInboxPrefix } from "../../internal/bus/accounts/mod.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { createSystemBus } from "../../internal/bus/servers/system.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { joinProof, parseJoinToken } from "../../internal/identity/join-token/mod.ts";
import { formatCredentials } from "../../internal/identity/mod.ts";
import { formatAdministrators } from "../../internal/wire/administrators.ts";
import {
  encodeOperator,
  type OperatorRecord,
  type SignedOperatorRecord,
  signOperator,
} from "../../internal/wire/operator-record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { newEnrollee, submission, submit, takeNonce } from "../harness/enrollee.ts";
import { recordingLog } from "../harness/log.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import {
  newOperator,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// The registry of operators on two masters: what administrators sign, and what an attacker who controls the bus tries.

setDefaultTimeout(60_000);

const root = newOperator("root");
const second = newOperator("second");

let bus: TestBus;
let masters: TestMaster[];
/** An attacker who controls the bus: it has the credentials of a master. */
let owner: Bus;
let records: Bucket;

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root, second);
  const config = { operators: { require_signed: true } };
  masters = [await startMaster(bus, { config }), await startMaster(bus, { config })];
  owner = await connectTo(bus, "master");
  records = await openBucket(owner, "operators");
});
afterAll(async () => {
  await owner?.drain();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Answer {
  ok: boolean;
  error?: { code: string; message: string };
  [field: string]: Plain | undefined | { code: string; message: string };
}

/** Asks as an operator, with its signature; over the connection of the owner, who can publish everywhere. */
async function send(
  who: TestOperator,
  action: keyof typeof operatorOperations,
  fields: Record<string, Plain> = {},
): Promise<Answer> {
  const { subject } = operatorOperations[action].bus;
  const request = signedBy(who, subject, encode(fields));
  return decode(await requestAs(owner, who, subject, request)) as Answer;
}

const add = (who: TestOperator, by = root, more: Partial<OperatorRecord> = {}) =>
  send(by, "addOperator", { record: signedRecord(recordOf(who, more), by) });

/** Connects with the JWT that masters made. */
function connectAs({ key }: TestOperator, jwt: unknown): Promise<Bus> {
  return connectBus({
    urls: [bus.url],
    name: "svc",
    ca: bus.caPem,
    identity: { credentials: formatCredentials(String(jwt), key.seed) },
    inboxPrefix: operatorInboxPrefix(key.publicKey),
    clock: systemClock,
    log: recordingLog(),
  });
}

/** Asks both masters who this is, until both say so: they see a change of the bucket a moment after it. */
const whoIs = (who: TestOperator, counts: boolean, reported = "") =>
  until(async () => {
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => send(who, "whoAmI")));
    const agree = answers.every(
      ({ ok, error }) => ok === counts && (error?.message ?? "").includes(reported),
    );
    return agree ? answers[0] : undefined;
  });

test("an administrator of the file is known without any record", async () => {
  expect(await send(root, "whoAmI")).toMatchObject({
    ok: true,
    name: "root",
    roles: ["admin"],
    signed: true,
  });
});

/** What one master shows of an operator. */
async function shownBy({ url, ca }: TestMaster, { name }: TestOperator) {
  const headers = { authorization: `Bearer ${testToken}` };
  const response = await fetch(`${url}/api/v1/operators/${name}`, { headers, tls: { ca } });
  return ((await response.json()) as { operator?: { record?: string; state: string } }).operator;
}

test("a record that an administrator of the file signs for itself locks nobody out", async () => {
  const own = signOperator(recordOf(second, { roles: ["admin"] }), second.key);
  const revision = await records.put(second.name, encodeOperator(own));
  for (const master of masters) {
    const shown = await until(
      () => shownBy(master, second),
      (operator) => operator?.record !== undefined,
    );
    expect(shown?.state).toBe("active");
  }
  expect(await send(second, "whoAmI")).toMatchObject({ ok: true });
  expect(await records.remove(second.name, revision)).toBe(true);
  for (const master of masters) {
    await until(
      () => shownBy(master, second),
      (operator) => operator?.record === undefined,
    );
  }
});

test("who is added connects with the subjects of its roles, and with nothing else", async () => {
  const anna = newOperator("anna", ["viewer"]);
  const added = await add(anna);
  expect(added).toMatchObject({ ok: true, operator: { name: "anna", state: "active", version: 1 } });
  expect(String(added.jwt).length).toBeLessThan(4_096);
  const connection = await connectAs(anna, added.jwt);
  const requested = async (subject: string) => {
    try {
      return (await requestAs(connection, anna, subject, signedBy(anna, subject, encode({})))).length > 0;
    } catch (thrown) {
      return (thrown as { code?: string }).code;
    }
  };
  expect(await requested("svc.admin.operator.whoami")).toBe(true);
  expect(await requested("svc.job.list")).toBe(true);
  for (const subject of ["svc.job.request", "svc.admin.enroll.approve", "svc.admin.operator.add"]) {
    expect([subject, await requested(subject)]).toEqual([subject, "PERMISSIONS_VIOLATION"]);
  }
  await connection.drain();
});

test("disabling closes the live connection and refuses the next one, measured; enabling lets it in again", async () => {
  const bert = newOperator("bert", ["operator"]);
  const { jwt } = await add(bert);
  const connection = await connectAs(bert, jwt);
  let refused = 0;
  const lost = Promise.withResolvers<void>();
  (async () => {
    for await (const status of connection.nats.status()) if (status.type === "disconnect") lost.resolve();
  })();
  const disabled = recordOf(bert, { version: 2, disabled: true });
  const stored = await send(root, "showOperator", { name: "bert" });
  const { created_at } = stored.operator as { created_at: string };
  const at = { createdAt: Date.parse(created_at) };
  const answer = await send(root, "disableOperator", {
    name: "bert",
    record: signedRecord({ ...disabled, ...at }, root),
  });
  expect(answer).toMatchObject({ ok: true, operator: { state: "disabled" } });
  expect(answer.closed_in_ms as number).toBeGreaterThan(0);
  expect(answer.closed_in_ms as number).toBeLessThan(5_000);
  await lost.promise;
  await connection.nats.close();
  await connectAs(bert, jwt).catch(() => refused++);
  expect(refused).toBe(1);
  await whoIs(bert, false, "disabled");
  const enabled = { ...recordOf(bert, { version: 3 }), ...at };
  expect(
    await send(root, "enableOperator", { name: "bert", record: signedRecord(enabled, root) }),
  ).toMatchObject({
    ok: true,
  });
  const again = await connectAs(bert, jwt);
  await again.drain();
  expect(await whoIs(bert, true)).toMatchObject({ ok: true, roles: ["operator"] });
});

test("roles that are taken away end the JWT, and the answer has the next one", async () => {
  const carl = newOperator("carl", ["operator"]);
  const record = recordOf(carl);
  const { jwt } = await send(root, "addOperator", { record: signedRecord(record, root) });
  const narrowed = { ...record, roles: ["viewer"], version: 2 };
  const answer = await send(root, "setOperatorRoles", { name: "carl", record: signedRecord(narrowed, root) });
  expect(answer).toMatchObject({ ok: true, operator: { roles: ["viewer"] } });
  expect(await connectAs(carl, jwt).catch(() => "refused")).toBe("refused");
  const next = await connectAs(carl, answer.jwt);
  await next.drain();
});

test("an administrator who goes is refused as long as others count by its signature", async () => {
  const boss = newOperator("boss");
  const record = recordOf(boss);
  expect(await send(root, "addOperator", { record: signedRecord(record, root) })).toMatchObject({ ok: true });
  const dora = newOperator("dora", ["viewer"]);
  const ofDora = recordOf(dora, { createdBy: "boss" });
  expect(await send(boss, "addOperator", { record: signedRecord(ofDora, boss) })).toMatchObject({ ok: true });
  const removal = { name: "boss", record: signedRecord({ ...record, version: 2, disabled: true }, root) };
  expect(await send(root, "showOperator", { name: "boss" })).toMatchObject({ dependents: ["dora"] });
  expect(await send(root, "removeOperator", removal)).toMatchObject({
    ok: false,
    error: {
      message: expect.stringContaining("1 operator is valid only through the signature of boss: dora"),
    },
  });
  const again = { name: "dora", record: signedRecord({ ...ofDora, version: 2 }, root) };
  expect(await send(root, "setOperatorRoles", again)).toMatchObject({ ok: true });
  expect(await send(root, "removeOperator", removal)).toMatchObject({ ok: true });
  expect(await whoIs(dora, true)).toMatchObject({ ok: true });
  await whoIs(boss, false, "removed");
  // What was removed does not come back by its old record.
  await records.put("boss", encodeOperator(signOperator(record, root.key)));
  expect(await whoIs(boss, false)).toMatchObject({ ok: false });
  expect(await send(boss, "listOperators")).toMatchObject({ ok: false, error: { code: "unauthorized" } });
});

describe("masters do not take", () => {
  const eve = newOperator("eve");
  const viewer = newOperator("vera", ["viewer"]);
  const own = recordOf(eve);
  const forged = (record: SignedOperatorRecord) =>
    Buffer.from(encodeOperator({ ...record, signature: new Uint8Array(64) })).toString("base64");
  beforeAll(async () => {
    await add(viewer);
  });
  test.each<[string, () => Promise<Answer>, string]>([
    [
      "what its subject signed",
      () => send(root, "addOperator", { record: signedRecord(own, eve) }),
      "operators cannot sign for themselves",
    ],
    [
      "what an operator without role admin signed",
      () => send(root, "addOperator", { record: signedRecord(own, viewer) }),
      "not an operator with role admin",
    ],
    [
      "a signature of zeros",
      () => send(root, "addOperator", { record: forged(signOperator(own, root.key)) }),
      "not signed",
    ],
    [
      "a key that another operator has",
      () =>
        send(root, "addOperator", {
          record: signedRecord({ ...own, publicKey: viewer.key.publicKey }, root),
        }),
      "vera has this key",
    ],
    [
      "the key of an administrator under another name",
      () =>
        send(root, "addOperator", {
          record: signedRecord({ ...own, publicKey: second.key.publicKey }, root),
        }),
      "second has this key",
    ],
    [
      "a name that is taken",
      () => add({ ...eve, name: "vera" }, root, { version: 2 }),
      "there is an operator vera",
    ],
    ["an older version", () => add({ ...viewer }, root, { version: 1 }), "2 is the next"],
    ["a role that there is not", () => add(eve, root, { roles: ["veiwer"] }), "did you mean viewer?"],
    ["an end that has passed", () => add(eve, root, { expiresAt: 1_000 }), "has passed"],
    ["a time far ahead", () => add(eve, root, { createdAt: systemClock.now() + 3_600_000 }), "set the clock"],
    ["bytes that are no record", () => send(root, "addOperator", { record: "AAAA" }), "malformed"],
    [
      "a record for another name than the request",
      () => send(root, "disableOperator", { name: "vera", record: signedRecord(own, root) }),
      "the record is of eve",
    ],
    [
      "a change of the key in place of the roles",
      () =>
        send(root, "setOperatorRoles", {
          name: "vera",
          record: signedRecord({ ...recordOf(viewer), publicKey: eve.key.publicKey, version: 2 }, root),
        }),
      "changes more than its roles",
    ],
    [
      "the last step of an administrator against itself",
      () =>
        send(root, "disableOperator", {
          name: "root",
          record: signedRecord({ ...recordOf(root), disabled: true }, root),
        }),
      "operators cannot sign for themselves",
    ],
    [
      "the removal of an administrator of the file",
      () =>
        send(root, "removeOperator", {
          name: "second",
          record: signedRecord({ ...recordOf(second), disabled: true }, root),
        }),
      "auth/administrators",
    ],
  ])("%s", async (_, run, reported) => {
    const answer = await run();
    expect([answer.ok, answer.error?.message]).toEqual([false, expect.stringContaining(reported)]);
  });
});

describe("an attacker who controls the bus", () => {
  const eve = newOperator("eve");

  test("cannot add an operator to the bucket", async () => {
    await records.put("eve", encodeOperator(signOperator(recordOf(eve), eve.key)));
    expect(await whoIs(eve, false)).toMatchObject({ ok: false, error: { code: "unauthorized" } });
    const chained = [recordOf(eve), recordOf({ ...eve, name: "mallory" })];
    for (const record of chained)
      await records.put(record.name, encodeOperator(signOperator(record, eve.key)));
    expect(await whoIs(eve, false)).toMatchObject({ ok: false, error: { code: "unauthorized" } });
    await records.put("eve", encode({ v: 1 }));
    expect(await whoIs(eve, false)).toMatchObject({ ok: false, error: { code: "unauthorized" } });
  });

  test("cannot undo a disabling: an older record does not count, and none means removed", async () => {
    const fred = newOperator("fred", ["viewer"]);
    const record = recordOf(fred);
    await send(root, "addOperator", { record: signedRecord(record, root) });
    const disabled = { ...record, version: 2, disabled: true as const };
    await send(root, "disableOperator", { name: "fred", record: signedRecord(disabled, root) });
    await records.put("fred", encodeOperator(signOperator(record, root.key)));
    await whoIs(fred, false, "someone put an old one back");
    const { revision = 0 } = (await records.get("fred")) ?? {};
    await records.remove("fred", revision);
    expect(await whoIs(fred, false)).toMatchObject({ ok: false });
  });

  test("cannot give itself roles", async () => {
    const gina = newOperator("gina", ["viewer"]);
    const record = recordOf(gina);
    await send(root, "addOperator", { record: signedRecord(record, root) });
    const genuine = signOperator(record, root.key);
    await records.put("gina", encodeOperator({ ...genuine, roles: ["admin"], version: 2 }));
    await whoIs(gina, false, "not signed as it is stored");
  });

  test("cannot shut anyone out for good with a version that is high and forged", async () => {
    const hugo = newOperator("hugo", ["viewer"]);
    const record = recordOf(hugo);
    await send(root, "addOperator", { record: signedRecord(record, root) });
    const genuine = signOperator(record, root.key);
    await records.put("hugo", encodeOperator({ ...genuine, version: 2 ** 31 - 1 }));
    expect(await whoIs(hugo, false)).toMatchObject({ ok: false });
    await records.put("hugo", encodeOperator(genuine));
    expect(await whoIs(hugo, true)).toMatchObject({ ok: true, roles: ["viewer"] });
  });

  test("lets nobody in again by removing a revocation from the claims: masters put it back", async () => {
    const ivan = newOperator("ivan", ["viewer"]);
    const record = recordOf(ivan);
    const { jwt } = await send(root, "addOperator", { record: signedRecord(record, root) });
    const disabled = { ...record, version: 2, disabled: true as const };
    await send(root, "disableOperator", { name: "ivan", record: signedRecord(disabled, root) });
    const revocations = await openBucket(owner, "operator-revocations");
    const entry = await revocations.get(ivan.key.publicKey);
    expect(decode(entry?.value ?? new Uint8Array())).toMatchObject({ name: "ivan" });
    // The claims from before the revocation are signed as well, and a server takes them.
    const connection = await connectTo(bus, "system");
    const system = await createSystemBus(connection);
    await system.pushClaims(readFileSync(join(bus.authDir, "masters.jwt"), "utf8").trim());
    await revocations.remove(ivan.key.publicKey, entry?.revision ?? 0);
    await until(async () => {
      const came = await connectAs(ivan, jwt).catch(() => undefined);
      await came?.nats.close();
      return came === undefined;
    });
    expect(await whoIs(ivan, false)).toMatchObject({ ok: false });
    system.stop();
    await connection.drain();
  });
});

test("the file of administrators is followed; a broken one leaves the last good one in force", async () => {
  const third = newOperator("third");
  const path = join(bus.authDir, "administrators");
  const before = readFileSync(path, "utf8");
  expect(await send(third, "whoAmI")).toMatchObject({ ok: false });
  writeFileSync(path, before + formatAdministrators([{ name: "third", publicKey: third.key.publicKey }]));
  await whoIs(third, true);
  writeFileSync(path, `${before}U123 nobody\n`);
  await until(() =>
    masters.every(({ records: log }) => log.some(({ event }) => event.includes("what was read before stays")))
      ? true
      : undefined,
  );
  expect(await whoIs(third, true)).toMatchObject({ ok: true });
  writeFileSync(path, before);
  await whoIs(third, false);
});

test("a join token of an operator who was disabled gives no labels any more", async () => {
  const [master] = masters;
  if (master === undefined) throw new Error("no master");
  const kim = newOperator("kim", ["admin"]);
  const first = recordOf(kim);
  expect(await send(root, "addOperator", { record: signedRecord(first, root) })).toMatchObject({ ok: true });
  // On each of them: one master may learn of it a moment before another one.
  const shows = (state: string) =>
    until(
      () => Promise.all(masters.map((one) => shownBy(one, kim))),
      (shown) => shown.every((operator) => operator?.state === state),
    );
  await shows("active");
  const create = async (who: TestOperator) => {
    const argv = ["enroll", "token", "create", "--uses", "5", "--label", "env=lab"];
    const running = startCli(bus, argv, { operatorFile: writeOperatorFile(bus, who) });
    expect(await running.exit).toBe(0);
    return parseJoinToken("test", running.stdout);
  };
  const [ofKim, ofRoot] = [await create(kim), await create(root)];
  const join = async ({ id, secret }: { id: string; secret: Uint8Array }) => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const proof = joinProof(secret, Buffer.from(nonce.challenge, "base64"), peel.publicKey);
    const token = { id, proof: Buffer.from(proof).toString("base64") };
    const { status, json } = await submit(master, { ...submission(peel, nonce), token });
    return [status, (json as { state: string }).state];
  };
  expect(await join(ofKim)).toEqual([201, "approved"]);
  const record = signedRecord({ ...first, version: 2, disabled: true }, root);
  expect(await send(root, "disableOperator", { name: "kim", record })).toMatchObject({ ok: true });
  await shows("disabled");
  expect(await join(ofKim)).toEqual([201, "pending"]);
  expect(await join(ofRoot)).toEqual([201, "approved"]);
});

test("over REST the same records are added, shown, changed and removed", async () => {
  const [master] = masters;
  if (master === undefined) throw new Error("no master");
  const rest = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${master.url}/api/v1/operators${path}`, {
      method,
      headers: { authorization: `Bearer ${testToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: { ca: master.ca },
    });
    return [response.status, (await response.json()) as Record<string, { name: string }[]>] as const;
  };
  const judy = newOperator("judy", ["viewer"]);
  const record = recordOf(judy);
  expect(await rest("POST", "", { record: signedRecord(record, root) })).toEqual([
    201,
    expect.objectContaining({ operator: expect.objectContaining({ name: "judy", state: "active" }) }),
  ]);
  expect(await rest("GET", "/judy")).toEqual([200, expect.objectContaining({ next_version: 2 })]);
  const [, list] = await rest("GET", "");
  expect(list.operators?.map(({ name }) => name)).toContain("judy");
  const next = (version: number, more: object = {}) => ({
    record: signedRecord({ ...record, version, ...more }, root),
  });
  expect((await rest("POST", "/judy/disable", next(2, { disabled: true })))[0]).toBe(200);
  expect((await rest("POST", "/judy/disable", next(3, { disabled: true })))[0]).toBe(409);
  expect((await rest("POST", "/judy/enable", next(3)))[0]).toBe(200);
  expect((await rest("POST", "/judy/roles", next(4, { roles: ["approver"] })))[0]).toBe(200);
  expect(await rest("DELETE", "/judy", {})).toMatchObject([400, { error: "record is required" }]);
  expect((await rest("DELETE", "/judy", next(5, { roles: ["approver"], disabled: true })))[0]).toBe(200);
  expect((await rest("POST", "/judy/disable", next(6, { disabled: true })))[0]).toBe(404);
});
