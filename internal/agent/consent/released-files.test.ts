import { describe, expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { merkleTree } from "../../identity/merkle/merkle.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { type Call, encodeCall } from "../../wire/call.ts";
import { encodeOperator, signOperator } from "../../wire/operator-record.ts";
import { openRelease, signRelease } from "../../wire/release.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { judgeDispatch, judgeStop } from "./judge.ts";
import { checkOperatorRoles } from "./operator-roles.ts";
import { orRefusal } from "./refusal.ts";
import { withNewestRelease } from "./released-files.ts";
import type { Rules } from "./signer.ts";

const newKey = () => newKeyPair("user", systemRandom);
const [root, annKey] = [newKey(), newKey()];
const fleet = newKeyPair("account", systemRandom).publicKey;
const now = Date.UTC(2026, 5, 1);
const [released, other] = ["ab".repeat(32), "cd".repeat(32)];
const release = openRelease(
  signRelease(
    { fleet, environment: "base", snapshot: released, version: 7, releasedAt: now, operator: "root" },
    root,
  ),
);
/** A peel that has release 7 of base, and knows of an older one by the commands of `other` alone. */
const rules: Rules = {
  administrators: [{ name: "root", publicKey: root.publicKey }],
  automationFunctions: ["state.*", "test.*"],
  operatorRoles: new Map([
    ["operator", ["*"]],
    ["admin", ["*"]],
    ["deployer", ["state.*", "cmd.run"]],
  ]),
  releaseRoles: ["releaser"],
  releases: {
    records: new Map(),
    newest: (environment) => (environment === "base" ? { release } : { reason: undefined }),
    allows: ({ environment, snapshot }) =>
      environment === "base" && snapshot === released ? true : { reason: undefined },
  },
  now,
};
const contentOf = (snapshot: string, environment = "base") => ({ environment, commit: "local", snapshot });
const callOf = (args: Record<string, Plain> = {}, content?: Call["content"]): Call => ({
  function: "state.highstate",
  args,
  ...(content === undefined ? {} : { content }),
});
const notOf7 = "not run: these state files are not those of release 7 of base";
const nobody = "not run, because no operator released these state files";

describe("what no operator signed", () => {
  test.each<[what: string, call: Call, says: string | undefined]>([
    ["the files of the newest release", callOf({}, contentOf(released)), undefined],
    ["no files by name: those of the newest release", callOf(), undefined],
    ["other files", callOf({}, contentOf(other)), notOf7],
    ["files of another environment than the arguments name", callOf({}, contentOf(released, "test")), notOf7],
    [
      "an environment that nobody released",
      callOf({ environment: "test" }, contentOf(released, "test")),
      nobody,
    ],
    ["a commit, which names no files", callOf({ commit: "0123456" }), notOf7],
    [
      "a commit of the files of the newest release",
      callOf({ commit: "0123456" }, contentOf(released)),
      undefined,
    ],
  ])("with %s", (_, call, says) => {
    const command = { peel: "web-1", deadline: now + 1, proof: [], body: encodeCall(call) };
    const judged = judgeDispatch(command, call, rules);
    if (says !== undefined) return expect(judged).toEqual({ refused: says, isWhole: true });
    expect(judged).toMatchObject({
      by: "automation",
      call: { content: { environment: "base", snapshot: released } },
    });
    // A schedule, and the states at the start, are judged the same.
    expect(withNewestRelease(call, rules)).toMatchObject({ content: { snapshot: released } });
  });

  test("the reason why the newest release does not count is said", () => {
    const releases = { ...rules.releases, newest: () => ({ reason: "ann is disabled" }) };
    expect(orRefusal(() => withNewestRelease(callOf(), { releases }))).toEqual({
      refused: `${nobody}: ann is disabled`,
      isWhole: true,
    });
  });

  test("a function that uses no files needs no release", () => {
    const releases = { ...rules.releases, newest: () => ({ reason: undefined }) };
    const call = { function: "test.ping", args: {} };
    expect(withNewestRelease(call, { releases })).toBe(call);
  });
});

const record = (roles: string[]) =>
  encodeOperator(
    signOperator(
      {
        ...{ name: "ann", publicKey: annKey.publicKey, roles },
        ...{ createdAt: 0, createdBy: "root", version: 1 },
      },
      root,
    ),
  );

describe("what an operator signed", () => {
  const tree = merkleTree(["web-1", "web-2"]);
  const judge = (call: Call, roles: string[], signed: Record<string, Plain> = {}) => {
    const { function: name, args, content } = call;
    const digests = {
      targets_digest: tree.root,
      ...(content === undefined ? {} : { snapshot: Buffer.from(content.snapshot, "hex") }),
    };
    const body = encode({ target: "*", function: name, args, ...digests, ...signed });
    const sent = { body, operator: "ann", sentAt: now, nonce: systemRandom(16) };
    const request = signRequest("svc.job.request", sent, annKey);
    const evidence = { request, proof: tree.proofOf("web-1") ?? [], records: [record(roles)] };
    const command = { peel: "web-1", deadline: now + 1, proof: [], body: encodeCall(call, "r", evidence) };
    return judgeDispatch(command, call, rules);
  };
  const files = callOf({}, contentOf(other));

  test.each<
    [what: string, roles: string[], call: Call, signed: Record<string, Plain>, says: string | undefined]
  >([
    ["released files run", ["operator"], callOf({}, contentOf(released)), {}, undefined],
    ["others do not", ["operator"], files, {}, nobody],
    ["others do not, for an administrator either", ["admin"], files, {}, nobody],
    [
      "others run, signed as unreleased by an administrator",
      ["admin"],
      files,
      { unreleased: true },
      undefined,
    ],
    ["and by a role of release_roles", ["operator", "releaser"], files, { unreleased: true }, undefined],
    [
      "and by nobody else",
      ["operator"],
      files,
      { unreleased: true },
      "ann signed state files that are not released, and has none of the roles admin, releaser",
    ],
    ["unreleased: false is as good as nothing", ["admin"], files, { unreleased: false }, nobody],
    [
      "a role that is listed for the function",
      ["deployer"],
      { function: "cmd.run", args: {} },
      {},
      undefined,
    ],
    [
      "a role that is listed for other functions",
      ["deployer"],
      { function: "pkg.install", args: {} },
      {},
      'write deployer: ["state.*", "cmd.run", "pkg.install"] below operator_roles',
    ],
    [
      "a role that may only read",
      ["viewer"],
      { function: "cmd.run", args: {} },
      {},
      "ann has viewer, and no such role may request cmd.run on this peel",
    ],
    [
      "one that is not listed",
      ["dev"],
      { function: "test.ping", args: {} },
      {},
      'write dev: ["test.ping"] below operator_roles',
    ],
    ["one of two roles is enough", ["viewer", "deployer"], { function: "cmd.run", args: {} }, {}, undefined],
  ])("%s", (_, roles, call, signed, says) => {
    const judged = judge(call, roles, signed);
    if (says === undefined) expect(judged).toMatchObject({ by: "operator", operator: "ann" });
    else expect(judged).toMatchObject({ refused: expect.stringContaining(says) });
  });

  test("a job is stopped by a role that is listed, and by no other", () => {
    const jid = "job-3MPFSICSuHM6n9ASVzK0s68GQu3";
    const stop = (roles: string[]) => {
      const sent = { body: encode({}), operator: "ann", sentAt: now, nonce: systemRandom(16) };
      const request = signRequest(`svc.job.${jid}.cancel`, sent, annKey);
      return judgeStop({ jid, body: encode({ request, records: [record(roles)] }) }, false, rules);
    };
    expect(stop(["deployer"])).toEqual({ by: "operator" });
    expect(stop(["viewer"])).toMatchObject({
      refused: expect.stringContaining("none of these is among operator_roles"),
    });
  });
});

test("a pattern of operator_roles that matches nothing is refused at the start", () => {
  checkOperatorRoles(new Map([["admin", ["*", "state.*", "cmd.run"]]]));
  expect(() => checkOperatorRoles(new Map([["admin", ["cmd.rnu"]]]))).toThrow(
    'operator_roles.admin: "cmd.rnu" matches no function (did you mean cmd.run?)',
  );
});
