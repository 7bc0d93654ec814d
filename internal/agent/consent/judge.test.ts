import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { everythingReleased } from "../../../test/harness/everything-released.ts";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { merkleTree } from "../../identity/merkle/merkle.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { type Evidence, encodeCall, encodeStop } from "../../wire/call.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../wire/operator-record.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { checkAutomation } from "./create.ts";
import { isAutomatic, judgeDispatch, judgeStop } from "./judge.ts";
import type { Rules } from "./signer.ts";

const newKey = () => newKeyPair("user", systemRandom);
const [root, adminKey, annKey, eveKey] = [newKey(), newKey(), newKey(), newKey()];
const now = Date.UTC(2026, 5, 1);
const rules: Rules = {
  ...everythingReleased,
  administrators: [{ name: "root", publicKey: root.publicKey }],
  automationFunctions: ["state.highstate", "test.*"],
  now,
};
const record = (change: Partial<OperatorRecord>, signer: KeyPair = root) =>
  encodeOperator(
    signOperator(
      {
        ...{ name: "ann", publicKey: annKey.publicKey, roles: ["operator"], createdAt: now - 1_000 },
        ...{ createdBy: "root", version: 1 },
        ...change,
      },
      signer,
    ),
  );
const bob = record({ name: "bob", publicKey: adminKey.publicKey, roles: ["admin"] });
/** Ann's record is signed by bob, and bob's by root. */
const chain = [record({ createdBy: "bob" }, adminKey), bob];

const peels = ["db-1", "web-1", "web-2", "web-3"];
const tree = merkleTree(peels);
const call = {
  function: "cmd.run",
  args: { command: "uptime", list: [1, { b: 2, a: 1 }], raw: Buffer.of(1, 2) },
};
const requested = { target: "web-*", ...call, timeout: "30s", targets_digest: tree.root };
const subject = "svc.job.request";

interface Made {
  requested?: Record<string, unknown>;
  sentAt?: number;
  operator?: string;
  key?: KeyPair;
  subject?: string;
  records?: readonly Uint8Array[];
  peel?: string;
  proofOf?: string;
  called?: { function: string; args: Record<string, Plain> };
  deadline?: number;
}

const nonce = systemRandom(16);
function judge(made: Made = {}, by: Partial<Rules> = {}) {
  const { sentAt = now - 1_000, operator = "ann", key = annKey, records = chain, peel = "web-1" } = made;
  const body = encode({ ...requested, ...made.requested, operator: "someone" });
  const request = signRequest(made.subject ?? subject, { body, operator, sentAt, nonce }, key);
  const proof = tree.proofOf(made.proofOf ?? peel) ?? [];
  const called = made.called ?? call;
  const command = { peel, deadline: made.deadline ?? now + 29_000, proof: [] };
  return judgeDispatch({ ...command, body: encodeCall(called, "r-1", { request, proof, records }) }, called, {
    ...rules,
    ...by,
  });
}
/** The same, when a master signed for all peels at once: the proof is next to the body. */
function judgeForMany(peel: string, proofOf = peel) {
  const body = encode(requested);
  const request = signRequest(subject, { body, operator: "ann", sentAt: now - 1_000, nonce }, annKey);
  const command = {
    peel,
    deadline: now + 29_000,
    body: encodeCall(call, "r-1", { request, records: chain }),
  };
  return judgeDispatch({ ...command, proof: tree.proofOf(proofOf) ?? [] }, call, rules);
}
const saying = (text: string) => ({ refused: expect.stringContaining(text) });

test("what an operator signed for this peel runs, as long as the operator said", () => {
  const consent = {
    by: "operator",
    operator: "ann",
    key: annKey.publicKey,
    nonce: Uint8Array.from(nonce),
    timeoutMs: 30_000,
    isWave: false,
  };
  expect(judge()).toEqual({ ...consent, sentAt: now - 1_000, until: now + 29_000 } as never);
  expect(judge({ records: [record({})] })).toMatchObject({ by: "operator", operator: "ann" });
  expect(judge({ operator: "root", key: root, records: [] })).toMatchObject({ operator: "root" });
  expect(judge({ requested: { timeout: undefined } })).toMatchObject({
    timeoutMs: 60_000,
    until: now + 59_000,
  });
  for (const peel of peels) expect(judge({ peel })).toMatchObject({ by: "operator" });
});

test("one proof is for the master and for the operator, and must lead to what the operator signed", () => {
  for (const peel of peels) expect(judgeForMany(peel)).toMatchObject({ by: "operator", operator: "ann" });
  expect(judgeForMany("web-1", "web-2")).toEqual(saying("is not among those"));
  expect(judgeForMany("mail-1", "web-1")).toEqual(saying("is not among those"));
  expect(judgeForMany("web-1", "nobody")).toEqual(saying("is not among those"));
});

describe("a stolen master cannot", () => {
  const other = (args: Record<string, Plain>) => ({ function: "cmd.run", args });
  const cases: [what: string, made: Made, says: string, by?: Partial<Rules>][] = [
    [
      "run another function",
      { called: { ...call, function: "file.remove" } },
      "signed a request for cmd.run",
    ],
    ["change an argument", { called: other({ ...call.args, command: "id" }) }, "other arguments of cmd.run"],
    ["add an argument", { called: other({ ...call.args, shell: true }) }, "other arguments of cmd.run"],
    ["drop the arguments", { called: other({}) }, "other arguments of cmd.run"],
    ["turn bytes into text", { called: other({ ...call.args, raw: "\u0001\u0002" }) }, "other arguments"],
    [
      "let it run longer",
      { deadline: now + 90_001 },
      "signed a timeout of 30s, and the command has a longer one",
    ],
    ["send it late", { sentAt: now - 30_001 }, "its timeout has passed"],
    ["keep one for later", { sentAt: now + 60_001 }, "from the future"],
    ["send it to a peel that is not meant", { peel: "mail-1", proofOf: "web-1" }, "is not among those"],
    ["use the proof of another peel", { peel: "web-2", proofOf: "web-1" }, "is not among those"],
    ["leave out the proof", { proofOf: "nobody" }, "is not among those"],
    [
      "use a request without targets",
      { requested: { targets_digest: undefined } },
      "did not sign which peels",
    ],
    ["use a request to another subject", { subject: "svc.target.resolve" }, "the signature of ann is wrong"],
    ["sign as ann", { key: eveKey }, "ann has another key"],
    [
      "make an operator",
      {
        operator: "eve",
        key: eveKey,
        records: [record({ name: "eve", publicKey: eveKey.publicKey }, eveKey)],
      },
      "is not signed by an administrator",
    ],
    [
      "make an administrator",
      {
        operator: "eve",
        key: eveKey,
        records: [record({ name: "eve", publicKey: eveKey.publicKey }, newKey())],
      },
      "is not signed by an administrator",
    ],
    ["use a record that ended", { records: [record({ expiresAt: now })] }, "ann ended at"],
    ["use a disabled operator", { records: [record({ disabled: true })] }, "ann is disabled"],
    [
      "use a signer without the role",
      {
        records: [
          chain[0] as Uint8Array,
          record({ name: "bob", publicKey: adminKey.publicKey, roles: ["operator"] }),
        ],
      },
      "is not signed by an administrator",
    ],
    ["leave out a record", { records: [chain[0] as Uint8Array] }, "is not signed by an administrator"],
    ["leave out all records", { records: [] }, "the operator ann does not exist"],
    ["send a damaged record", { records: [bob.subarray(1)] }, "cannot be read"],
    ["name other administrators", {}, "knows no administrators", { administrators: [] }],
    ["ask for a malformed timeout", { requested: { timeout: "soon" } }, "cannot be read"],
  ];
  for (const [what, made, says, by] of cases) {
    test(what, () => expect(judge(made, by)).toEqual(saying(says)));
  }

  test("run what nobody signed, unless it runs by itself", () => {
    const bare = (name: string) => {
      const called = { function: name, args: {} };
      const command = { peel: "web-1", deadline: now + 1, proof: [], body: encodeCall(called) };
      return judgeDispatch(command, called, rules);
    };
    expect(bare("cmd.run")).toEqual(
      saying("no operator signed it, and cmd.run is not in automation_functions"),
    );
    expect(bare("test.ping")).toMatchObject({ by: "automation", call: { function: "test.ping" } });
    expect(bare("state.highstate")).toEqual({
      refused: "not run, because no operator released these state files",
      isWhole: true,
    });
    expect(bare("state.apply")).toEqual(saying("no operator signed it"));
  });

  test("change any bit of what was signed", () => {
    const body = encode(requested);
    const request = signRequest(subject, { body, operator: "ann", sentAt: now, nonce }, annKey);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 * request.length - 1 }), (bit) => {
        const changed = Uint8Array.from(request);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const evidence: Evidence = { request: changed, proof: tree.proofOf("web-1") ?? [], records: chain };
        const command = {
          ...{ peel: "web-1", deadline: now + 1, proof: [] },
          body: encodeCall(call, "r-1", evidence),
        };
        expect(judgeDispatch(command, call, rules)).toHaveProperty("refused");
      }),
      { numRuns: 300 },
    );
  });

  test("make the peel stumble: whatever the evidence is, there is an answer", () => {
    const some = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.string(), fc.integer(), fc.constant(null));
    const step = fc.record({ side: fc.constantFrom("l", "r", "x"), hash: some });
    const list = fc.oneof(some, fc.array(fc.oneof(some, step), { maxLength: 5 }));
    fc.assert(
      fc.property(
        fc.oneof(some, list),
        list,
        list,
        list,
        some,
        (request, proof, records, approvals, step) => {
          const body = encode({ ...call, request, proof, records, approvals, step });
          const judged = judgeDispatch({ peel: "web-1", deadline: now + 1, proof: [], body }, call, rules);
          expect(judged).toHaveProperty("refused");
        },
      ),
    );
  });
});

describe("to stop a job", () => {
  const jid = "job-3MPFSICSuHM6n9ASVzK0s68GQu3";
  const stop = (at: string, isAutomatic = false) => {
    const request = signRequest(at, { body: encode({}), operator: "ann", sentAt: now, nonce }, annKey);
    return judgeStop({ jid, body: encodeStop("r-1", { request, records: chain }) }, isAutomatic, rules);
  };
  test("an operator signs for that job", () => {
    expect(stop(`svc.job.${jid}.cancel`)).toEqual({ by: "operator" });
    expect(stop("svc.job.job-other.cancel")).toEqual(saying("the signature of ann is wrong"));
  });
  test("nobody signs where nobody signed the job", () => {
    const bare = { jid, body: encodeStop("r-1") };
    expect(judgeStop(bare, true, rules)).toEqual({ by: "automation" });
    expect(judgeStop(bare, false, rules)).toEqual(saying("no operator signed that the job shall stop"));
    expect(judgeStop({ jid, body: new Uint8Array() }, false, rules)).toEqual(saying("no operator signed"));
  });
});

test("a pattern means functions of one module, and must match one", () => {
  expect(isAutomatic("test.ping", ["test.*"])).toBe(true);
  expect(isAutomatic("tester.ping", ["test.*"])).toBe(false);
  expect(isAutomatic("test.ping", ["test.pin"])).toBe(false);
  expect(() => checkAutomation(["state.highstate", "state.apply", "test.*"])).not.toThrow();
  expect(() => checkAutomation(["state.hihgstate"])).toThrow(
    'automation_functions: "state.hihgstate" matches no function (did you mean state.highstate?)',
  );
});
