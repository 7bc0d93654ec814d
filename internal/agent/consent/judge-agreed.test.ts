import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { everythingReleased } from "../../../test/harness/everything-released.ts";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { merkleTree } from "../../identity/merkle/merkle.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { type Evidence, encodeCall } from "../../wire/call.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../wire/operator-record.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { judgeDispatch } from "./judge.ts";
import type { Rules } from "./signer.ts";

// Two persons, and rollouts, on a peel that obeys operators only. A stolen master chooses everything that is not
// signed: which agreements it sends, which step it says, and when.

const newKey = () => newKeyPair("user", systemRandom);
const [root, annKey, benKey, choKey] = [newKey(), newKey(), newKey(), newKey()];
const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const day = 24 * hour;
const now = Date.UTC(2026, 5, 10);
const rules: Rules = {
  ...everythingReleased,
  administrators: [{ name: "root", publicKey: root.publicKey }],
  automationFunctions: [],
  now,
};
const recordOf = (name: string, key: KeyPair, change: Partial<OperatorRecord> = {}, signer = root) =>
  encodeOperator(
    signOperator(
      {
        ...{
          name,
          publicKey: key.publicKey,
          roles: ["operator"],
          createdAt: 0,
          createdBy: "root",
          version: 1,
        },
        ...change,
      },
      signer,
    ),
  );
const peels = ["db-1", "web-1", "web-2"];
const tree = merkleTree(peels);
const nonce = systemRandom(16);
const call = { function: "cmd.run", args: { command: "id" } };
const check = { function: "service.status", args: { name: "nginx" } };
const jobs = "svc.job.request";
const rollouts = "svc.rollout.start";
const saying = (text: string) => ({ refused: expect.stringContaining(text) });

type Requested = Record<string, Plain | undefined>;
const send = (subject: string, requested: Requested, sentAt: number) =>
  signRequest(
    subject,
    {
      ...{ operator: "ann", sentAt, nonce },
      body: encode({ target: "web-*", ...call, targets_digest: tree.root, ...requested }),
    },
    annKey,
  );

interface Agreed {
  to?: Uint8Array;
  digest?: Plain | undefined;
  name?: string;
  key?: KeyPair;
  at?: number;
  subject?: string;
  record?: Uint8Array;
}
const agree = (request: Uint8Array, { name = "ben", key = benKey, ...of }: Agreed = {}) => {
  const request_digest = "digest" in of ? of.digest : sha256(of.to ?? request);
  const body = encode({ id: "apr-1", request_digest, operator: "x" });
  const sent = { body, operator: name, sentAt: of.at ?? now - second, nonce: systemRandom(16) };
  return {
    request: signRequest(of.subject ?? "svc.admin.approval.approve", sent, key),
    records: [of.record ?? recordOf(name, key)],
  };
};

interface Sent {
  called?: { function: string; args: Record<string, Plain> };
  peel?: string;
  proofOf?: string;
  step?: "check";
  deadline?: number;
  at?: number;
  approvals?: Evidence["approvals"];
}
const judge = (request: Uint8Array, { called = call, peel = "web-1", ...sent }: Sent = {}) => {
  const at = sent.at ?? now;
  const evidence: Evidence = {
    ...{ request, proof: tree.proofOf(sent.proofOf ?? peel) ?? [], records: [recordOf("ann", annKey)] },
    ...(sent.approvals === undefined ? {} : { approvals: sent.approvals }),
    ...(sent.step === undefined ? {} : { step: sent.step }),
  };
  const body = encodeCall(called, "r", evidence);
  const command = { peel, deadline: sent.deadline ?? at + second, proof: [], body };
  return judgeDispatch(command, called, { ...rules, now: at });
};

describe("a job that needs another operator", () => {
  const requested = { timeout: "30s", approvals: 1 };
  const request = send(jobs, requested, now - 3 * day);

  test("runs when one agreed, for as long as that one and the first said, and is remembered for longer", () => {
    expect(judge(request, { approvals: [agree(request)] })).toEqual({
      ...{ by: "operator", operator: "ann", nonce: Uint8Array.from(nonce), sentAt: now - 3 * day },
      key: annKey.publicKey,
      ...{ until: now + 4 * day + 30 * second, timeoutMs: 30 * second, isWave: false },
    });
    const late = { approvals: [agree(request, { at: now - 31 * second })] };
    expect(judge(request, late)).toEqual(saying("ended 1s ago: its timeout has passed"));
    const two = [agree(request, { at: now - minute }), agree(request, { name: "cho", key: choKey })];
    expect(judge(request, { approvals: two })).toMatchObject({ operator: "ann" });
    // An administrator has no record.
    expect(
      judge(request, { approvals: [{ ...agree(request, { name: "root", key: root }), records: [] }] }),
    ).toMatchObject({ operator: "ann" });
  });

  const other = send(jobs, { ...requested, timeout: "31s" }, now - 3 * day);
  const cases: [what: string, approvals: Evidence["approvals"], says: string][] = [
    ["the agreement is left out", undefined, "ann signed that 1 must agree, and 0 did"],
    ["it is to another request", [agree(request, { to: other })], "ben agreed to another request"],
    ["it does not say to which", [agree(request, { digest: undefined })], "did not sign which request"],
    ["its digest has another form", [agree(request, { digest: "00" })], "cannot be read"],
    ["the requester agrees", [agree(request, { name: "ann", key: annKey })], "ann counts once"],
    [
      "the requester agrees under another name",
      [agree(request, { name: "eve", key: annKey })],
      "eve counts once",
    ],
    [
      "the approver is disabled",
      [agree(request, { record: recordOf("ben", benKey, { disabled: true }) })],
      "ben is disabled",
    ],
    [
      "the approver has expired",
      [agree(request, { record: recordOf("ben", benKey, { expiresAt: now }) })],
      "ben ended at",
    ],
    ["the approver was removed", [{ ...agree(request), records: [] }], "the operator ben does not exist"],
    [
      "the record is of someone else",
      [agree(request, { record: recordOf("cho", choKey) })],
      "the operator ben does not exist",
    ],
    [
      "no administrator signed it",
      [agree(request, { record: recordOf("ben", benKey, {}, benKey) })],
      "is not signed by an administrator",
    ],
    [
      "another key signed",
      [agree(request, { key: choKey, record: recordOf("ben", benKey) })],
      "ben has another key",
    ],
    [
      "it is a request to deny",
      [agree(request, { subject: "svc.admin.approval.deny" })],
      "the signature of ben is wrong",
    ],
    ["it is from the future", [agree(request, { at: now + minute + 1 })], "from the future"],
    ["it is malformed", [{ request: Buffer.of(1), records: [] }], "cannot be read"],
  ];
  test.each(cases)("does not run when %s", (_, approvals, says) => {
    expect(judge(request, approvals === undefined ? {} : { approvals })).toEqual(saying(says));
  });

  test("needs as many as it says, each another one", () => {
    const pair = send(jobs, { ...requested, approvals: 2 }, now - minute);
    const [ben, cho] = [agree(pair), agree(pair, { name: "cho", key: choKey })];
    expect(judge(pair, { approvals: [ben] })).toEqual(saying("2 must agree, and 1 did"));
    expect(judge(pair, { approvals: [ben, ben] })).toEqual(saying("ben counts once"));
    const twin = agree(pair, { name: "cho", key: benKey });
    expect(judge(pair, { approvals: [ben, twin] })).toEqual(saying("cho counts once"));
    expect(judge(pair, { approvals: [ben, cho] })).toMatchObject({ operator: "ann" });
  });

  test("ends seven days after it was signed, also for those who agree then", () => {
    const old = send(jobs, requested, now - 7 * day - 2 * second);
    expect(judge(old, { approvals: [agree(old)] })).toEqual(saying("ben agreed more than 7 days after ann"));
    const young = send(jobs, requested, now - 7 * day);
    expect(judge(young, { approvals: [agree(young)] })).toMatchObject({ operator: "ann" });
  });
});

test("no bit of an agreement can be changed", () => {
  const request = send(jobs, { timeout: "30s", approvals: 1 }, now - minute);
  const agreed = agree(request);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 * agreed.request.length - 1 }), (bit) => {
      const changed = Uint8Array.from(agreed.request);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(judge(request, { approvals: [{ ...agreed, request: changed }] })).toHaveProperty("refused");
    }),
    { numRuns: 300 },
  );
});

test("whatever the peel is sent as agreements and step, there is an answer", () => {
  const request = send(rollouts, { approvals: 1 }, now - minute);
  const some = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.string(), fc.integer(), fc.constant(null));
  const one = fc.record({ request: some, records: fc.oneof(some, fc.array(some, { maxLength: 3 })) });
  fc.assert(
    fc.property(fc.oneof(some, fc.array(fc.oneof(some, one), { maxLength: 4 })), some, (approvals, step) => {
      const evidence = { request, proof: tree.proofOf("web-1") ?? [], records: [recordOf("ann", annKey)] };
      const body = encode({ ...call, ...evidence, approvals, step });
      const command = { peel: "web-1", deadline: now + second, proof: [], body };
      expect(judgeDispatch(command, call, rules)).toHaveProperty("refused");
    }),
  );
});

test("an agreement to a request that needs none brings nothing back that has ended", () => {
  for (const requested of [{}, { approvals: 0 }]) {
    const request = send(jobs, { timeout: "30s", ...requested }, now - 31 * second);
    expect(judge(request, { approvals: [agree(request)] })).toEqual(saying("its timeout has passed"));
  }
  const broken = send(jobs, { timeout: "30s", approvals: -1 }, now);
  expect(judge(broken)).toEqual(saying("cannot be read"));
});

describe("a rollout", () => {
  const plan = { timeout: "10m", deadline: "2h", check: { ...check, timeout: "1m" }, canary: 1 };
  const request = send(rollouts, plan, now - hour);
  const used = Uint8Array.from(nonce);

  test("runs on each peel of it, the wave and its check, each once and to its own end", () => {
    for (const peel of peels) {
      expect(judge(request, { peel })).toEqual({
        ...{ by: "operator", operator: "ann", nonce: used, sentAt: now - hour },
        key: annKey.publicKey,
        ...{ until: now + hour + 10 * minute, timeoutMs: 10 * minute, isWave: true },
      });
      expect(judge(request, { peel, called: check, step: "check" })).toMatchObject({
        ...{ nonce: Uint8Array.from([...nonce, ...Buffer.from("check")]), timeoutMs: minute },
        until: now + hour + minute,
      });
    }
    const usual = send(rollouts, {}, now - day);
    expect(judge(usual)).toMatchObject({ until: now + minute, timeoutMs: minute });
  });

  const cases: [what: string, sent: Sent, says: string, requested?: Requested][] = [
    ["another function", { called: { ...call, function: "file.remove" } }, "signed a request for cmd.run"],
    [
      "other arguments",
      { called: { ...call, args: { command: "rm" } } },
      "signed other arguments of cmd.run",
    ],
    ["the check as the wave", { called: check }, "signed a request for cmd.run"],
    ["the wave as the check", { step: "check" }, "signed a request for service.status"],
    [
      "a check with other arguments",
      { called: { ...check, args: {} }, step: "check" },
      "signed other arguments",
    ],
    [
      "a check that was not signed",
      { step: "check" },
      "signed a rollout without a check",
      { check: undefined },
    ],
    ["it on a peel that joined later", { peel: "web-9", proofOf: "web-1" }, "this peel is not among those"],
    [
      "it with the proof of another peel",
      { peel: "web-2", proofOf: "web-1" },
      "this peel is not among those",
    ],
    ["it on peels that nobody signed", {}, "did not sign which peels", { targets_digest: undefined }],
    ["it after its end", { at: now + hour + 10 * minute + 1 }, "ended 1ms ago: its deadline has passed"],
    [
      "its check after its end",
      { at: now + hour + minute + 1, called: check, step: "check" },
      "its deadline has passed",
    ],
    ["it for longer", { deadline: now + 11 * minute + 1 }, "signed a timeout of 10m"],
    ["a rollout that starts nothing", {}, "starts nothing (dry_run)", { dry_run: true }],
    ["one that nobody agreed to", {}, "1 must agree, and 0 did", { approvals: 1 }],
    ["one with an end that no rollout has", {}, "deadline: must be 1s to 6d", { deadline: "145h" }],
  ];
  for (const [what, sent, says, requested] of cases) {
    test(`lets a stolen master not run ${what}`, () => {
      const signed =
        requested === undefined ? request : send(rollouts, { ...plan, ...requested }, now - hour);
      expect(judge(signed, sent)).toEqual(saying(says));
    });
  }

  test("does not count as a job, nor a job as a rollout", () => {
    const job = send(jobs, { timeout: "1m" }, now - 2 * minute);
    // What would still count as a rollout has ended as a job.
    expect(judge(job)).toEqual(saying("its timeout has passed"));
    expect(judge(send(jobs, {}, now), { step: "check" })).toEqual(saying("signed a request for a job"));
  });

  test("that needs another operator counts from the agreement", () => {
    const pair = send(rollouts, { ...plan, approvals: 1 }, now - 2 * day);
    expect(judge(pair, { approvals: [agree(pair)] })).toMatchObject({
      until: now + 5 * day + 2 * hour + 10 * minute,
    });
    const late = { approvals: [agree(pair, { at: now - 3 * hour })] };
    expect(judge(pair, late)).toEqual(saying("its deadline has passed"));
  });
});
