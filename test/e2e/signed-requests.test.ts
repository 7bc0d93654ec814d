import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { fromOperatorSubject } from "../../internal/base/names/operator-subject.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { readyzOfMasterSubject, readyzSubject } from "../../internal/bus/subjects/subjects.ts";
import { auditDoors } from "../../internal/fleet/audit/doors.ts";
import { enrollmentOperations } from "../../internal/fleet/enrollment/mod.ts";
import { jobOperations } from "../../internal/fleet/jobs/mod.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startCli } from "../harness/cli.ts";
import { joinedDoors } from "../harness/joined-doors.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster, testToken } from "../harness/master.ts";
import {
  newOperator,
  registryOf,
  requestAs,
  signedBy,
  type TestOperator,
  writeOperatorFile,
} from "../harness/operators.ts";
import { enrollPeel, submitPeel } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// Two masters that take signed requests only, and who holds admin.creds and no key of an operator.

setDefaultTimeout(60_000);

const ann = newOperator("ann");
const eve = newOperator("eve");
const config = { operators: { require_signed: true } };

let bus: TestBus;
let thief: Bus;
/** Publishes below the key of anyone, as a server of the bus could. */
let owner: Bus;
let masters: TestMaster[];
let peel: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  const operators = registryOf(ann, newOperator("bob"));
  masters = [await startMaster(bus, { config, operators }), await startMaster(bus, { config, operators })];
  thief = await connectTo(bus, "admin");
  owner = await connectTo(bus, "master");
  peel = await connectManualPeel(bus, await enrollPeel(first(), "web-1"));
});
afterAll(async () => {
  await peel?.[Symbol.asyncDispose]();
  await thief?.nats.close();
  await owner?.nats.close();
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const first = () => masters[0] as TestMaster;
/** Sends a request below the key in its envelope; without one, as the thief. */
const send = async (subject: string, request: Uint8Array) => {
  const { key = thief.user } = request.length === 0 ? {} : (Object(decode(request)) as { key?: string });
  return decode(await requestAs(owner, { key: { publicKey: key } }, subject, request)) as {
    ok: boolean;
    error?: { code: string; message: string };
    jid?: string;
  };
};
const refusal = (says: string) => ({
  ok: false,
  error: { code: "unauthorized", message: expect.stringContaining(says) },
});
const job = (fields: Record<string, unknown> = {}) =>
  encode({ target: "web-1", function: "test.ping", operator: "root", ...fields });
const request = jobOperations.createJob.bus.subject;

/** Every subject on which operators ask these masters. */
function everySubject(): string[] {
  const names = masters.map((master) => {
    const ready = master.records.find(({ event }) => event === "master ready");
    return String(ready?.fields?.master);
  });
  const bindings = joinedDoors.flatMap(({ bus: lines }) =>
    lines === undefined ? [] : names.map((name) => lines.subject.replace("{master}", name)),
  );
  const subjects = [...new Set(bindings), ...names.map(readyzSubject)];
  return subjects.map((subject) => subject.replace("*", "job-3MPFSICSuHM6n9ASVzK0s68GQu3"));
}

// First: the number of such entries in a minute is bounded, and the tests below send thousands.
test("a request of an unknown operator, one that is repeated and one without a signature are in the audit", async () => {
  const { subject: list } = auditDoors.listAudit.bus;
  const once = signedBy(ann, list, encode({}));
  expect(await send(list, once)).toMatchObject({ ok: true });
  expect(await send(list, once)).toMatchObject(refusal("it was taken before"));
  expect(await send(request, signedBy(eve, request, job()))).toMatchObject(refusal("does not exist"));
  expect(await send(request, job())).toMatchObject(refusal("takes signed requests only"));
  // The refusals did not wait for their entries.
  const entries = await until(
    async () =>
      Object(await send(list, signedBy(ann, list, encode({ outcome: "refused" })))).entries as object[],
    ({ length }) => length >= 3,
  );
  const about = { key: "", via: "bus", action: "jobs.create" };
  expect(entries).toHaveLength(3);
  expect(entries).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        ...{ ...about, operator: "root", reason: expect.stringContaining("takes signed requests only") },
        subjects: { unproven: true, user: thief.user },
      }),
      expect.objectContaining({
        ...{ ...about, operator: "eve", reason: expect.stringContaining("the operator eve does not exist") },
        subjects: { unproven: true, user: eve.key.publicKey, claimed_key: eve.key.publicKey },
      }),
      expect.objectContaining({
        ...{ ...about, action: "audit.list", operator: "ann" },
        reason: expect.stringContaining("it was taken before"),
        subjects: { unproven: true, user: ann.key.publicKey, claimed_key: ann.key.publicKey },
      }),
    ]),
  );
});

test("a request without a signature is refused on every subject", async () => {
  const subjects = everySubject();
  expect(subjects.length).toBeGreaterThan(40);
  for (const subject of subjects) {
    for (const unsigned of [encode({ operator: "ann" }), encode({}), new Uint8Array(), encode([1])]) {
      expect([subject, await send(subject, unsigned)]).toEqual([
        subject,
        refusal("takes signed requests only"),
      ]);
    }
  }
});

test("a request that is tampered with, late, early, misdirected or repeated is refused on every subject", async () => {
  const subjects = everySubject();
  const body = encode({});
  const changed = (subject: string, change: Record<string, unknown>) =>
    encode({ ...(decode(signedBy(ann, subject, body)) as object), ...change });
  for (const [index, subject] of subjects.entries()) {
    const other = subjects[(index + 1) % subjects.length] ?? "";
    const cases: [make: () => Uint8Array, says: string][] = [
      [() => changed(subject, { body: encode({ id: "enr-1" }) }), "it was changed on its way"],
      [() => changed(subject, { operator: "bob" }), "it was changed on its way"],
      [() => changed(subject, { nonce: new Uint8Array(16) }), "it was changed on its way"],
      [() => changed(subject, { signature: new Uint8Array(64) }), "it was changed on its way"],
      [() => signedBy(ann, subject, body, -90_000), "behind the clock"],
      [() => signedBy(ann, subject, body, 90_000), "ahead of the clock"],
      [() => signedBy(ann, other, body), "for another subject"],
      [() => signedBy({ ...ann, key: eve.key }, subject, body), "another key"],
      [() => signedBy(eve, subject, body), "the operator eve does not exist"],
    ];
    for (const [make, says] of cases) {
      // Both masters of the queue get some of them.
      for (let i = 0; i < 3; i++)
        expect([subject, await send(subject, make())]).toEqual([subject, refusal(says)]);
    }
    const once = signedBy(ann, subject, body);
    await send(subject, once);
    for (let i = 0; i < 4; i++) {
      expect([subject, await send(subject, once)]).toEqual([subject, refusal("it was taken before")]);
    }
  }
});

test("a signed request is taken, in the name of who signed it", async () => {
  const answer = await send(request, signedBy(ann, request, job()));
  expect(answer).toMatchObject({ ok: true });
  const { jid } = await peel.next("dispatch");
  expect(jid).toBe(String(answer.jid));
  await peel.answer(jid);
  const listed = (await send(
    jobOperations.listJobs.bus.subject,
    signedBy(ann, jobOperations.listJobs.bus.subject, encode({ operator: "root" })),
  )) as { jobs?: { jid: string; created_by: string }[] };
  expect(listed.jobs?.find((one) => one.jid === jid)?.created_by).toBe("ann");
});

describe("nothing happens for a request that is", () => {
  const approve = enrollmentOperations.approveEnrollment.bus.subject;
  const good = () => signedBy(ann, request, job());
  const changed = (change: Record<string, unknown>) => encode({ ...(decode(good()) as object), ...change });
  const cases: [why: string, make: () => Uint8Array, says: string][] = [
    ["tampered with", () => changed({ body: job({ function: "cmd.run" }) }), "it was changed on its way"],
    ["signed an hour ago", () => signedBy(ann, request, job(), -3_600_000), "1h behind the clock"],
    ["signed in the future", () => signedBy(ann, request, job(), 3_600_000), "1h ahead of the clock"],
    ["signed for another subject", () => signedBy(ann, approve, job()), "for another subject"],
    ["under the name of another one", () => changed({ operator: "bob" }), "it was changed on its way"],
    ["signed with another key", () => signedBy({ ...ann, key: eve.key }, request, job()), "another key"],
    ["of nobody who is registered", () => signedBy(eve, request, job()), "the operator eve does not exist"],
    ["cut short", () => changed({ signature: undefined }), "signature: "],
    ["of another version", () => changed({ v: 2 }), "v: "],
  ];
  test.each(cases)("%s", async (_, make, says) => {
    const before = peel.count("dispatch");
    for (let i = 0; i < 4; i++) expect(await send(request, make())).toEqual(refusal(says));
    await peel.connection.nats.flush();
    expect(peel.count("dispatch")).toBe(before);
  });

  test("repeated, whichever master gets it", async () => {
    const once = good();
    expect(await send(request, once)).toMatchObject({ ok: true });
    await peel.answer((await peel.next("dispatch")).jid);
    const before = peel.count("dispatch");
    for (let i = 0; i < 20; i++) expect(await send(request, once)).toEqual(refusal("it was taken before"));
    expect(peel.count("dispatch")).toBe(before);
  });

  test("repeated at the same moment", async () => {
    const once = good();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(request, once)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    await peel.answer((await peel.next("dispatch")).jid);
  });
});

describe("who sent it", () => {
  const good = () => signedBy(ann, request, job());

  test("a request of ann below the key of the thief is refused, and the thief cannot publish below that of ann", async () => {
    const asThief = { key: { publicKey: thief.user } };
    expect(decode(await requestAs(owner, asThief, request, good()))).toEqual(
      refusal("it is signed with another key than the bus user who sent it has"),
    );
    await expect(requestAs(thief, ann, request, good())).rejects.toThrow("Permissions Violation");
  });

  test("nobody listens where the bus does not say who sent it", async () => {
    for (const subject of everySubject()) {
      await expect(owner.nats.request(subject, signedBy(ann, subject, encode({})))).rejects.toThrow("503");
    }
  });

  const key = ann.key.publicKey;
  const foreign = [
    `_INBOX.${eve.key.publicKey}.x`,
    `_INBOX.${key}x.y`,
    "_INBOX.x.y",
    "_INBOX",
    "_R_.x",
    "$KV.settings.web-1",
    "$JS.API.STREAM.DELETE.KV_settings",
    "svc.job.job-1.dispatch.web-1",
    "svc.job.job-1.return.web-1",
    "svc.master.known-keys",
  ];
  test.each(foreign)("a reply to %s is not sent, and the request does not count", async (reply) => {
    const received: string[] = [];
    const listening = owner.nats.subscribe(reply, {
      callback: (_, { subject }) => void received.push(subject),
    });
    const sent = good();
    const published = fromOperatorSubject(key, request);
    const before = peel.count("dispatch");
    // Each master of the queue gets some of them.
    for (let at = 0; at < 8; at++) owner.nats.publish(published, sent, { reply });
    expect(
      await send(
        jobOperations.listJobs.bus.subject,
        signedBy(ann, jobOperations.listJobs.bus.subject, encode({})),
      ),
    ).toMatchObject({
      ok: true,
    });
    expect(await send(request, sent)).toMatchObject({ ok: true });
    await peel.answer((await peel.next("dispatch")).jid);
    expect(peel.count("dispatch")).toBe(before + 1);
    expect(received).toEqual([]);
    listening.unsubscribe();
  });

  test("a request without an envelope is not answered in the inbox of another key", async () => {
    const received: Uint8Array[] = [];
    const reply = `_INBOX.${key}.x`;
    const listening = owner.nats.subscribe(reply, { callback: (_, { data }) => void received.push(data) });
    await owner.nats.flush();
    for (let at = 0; at < 8; at++) {
      thief.nats.publish(fromOperatorSubject(thief.user, request), job(), { reply });
    }
    expect(await send(request, job())).toEqual(refusal("takes signed requests only"));
    expect(received).toEqual([]);
    listening.unsubscribe();
  });
});

describe("svc", () => {
  test("signs with the key of the operator file", async () => {
    const operatorFile = writeOperatorFile(bus, ann);
    const waiting = await submitPeel(first(), "new-1");
    for (const argv of [
      ["enroll", "approve", waiting.enrollmentId],
      ["job", "list"],
      ["rollout", "list"],
      ["run", "web-1", "test.ping", "--preview"],
      ["status"],
    ]) {
      const running = startCli(bus, argv, { operatorFile });
      const exit = await running.exit;
      expect({ argv, exit, stderr: exit === 0 ? "" : running.stderr }).toEqual({ argv, exit: 0, stderr: "" });
    }
    const run = startCli(bus, ["run", "web-1", "test.ping", "--async"], { operatorFile });
    expect(await run.exit).toBe(0);
    await peel.answer((await peel.next("dispatch")).jid);
  });

  test("without one is refused in one line that says who can help", async () => {
    const running = startCli(bus, ["run", "web-1", "test.ping"]);
    expect(await running.exit).toBe(1);
    expect(running.stderr).toMatch(
      /^svc: the request of "[^"]+" is not signed, and this fleet takes signed requests only: install your operator file with svc login FILE; an operator with role admin makes one with svc operator add \[request [0-9a-f-]+\]\n$/,
    );
  });
});

test("REST goes on as before", async () => {
  const answer = await fetch(`${first().url}/api/v1/jobs`, {
    headers: { Authorization: `Bearer ${testToken}` },
    tls: { ca: first().ca },
  });
  expect(answer.status).toBe(200);
});

test("masters ask each other how they are without a signature, where no operator may ask", async () => {
  const answer = await fetch(`${first().url}/api/v1/masters`, {
    headers: { Authorization: `Bearer ${testToken}` },
    tls: { ca: first().ca },
  });
  const { masters: found } = (await answer.json()) as { masters: { name: string; readiness: string }[] };
  expect(found.map(({ readiness }) => readiness)).toEqual(["up", "up"]);
  for (const { name } of found) {
    await expect(thief.nats.request(readyzOfMasterSubject(name))).rejects.toThrow("Permissions Violation");
  }
});

test("a master that does not insist takes unsigned requests, and no wrong envelope", async () => {
  await using other = await startBus();
  await using master = await startMaster(other, { operators: registryOf(ann) });
  const operator = await connectTo(other, "admin");
  await enrollPeel(master, "web-1");
  const query = async (bytes: Uint8Array) =>
    decode((await operator.nats.request(request, bytes, { timeout: 30_000 })).data);
  expect(await query(job())).toMatchObject({ ok: true });
  const signed = async (who: TestOperator) => {
    const options = { timeout: 30_000, noMux: true, reply: `_INBOX.${who.key.publicKey}.x` };
    return decode((await operator.nats.request(request, signedBy(who, request, job()), options)).data);
  };
  expect(await signed(ann)).toMatchObject({ ok: true });
  expect(await signed(eve)).toEqual(refusal("the operator eve does not exist"));
  expect(await query(encode({ ...(decode(job()) as object), nonce: 1 }))).toEqual(refusal("malformed"));
  // Below its own key, which the bus vouches for, it may ask the same.
  const { data } = await operator.nats.request(fromOperatorSubject(operator.user, request), job());
  expect(decode(data)).toMatchObject({ ok: true });
  await operator.nats.close();
});

test("a master without any operator says so", async () => {
  await using other = await startBus();
  await using _ = await startMaster(other);
  const operator = await connectTo(other, "master");
  const reply = await requestAs(operator, ann, request, signedBy(ann, request, job()));
  expect(decode(reply)).toEqual(refusal("the operator ann does not exist"));
  await operator.nats.close();
});
