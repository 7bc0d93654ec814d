import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { everythingReleased } from "../../../test/harness/everything-released.ts";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { sha256, sha256Hex } from "../../base/sha256.ts";
import { merkleTree } from "../../identity/merkle/merkle.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { snapshotOf } from "../../tree/files/mod.ts";
import { type Evidence, encodeCall } from "../../wire/call.ts";
import type { Content } from "../../wire/content.ts";
import { encodeOperator, signOperator } from "../../wire/operator-record.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { judgeDispatch } from "./judge.ts";
import type { Rules } from "./signer.ts";

// State files, on a peel that obeys operators only. A stolen master publishes what it likes under every name, so a
// signed request counts for the files whose digest the operator signed.

const [root, annKey, benKey] = [0, 1, 2].map(() => newKeyPair("user", systemRandom)) as [Key, Key, Key];
type Key = ReturnType<typeof newKeyPair>;
const now = Date.UTC(2026, 5, 10);
const rules: Rules = {
  ...everythingReleased,
  administrators: [{ name: "root", publicKey: root.publicKey }],
  automationFunctions: [],
  now,
};
const recordOf = (name: string, key: Key) =>
  encodeOperator(
    signOperator(
      {
        ...{ name, publicKey: key.publicKey, roles: ["operator"] },
        ...{ createdAt: 0, createdBy: "root", version: 1 },
      },
      root,
    ),
  );
const peel = "web-1";
const tree = merkleTree([peel]);
const hex = sha256Hex("the files");
const signed = { targets_digest: tree.root, snapshot: Buffer.from(hex, "hex") };
const apply = { function: "state.apply", args: { mods: ["web"] } };
const released = { function: "state.apply", args: { mods: ["web"], environment: "release/9" } };
const files: Content = { environment: "base", commit: "ab".repeat(20), snapshot: hex };

interface Called {
  function: string;
  args: Record<string, Plain>;
}
interface Sent {
  subject?: string;
  step?: "check";
  called?: Called;
  isAgreed?: boolean;
}

function judge(requested: Record<string, unknown>, content: Content | undefined, sent: Sent = {}) {
  const { subject = "svc.job.request", called = apply } = sent;
  const body = encode({ target: peel, ...called, ...signed, ...requested });
  const message = { body, operator: "ann", sentAt: now - 1_000, nonce: systemRandom(16) };
  const request = signRequest(subject, message, annKey);
  const agreed = {
    ...{ body: encode({ id: "apr-1", request_digest: sha256(request) }), operator: "ben" },
    ...{ sentAt: now - 500, nonce: systemRandom(16) },
  };
  const agreement = signRequest("svc.admin.approval.approve", agreed, benKey);
  const evidence: Evidence = {
    ...{ request, proof: tree.proofOf(peel) ?? [], records: [recordOf("ann", annKey)] },
    ...(sent.isAgreed === true
      ? { approvals: [{ request: agreement, records: [recordOf("ben", benKey)] }] }
      : {}),
    ...(sent.step === undefined ? {} : { step: sent.step }),
  };
  const call = content === undefined ? called : { ...called, content };
  const command = { peel, deadline: now + 1_000, proof: [], body: encodeCall(call, "r-1", evidence) };
  return judgeDispatch(command, call, rules);
}

const runs = { by: "operator", operator: "ann" };
const saying = (text: string) => ({ refused: expect.stringContaining(text) });
const other = { ...files, snapshot: sha256Hex("other files") };

describe("the files that an operator signed", () => {
  const rollout = { subject: "svc.rollout.start" };
  const cases: [what: string, requested: Record<string, unknown>, content: Content, sent: Sent][] = [
    ["of a job", {}, files, {}],
    ["of another environment", {}, { ...files, environment: "release/9" }, { called: released }],
    ["of several repositories", {}, { ...files, commit: "local", sources: [] }, {}],
    ["that another one agreed to", { approvals: 1 }, files, { isAgreed: true }],
    ["of a rollout", {}, files, rollout],
    ["of its check", { function: "test.ping", args: {}, check: apply }, files, { ...rollout, step: "check" }],
  ];
  test.each(cases)("run: %s", (_, requested, content, sent) => {
    expect(judge(requested, content, sent)).toMatchObject(runs);
  });

  test("are not needed for a function that uses none", () => {
    const called = { function: "cmd.run", args: { command: "id" } };
    expect(judge({ snapshot: undefined }, undefined, { called })).toMatchObject(runs);
  });
});

describe("a stolen master cannot run", () => {
  const rollout = { subject: "svc.rollout.start" };
  const check = { ...rollout, step: "check" } as const;
  const pinged = { function: "test.ping", args: {}, check: apply };
  const swapped = "ann signed the state files";
  const cases: [
    what: string,
    requested: Record<string, unknown>,
    content: Content | undefined,
    says: string,
    sent?: Sent,
  ][] = [
    ["other files", {}, other, `${swapped} ${hex.slice(0, 12)}, and the command has`],
    ["files of no digest", {}, undefined, "does not name the state files that ann signed"],
    ["files that nobody signed", { snapshot: undefined }, files, "ann did not sign which state files"],
    ["other files in a wave", {}, other, swapped, rollout],
    ["files of no digest in a wave", {}, undefined, "does not name the state files", rollout],
    ["unsigned files in a wave", { snapshot: undefined }, files, "did not sign which state files", rollout],
    ["other files in a check", pinged, other, swapped, check],
    ["unsigned files in a check", { ...pinged, snapshot: undefined }, files, "did not sign which", check],
    ["other files than two agreed to", { approvals: 1 }, other, swapped, { isAgreed: true }],
    [
      "the files of another environment",
      {},
      { ...files, environment: "feature" },
      "ann signed state files of base, and the command has those of feature",
    ],
    [
      "base in place of an environment",
      {},
      files,
      "signed state files of release/9, and the command has those of base",
      { called: released },
    ],
    ["a digest that is too short", { snapshot: Buffer.alloc(31) }, files, "cannot be read"],
    ["a digest of text", { snapshot: hex }, files, "cannot be read"],
  ];
  for (const [what, requested, content, says, sent] of cases) {
    test(what, () => {
      expect(judge(requested, content, sent)).toEqual(saying(says));
    });
  }

  test("files of which a path, a bit, a size or a content differs, or one is missing or added", () => {
    const digest = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((d) => Buffer.from(d).toString("hex"));
    const path = fc.stringMatching(/^[a-zé]{1,8}(\/[a-z]{1,8}){0,2}$/u);
    const file = fc.record({ digest, size: fc.nat(), executable: fc.boolean() });
    const change = fc.constantFrom("path", "bit", "size", "content", "missing", "added");
    fc.assert(
      fc.property(
        fc.dictionary(path, file, { minKeys: 1, maxKeys: 6, noNullPrototype: true }),
        fc.nat(),
        change,
        (all, at, what) => {
          const before = Object.entries(all);
          const [name, old] = before[at % before.length] as (typeof before)[number];
          const without = before.filter(([path]) => path !== name);
          const flipped = `${old.digest.startsWith("0") ? "1" : "0"}${old.digest.slice(1)}`;
          const after = {
            path: [...without, [`${name}/x`, old] as const],
            bit: [...without, [name, { ...old, executable: !old.executable }] as const],
            size: [...without, [name, { ...old, size: old.size + 1 }] as const],
            content: [...without, [name, { ...old, digest: flipped }] as const],
            missing: without,
            added: [...before, ["0", old] as const],
          }[what];
          const snapshot = { snapshot: Buffer.from(snapshotOf(before), "hex") };
          const ordered = snapshotOf([...before].reverse());
          expect(judge(snapshot, { ...files, snapshot: ordered })).toMatchObject(runs);
          expect(judge(snapshot, { ...files, snapshot: snapshotOf(after) })).toEqual(saying(swapped));
        },
      ),
      { numRuns: 200 },
    );
  });
});
