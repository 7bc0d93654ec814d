import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { createRecordMac, newKeyPair } from "../../identity/mod.ts";
import { signRequest } from "../../wire/signed-request.ts";
import {
  type Agreement,
  type Call,
  invoke,
  type OperatorCaller,
  operation,
  type Passenger,
} from "../operation/mod.ts";
import { createApprovals } from "./approvals.ts";
import type { ApprovalsDeps } from "./change.ts";
import { partyOf } from "./party.ts";
import { type Party, stateOf } from "./record.ts";
import { createStarters } from "./starters.ts";
import { followApprovals } from "./view.ts";

const ttlMs = 24 * 3_600_000;
const signer = newKeyPair("account", systemRandom);

/** One bucket, and as many masters as a test wants. */
function fleet() {
  const clock = manualClock();
  const bucket = memoryBucket();
  const gone = new Set<string>();
  const unable = new Set<string>();
  const persons = new Map<string, string>();
  const ran: { input: unknown; caller: string; id: string | undefined; by: readonly string[] }[] = [];
  const signed: Agreement["signed"][] = [];
  const failures: Error[] = [];
  const deploy = operation({
    name: "jobs.create",
    kind: "change",
    summary: "Run",
    admits: ["operator"],
    scope: { kind: "jobs", action: "run" },
    input: v.strictObject({ function: v.string() }),
    output: v.object({ jid: v.string() }),
    touches: () => ({ peels: { expression: "web-*" } }),
    async run(_: object, input, { caller, agreement }: Call) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const id = agreement?.idFor("job");
      signed.push(agreement?.signed);
      ran.push({ input, caller: (caller as OperatorCaller).name, id, by: agreement?.by ?? [] });
      return { jid: id ?? "" };
    },
  });
  const master = (over: Partial<ApprovalsDeps> = {}) => {
    const starters = createStarters();
    starters.add(deploy, (fields, call) => invoke(deploy, {}, { fields }, call));
    const [mac, log] = [createRecordMac(signer), recordingLog()];
    const view = followApprovals({ bucket, mac, clock, log });
    return createApprovals({
      ...{ bucket, view, mac, starters, ttlMs, clock, log },
      random: systemRandom,
      gate: { enter: async () => async () => {} },
      roleGate: {
        judge: async (roles) =>
          roles?.some((role) => unable.has(role))
            ? { allowed: false, reason: "no rule of it allows it", lacking: "jobs run", holders: [] }
            : { allowed: true, rule: "deployer", approvals: 1 },
      },
      administrators: () => ["root"],
      persons: () => persons,
      creatorOf: (token) => (token === "tok-file" ? "file" : "registered"),
      rolesNow: ({ person, roles }) => (gone.has(person) ? { refused: "is disabled" } : { roles }),
      ...over,
    });
  };
  const caller = (name: string): OperatorCaller => ({
    ...{ kind: "operator", name, door: "console", roles: [name], bearer: { kind: "operator" } },
  });
  const party = (name: string): Party => partyOf(caller(name), clock.now());
  const passenger = (from: OperatorCaller): Passenger => ({
    ...{ operation: "jobs.create", kind: "change", scope: deploy.scope as Passenger["scope"] },
    ...{ input: { function: "state.apply" }, touched: { peels: { expression: "web-*" } }, caller: from },
  });
  const park = async (needs = 1, from = caller("ann")) =>
    (await master().park(passenger(from), { needs, rule: "deployer", peels: ["web-1"] })).approval;
  return {
    clock,
    bucket,
    gone,
    unable,
    persons,
    ran,
    signed,
    failures,
    master,
    caller,
    party,
    passenger,
    park,
  };
}

test("the last agreement starts a request, once, in the name of the requester, and names the approvers", async () => {
  const one = fleet();
  const id = await one.park(2);
  const [first, second] = [one.master(), one.master()];
  expect((await first.approve(id, one.party("ben"))).state).toBe("waiting");
  expect(one.ran).toEqual([]);
  const started = await second.approve(id, one.party("cho"));
  expect(started).toMatchObject({ state: "started", outcome: "done" });
  expect(one.ran).toEqual([
    {
      input: { function: "state.apply" },
      caller: "ann",
      id: expect.stringMatching(/^job-/),
      by: ["ben", "cho"],
    },
  ]);
  await expect(first.approve(id, one.party("dan"))).rejects.toThrow("was started");
});

describe("two persons are two entries of persons", () => {
  const idp = "https://idp.example.com";
  const showing = (name: string, bearer: OperatorCaller["bearer"]): OperatorCaller => ({
    ...{ kind: "operator", name, door: "rest", roles: [name] },
    ...(bearer === undefined ? {} : { bearer }),
  });
  const annAs = {
    key: { kind: "operator", name: "ann", door: "bus", roles: ["ann"], key: "Uann" },
    console: showing("ann", { kind: "operator" }),
    "a token of the configuration": showing("ann-ci", { kind: "file" }),
    "a person of a provider": showing("a@idp", { kind: "oidc", issuer: idp, subject: "1" }),
    "her own token": showing("token:x", { kind: "token", id: "tok-1", creator: "ann" }),
    "a token of her token": showing("token:y", { kind: "token", id: "tok-file", creator: "ann-ci" }),
  } satisfies Record<string, OperatorCaller>;
  const entries = [
    ["operator:ann", "ann"],
    ["token:ann-ci", "ann"],
    [`oidc:${idp}#1`, "ann"],
    ["operator:ben", "ben"],
    [`oidc:${idp}#2`, "ben"],
  ] as const;

  test.each(Object.entries(annAs))("%s is ann, the requester", async (_, caller) => {
    const one = fleet();
    for (const [identity, person] of entries) one.persons.set(identity, person);
    for (const [asker, agrees] of [
      [annAs.key, caller],
      [caller, annAs.key],
    ] as const) {
      const id = await one.park(1, asker);
      const own = one.master().approve(id, partyOf(agrees, 0));
      await expect(own).rejects.toThrow("ann asked for this, and another operator must agree");
    }
    // Control: another person, by each of theirs.
    const id = await one.park(1, caller);
    const ben = showing("renamed@idp", { kind: "oidc", issuer: idp, subject: "2" });
    expect((await one.master().approve(id, partyOf(ben, 0))).state).toBe("started");
  });

  test("one who agreed agrees a second time under no other identity", async () => {
    const one = fleet();
    for (const [identity, person] of entries) one.persons.set(identity, person);
    const id = await one.park(2, one.caller("cho"));
    await one.master().approve(id, partyOf(annAs.key, 0));
    await expect(one.master().approve(id, partyOf(annAs["a person of a provider"], 0))).rejects.toThrow(
      "ann agreed already",
    );
  });

  test("an identity in no entry may ask, and never agrees", async () => {
    const one = fleet();
    for (const [identity, person] of entries) one.persons.set(identity, person);
    const stranger = showing("c@idp", { kind: "oidc", issuer: idp, subject: "3" });
    const id = await one.park(1, stranger);
    for (const unknown of [stranger, one.caller("cho"), showing("ci", { kind: "file" })]) {
      await expect(one.master().approve(await one.park(), partyOf(unknown, 0))).rejects.toThrow(
        "is in no entry of persons in the roles file",
      );
    }
    expect((await one.master().approve(id, partyOf(annAs.key, 0))).state).toBe("started");
  });

  test("without entries only keys of operators are known to be different persons", async () => {
    const one = fleet();
    for (const unknown of [
      annAs["a token of the configuration"],
      annAs["a person of a provider"],
      annAs["a token of her token"],
    ]) {
      const id = await one.park(1, one.caller("cho"));
      await expect(one.master().approve(id, partyOf(unknown, 0))).rejects.toThrow(
        "has no key of an operator",
      );
      expect((await one.master().approve(id, partyOf(annAs["her own token"], 0))).state).toBe("started");
      const requested = await one.park(1, unknown);
      expect((await one.master().approve(requested, partyOf(annAs.console, 0))).state).toBe("started");
    }
  });

  test("an agreement that an earlier master stored without an identity counts", async () => {
    const one = fleet();
    const id = await one.park(2, one.caller("cho"));
    const { identity: _, ...earlier } = partyOf(annAs.key, 0);
    expect((await one.master().approve(id, earlier)).state).toBe("waiting");
    expect((await one.master().approve(id, one.party("ben"))).state).toBe("started");
  });

  test("two who turn out to be one person do not suffice", async () => {
    const one = fleet();
    const id = await one.park(2, one.caller("cho"));
    await one.master().approve(id, one.party("ann"));
    for (const [identity, person] of [
      ["operator:ann", "ann"],
      ["operator:anna", "ann"],
      ["operator:ben", "ben"],
      ["operator:cho", "cho"],
    ] as const) {
      one.persons.set(identity, person);
    }
    await expect(one.master().approve(id, one.party("anna"))).rejects.toThrow("ann agreed already");
    expect((await one.master().approve(id, one.party("ben"))).state).toBe("started");
  });
});

test("two masters with the last agreement at the same time start it once", async () => {
  for (let round = 0; round < 20; round++) {
    const one = fleet();
    const id = await one.park();
    const both = ["ben", "cho"].map((name) => one.master().approve(id, one.party(name)));
    const ended = await Promise.allSettled(both);
    expect(ended.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(one.ran).toHaveLength(1);
    expect((await one.master().find(id)).outcome).toBe("done");
  }
});

test("the requester cannot agree, not even with a token or the same key; no one agrees twice", async () => {
  const one = fleet();
  const id = await one.park(2);
  const token = { kind: "token", id: "tok-1", creator: "ann" } as const;
  const throughToken = partyOf({ ...one.caller("token:ci"), bearer: token }, 0);
  for (const own of [one.party("ann"), throughToken]) {
    await expect(one.master().approve(id, own)).rejects.toThrow("another operator must agree");
  }
  await one.master().approve(id, one.party("ben"));
  await expect(one.master().approve(id, one.party("ben"))).rejects.toThrow("ben agreed already");
  // The token asks, and its creator agrees.
  const requested = await one.park(1, { ...one.caller("token:ci"), bearer: token });
  await expect(one.master().approve(requested, one.party("ann"))).rejects.toThrow(
    "another operator must agree",
  );
  const keyed = await one.park(1, { ...one.caller("eve"), key: "UEVE" });
  const renamed = { ...one.party("mallory"), key: "UEVE" };
  await expect(one.master().approve(keyed, renamed)).rejects.toThrow("another operator must agree");
  // A name alone proves nothing.
  expect(() => partyOf({ kind: "operator", name: "ben", door: "bus" }, 0)).toThrow("svc login FILE");
  expect(one.ran).toEqual([]);
});

test("an operator without the right cannot agree, and an agreement ends with the role", async () => {
  const one = fleet();
  const id = await one.park(2);
  one.unable.add("eve");
  await expect(one.master().approve(id, one.party("eve"))).rejects.toMatchObject({ kind: "forbidden" });
  await one.master().approve(id, one.party("ben"));
  one.gone.add("ben");
  expect((await one.master().approve(id, one.party("cho"))).state).toBe("waiting");
  expect(one.ran).toEqual([]);
  expect((await one.master().approve(id, one.party("dan"))).state).toBe("started");
  expect(one.ran[0]?.by).toEqual(["cho", "dan"]);
});

test("an operator who was removed meanwhile starts nothing", async () => {
  const one = fleet();
  const id = await one.park();
  one.gone.add("ann");
  const ended = await one.master().approve(id, one.party("ben"));
  expect(ended).toMatchObject({
    state: "started",
    outcome: "failed",
    reason: expect.stringContaining("is disabled"),
  });
  expect(one.ran).toEqual([]);
});

test("what was denied, or waited too long, starts no more", async () => {
  const one = fleet();
  const denied = await one.park();
  expect((await one.master().deny(denied, one.party("ann"))).state).toBe("denied");
  await expect(one.master().approve(denied, one.party("ben"))).rejects.toThrow("was denied by ann");
  const late = await one.park();
  one.clock.advance(ttlMs);
  expect(stateOf(await one.master().find(late), one.clock.now())).toBe("expired");
  await expect(one.master().approve(late, one.party("ben"))).rejects.toThrow("expired at");
  await expect(one.master().deny(late, one.party("ben"))).rejects.toMatchObject({ kind: "conflict" });
  expect(one.ran).toEqual([]);
});

test("why a request was denied is stored, bounded and well-formed, and a record without it has no field for it", async () => {
  const one = fleet();
  const ids = [await one.park(), await one.park(), await one.park()] as const;
  const reasons = ["  not now \ud83d ", "x".repeat(600), "   "];
  for (const [at, id] of ids.entries()) await one.master().deny(id, one.party("ben"), reasons[at]);
  const found = await Promise.all(ids.map((id) => one.master().find(id)));
  expect(found.map(({ reason }) => reason)).toEqual(["not now \ufffd", "x".repeat(500), undefined]);
  await expect(one.master().approve(ids[0], one.party("cho"))).rejects.toThrow(
    "denied by ben: not now \ufffd",
  );
  const { value } = (await one.bucket.get(ids[2])) ?? { value: new Uint8Array() };
  expect(Object.keys(decode(value) as object).toSorted()).toEqual(
    [
      ...["agreed", "asker", "denied_by", "expires_at", "id", "input", "needs", "operation"],
      ...["rule", "state", "targets", "v", "voucher"],
    ].toSorted(),
  );
});

test("a master that is killed before it starts is followed by another one, with the same job", async () => {
  const one = fleet();
  const id = await one.park();
  // Before it, and between the job and the record that it was done.
  one.failures.push(new SvcError("unavailable", "killed"));
  expect((await one.master().approve(id, one.party("ben"))).outcome).toBeUndefined();
  await one.master().sweep();
  expect(one.ran).toEqual([]);
  one.clock.advance(15_000);
  let writes = 0;
  one.bucket.beforeWrite = () => {
    if (++writes === 2) throw new SvcError("storage", "killed again");
  };
  await one
    .master()
    .sweep()
    .catch(() => {});
  one.bucket.beforeWrite = () => {};
  one.clock.advance(15_000);
  await Promise.all([
    one.master().sweep(),
    one
      .master()
      .sweep()
      .catch(() => {}),
  ]);
  expect(new Set(one.ran.map(({ id: job }) => job)).size).toBe(1);
  expect(one.ran).toHaveLength(2);
  expect((await one.master().find(id)).outcome).toBe("done");
  one.clock.advance(60_000);
  await one.master().sweep();
  expect(one.ran).toHaveLength(2);
});

test("a record that no master made does not count, whatever was changed in it", async () => {
  const one = fleet();
  const id = await one.park(2);
  await one.master().approve(id, one.party("ben"));
  const { value } = (await one.bucket.get(id)) ?? { value: new Uint8Array() };
  const whole = decode(value) as Record<string, Plain>;
  const changes: Record<string, Plain> = {
    ...{ needs: 1, state: "denied", operation: "operators.remove", input: { function: "cmd.run" } },
    ...{ rule: "", expires_at: "2099-01-01T00:00:00.000Z", targets: ["web-2"], agreed: [] },
    asker: { ...(whole.asker as Record<string, Plain>), name: "eve" },
    voucher: new Uint8Array(32),
  };
  for (const [name, changed] of Object.entries(changes)) {
    await one.bucket.put(id, encode({ ...whole, [name]: changed }));
    await expect(one.master().approve(id, one.party("cho"))).rejects.toMatchObject({ kind: "not_found" });
    expect(await one.master().list()).toEqual([]);
  }
  // Under the id of another request.
  const other = await one.park();
  await one.bucket.put(other, value);
  await expect(one.master().find(other)).rejects.toMatchObject({ kind: "not_found" });
  expect(one.ran).toEqual([]);
});

test("a stored signature that is not of what was asked starts nothing", async () => {
  const one = fleet();
  const key = newKeyPair("user", systemRandom);
  const request = { operator: "ann", body: encode({}), sentAt: one.clock.now(), nonce: systemRandom(16) };
  const envelope = signRequest("svc.job.request", request, key);
  for (const [subject, outcome] of [
    ["svc.job.request", "done"],
    ["svc.admin.operator.add", "failed"],
  ] as const) {
    const from = { ...one.caller("ann"), key: key.publicKey, signed: { envelope, subject } };
    const id = await one.park(1, from);
    expect((await one.master().approve(id, one.party("ben"))).outcome).toBe(outcome);
  }
  expect(one.ran).toHaveLength(1);
});

test("an earlier record that someone puts back starts nothing else, and nothing after the request has expired", async () => {
  const one = fleet();
  const id = await one.park();
  await one.master().approve(id, one.party("ben"));
  const cutOff = (await one.bucket.history(id)).find(({ value }) => {
    const { state, outcome } = decode(value) as Record<string, Plain>;
    return state === "started" && outcome === undefined;
  });
  const putBack = async () => {
    await one.bucket.put(id, cutOff?.value ?? new Uint8Array());
    one.clock.advance(20_000);
    await one.master().sweep();
  };
  await putBack();
  expect(new Set(one.ran.map(({ id: job }) => job)).size).toBe(1);
  const before = one.ran.length;
  one.clock.advance(ttlMs);
  await putBack();
  expect(one.ran).toHaveLength(before);
  expect(await one.master().find(id)).toMatchObject({
    outcome: "failed",
    reason: expect.stringContaining("expired"),
  });
});

test("an agreement names the request that was seen, and goes to the peels as it was signed", async () => {
  const one = fleet();
  const key = newKeyPair("user", systemRandom);
  const sign = (subject: string, operator: string) => {
    const request = { operator, body: encode({}), sentAt: one.clock.now(), nonce: systemRandom(16) };
    return { envelope: signRequest(subject, request, key), subject };
  };
  const requested = sign("svc.job.request", "ann");
  const id = await one.park(1, { ...one.caller("ann"), key: key.publicKey, signed: requested });
  const agreed = sign("svc.admin.approval.approve", "ben");
  const ben = partyOf({ ...one.caller("ben"), signed: agreed }, one.clock.now());
  for (const wrong of [sha256(agreed.envelope), new Uint8Array(32), new Uint8Array()]) {
    await expect(one.master().approve(id, ben, { digest: wrong })).rejects.toThrow(
      "is another request than the one",
    );
  }
  expect((await one.master().approve(id, ben, { digest: sha256(requested.envelope) })).outcome).toBe("done");
  expect(one.signed).toEqual([[{ operator: "ben", envelope: agreed.envelope }]]);
  // One that nobody signed has none, and an agreement over REST has no signature.
  const bare = await one.park();
  await expect(one.master().approve(bare, ben, { digest: sha256(requested.envelope) })).rejects.toThrow(
    "another request",
  );
  await one.master().approve(bare, one.party("cho"));
  expect(one.signed[1]).toEqual([]);
});

test("of requests that were signed together the one alone is agreed to that was seen", async () => {
  const one = fleet();
  const key = newKeyPair("user", systemRandom);
  const request = { operator: "ann", body: encode({}), sentAt: one.clock.now(), nonce: systemRandom(16) };
  const signed = { envelope: signRequest("svc.job.request", request, key), subject: "svc.job.request" };
  const digest = sha256(signed.envelope);
  const ann = { ...one.caller("ann"), key: key.publicKey, signed };
  const waiting = { ...one.passenger(ann), input: { id: "enr-2", function: "state.apply" } };
  const parked = await one.master().park(waiting, { needs: 2, rule: "deployer" });
  // A master showed enr-1, and the approver agrees to it under the id of the request about enr-2.
  for (const signedId of ["enr-1", ""]) {
    await expect(
      one.master().approve(parked.approval, one.party("ben"), { digest, signedId }),
    ).rejects.toThrow("is another request than the one that was shown");
  }
  const agreed = await one.master().approve(parked.approval, one.party("ben"), { digest, signedId: "enr-2" });
  expect(agreed.agreed).toHaveLength(1);
});

test("nobody can fill the list", async () => {
  const one = fleet();
  for (let at = 0; at < 20; at++) await one.park();
  await expect(one.park()).rejects.toMatchObject({ kind: "conflict" });
  await one.park(1, one.caller("ben"));
  one.clock.advance(ttlMs);
  await one.park();
});
