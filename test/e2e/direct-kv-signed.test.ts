import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { type Bucket, openBucket } from "../../internal/bus/storage/bucket.ts";
import { auditOperations } from "../../internal/fleet/audit/mod.ts";
import { enrollmentOperations } from "../../internal/fleet/enrollment/mod.ts";
import {
  decodeRecord,
  type Enrollment,
  encodeRecord,
} from "../../internal/fleet/enrollment/record/record.ts";
import { transition } from "../../internal/fleet/enrollment/record/transition.ts";
import { signingVouchers } from "../../internal/fleet/enrollment/store/direct-signature.ts";
import { operatorOperations } from "../../internal/fleet/operators/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import {
  newOperator,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { submitPeel } from "../harness/peel-connection.ts";
import { listAdministrators, recordOf, signedRecord } from "../harness/registered.ts";
import { until } from "../harness/until.ts";

// Decisions that operators write to storage without a master, where masters take signed requests only; and what who
// has direct.creds, and no key of an operator with role admin, writes there.

setDefaultTimeout(60_000);

const root = newOperator("root");
const anna = newOperator("anna", ["admin"]);
const vera = newOperator("vera", ["operator", "approver"]);
const fred = newOperator("fred", ["admin"]);
const gina = newOperator("gina", ["admin"]);
/** Has the name of another operator. */
const double = newOperator("anna", ["admin"]);
const eve = newOperator("eve", ["admin"]);
const config = { operators: { require_signed: true } };

let bus: TestBus;
let masters: TestMaster[];
let owner: Bus;
let thief: Bus;
let enrollments: Bucket;

async function send(
  who: TestOperator,
  { bus: { subject } }: { bus: { subject: string } },
  fields: Record<string, Plain> = {},
  over = owner,
) {
  const request = signedBy(who, subject, encode(fields));
  return decode(await requestAs(over, who, subject, request)) as Record<string, Plain>;
}

beforeAll(async () => {
  bus = await startBus();
  listAdministrators(bus.authDir, root);
  masters = [await startMaster(bus, { config }), await startMaster(bus, { config })];
  owner = await connectTo(bus, "master");
  thief = await connectTo(bus, "direct");
  enrollments = await openBucket(thief, "enrollments");
  for (const who of [anna, vera, fred, gina]) {
    const record = recordOf(who);
    const added = { record: signedRecord(record, root) };
    expect(await send(root, operatorOperations.addOperator, added)).toMatchObject({ ok: true });
    if (who !== fred && who !== gina) continue;
    const { disableOperator, removeOperator } = operatorOperations;
    const disabled = signedRecord({ ...record, version: 2, disabled: true }, root);
    expect(
      await send(root, who === fred ? disableOperator : removeOperator, { name: who.name, record: disabled }),
    ).toMatchObject({ ok: true });
  }
});
afterAll(async () => {
  await thief?.nats.close();
  await owner?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const first = () => masters[0] as TestMaster;
const submit = async (name: string) => (await submitPeel(first(), name)).enrollmentId;
async function stored(id: string): Promise<Enrollment> {
  return decodeRecord((await enrollments.get(id))?.value ?? new Uint8Array());
}
const direct = async (who: TestOperator | undefined, ...argv: string[]) => {
  const operatorFile = who === undefined ? {} : { operatorFile: writeOperatorFile(bus, who) };
  const running = startCli(bus, ["enroll", ...argv, "--direct-kv"], operatorFile);
  return { exit: await running.exit, stderr: running.stderr };
};
/** What a list says of an enrollment. */
async function listed(id: string, over = owner): Promise<{ state: Plain; trust: Plain } | undefined> {
  const answer = await send(root, enrollmentOperations.listEnrollments, { state: "all" }, over);
  const all = answer.enrollments as { id: string; state: string; trust: string }[];
  const found = all.find((one) => one.id === id);
  return found === undefined ? undefined : { state: found.state, trust: found.trust };
}
/** Waits until a master has taken a decision over. */
async function takenOver(id: string, state: string): Promise<Enrollment> {
  await until(async () => {
    const found = await listed(id);
    return found?.state === state && found.trust === "-";
  });
  return stored(id);
}
async function entriesOf(id: string) {
  const { entries } = await send(root, auditOperations.listAudit, { action: "enrollments.*" });
  return (entries as unknown as { subjects: { enrollment?: string }; via: string; outcome: string }[]).filter(
    ({ subjects, via }) => subjects.enrollment === id && via === "direct",
  );
}

test.each([
  ["an administrator of the file", root],
  ["a registered operator with role admin", anna],
])("%s signs, and masters take it over and record it", async (_, who) => {
  const id = await submit(`of-${who.name}`);
  expect(await direct(who, "approve", id)).toMatchObject({ exit: 0 });
  const record = await takenOver(id, "approved");
  expect(record).toMatchObject({ direct: true, decidedBy: who.name });
  expect(record.directSignature).toMatchObject({ operator: who.name, key: who.key.publicKey });
  const entries = await until(
    () => entriesOf(id),
    (found) => found.some(({ outcome }) => outcome === "done"),
  );
  // Of two masters one takes it over.
  expect(entries.filter(({ outcome }) => outcome === "done")).toMatchObject([
    {
      ...{ action: "enrollments.approve", operator: who.name, key: who.key.publicKey },
      subjects: { enrollment: id, peel: `of-${who.name}`, begun: expect.any(Number) },
    },
  ]);
  expect(await direct(who, "revoke", id, "--reason", "sold")).toMatchObject({ exit: 0 });
  expect(await takenOver(id, "revoked")).toMatchObject({ revokeReason: "sold" });
});

test("without an operator file svc says that it is not signed, and masters do not take it over", async () => {
  const id = await submit("unsigned");
  const { exit, stderr } = await direct(undefined, "approve", id);
  expect(exit).toBe(0);
  expect(stderr).toContain("not signed: masters with operators.require_signed take over only what");
  expect(await listed(id)).toEqual({ state: "approved", trust: "TAMPERED" });
  expect(await entriesOf(id)).toEqual([]);
  expect(await send(root, enrollmentOperations.restoreEnrollment, { id })).toMatchObject({ ok: true });
  expect(await listed(id)).toEqual({ state: "pending", trust: "-" });
});

test.each([
  ["without role admin", vera, "vera has the roles "],
  ["who is disabled", fred, "fred is disabled"],
  ["who was removed", gina, "gina was removed"],
  ["whose name has another key", double, "anna has another key now"],
])("svc writes nothing for an operator %s", async (_, who, why) => {
  const id = await submit(`not-of-${who.key.publicKey.slice(1, 9).toLowerCase()}`);
  const before = await enrollments.get(id);
  const { exit, stderr } = await direct(who, "approve", id);
  expect(exit).toBe(1);
  expect(stderr).toContain(`${why}`);
  expect(stderr).toContain(
    "masters take over only what an operator with role admin signed: nothing was written",
  );
  expect(await enrollments.get(id)).toEqual(before);
  expect(await listed(id)).toEqual({ state: "pending", trust: "-" });
});

describe("masters do not take over", () => {
  const approved = (record: Enrollment, by: string) =>
    transition(record, { type: "approve", operator: by, force: true }, systemClock.now());
  const signed = (record: Enrollment, by: TestOperator, name = by.name) =>
    signingVouchers({ name, key: by.key }).mark(approved(record, name));
  const cases: [what: string, make: (record: Enrollment) => Enrollment | Promise<Enrollment>][] = [
    ["what an operator without role admin signed", (record) => signed(record, vera)],
    ["what a disabled operator signed", (record) => signed(record, fred)],
    ["what nobody who is registered signed", (record) => signed(record, eve)],
    ["the name of an administrator with another key", (record) => signed(record, eve, "root")],
    [
      "a key that is named, and did not sign",
      (record) => {
        const made = signed(record, eve, "root");
        const { signature = new Uint8Array() } = made.directSignature ?? {};
        return { ...made, directSignature: { operator: "root", key: root.key.publicKey, signature } };
      },
    ],
    [
      "a signature over another record",
      async (record) => {
        const other = await stored(await submit(`other-${record.peelId}`));
        const { directSignature } = signed(other, root);
        return { ...signed(record, root), ...(directSignature === undefined ? {} : { directSignature }) };
      },
    ],
    ["another name as the decider", (record) => ({ ...signed(record, root), decidedBy: "anna" })],
    ["another key of the peel", (record) => ({ ...signed(record, root), publicKey: eve.key.publicKey })],
    [
      "a signed change that is no decision",
      (record) =>
        signingVouchers({ name: "root", key: root.key }).mark({
          ...approved(record, "root"),
          state: "active",
        }),
    ],
  ];
  test.each(cases)("%s", async (what, make) => {
    const id = await submit(`hostile-${cases.findIndex(([name]) => name === what)}`);
    const forged = await make(await stored(id));
    await enrollments.put(id, encodeRecord(forged));
    expect((await listed(id))?.trust).toBe("TAMPERED");
    // A genuine one afterwards is after it on every master.
    const next = await submit(`after-${id.slice(-8).toLowerCase()}`);
    expect(await direct(root, "approve", next)).toMatchObject({ exit: 0 });
    await takenOver(next, "approved");
    expect((await listed(id))?.trust).toBe("TAMPERED");
    expect(await entriesOf(id)).toEqual([]);
  });
});

test("what was signed while no master ran counts when one starts", async () => {
  await using fresh = await startBus();
  listAdministrators(fresh.authDir, root);
  const ids: string[] = [];
  {
    await using before = await startMaster(fresh, { config });
    for (const name of ["aa", "bb"]) ids.push((await submitPeel(before, name)).enrollmentId);
  }
  const [a = "", b = ""] = ids;
  const operatorFile = writeOperatorFile(fresh, root);
  expect(await startCli(fresh, ["enroll", "approve", a, "--direct-kv"], { operatorFile }).exit).toBe(0);
  expect(await startCli(fresh, ["enroll", "revoke", a, "--direct-kv"], { operatorFile }).exit).toBe(0);
  expect(await startCli(fresh, ["enroll", "approve", b, "--direct-kv"]).exit).toBe(0);
  await using _ = await startMaster(fresh, { config });
  const connection = await connectTo(fresh, "master");
  expect(await listed(a, connection)).toEqual({ state: "revoked", trust: "-" });
  expect(await listed(b, connection)).toEqual({ state: "approved", trust: "TAMPERED" });
  await connection.nats.close();
});
