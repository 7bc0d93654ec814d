import { expect, test } from "bun:test";
import { encodeBase64 } from "../../base/base64.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { encodeOperator, type OperatorRecord, signOperator } from "../../wire/operator-record.ts";
import { sentencesOf } from "./sentences.ts";

const until = "2026-01-02T00:00:00.000Z";

test("a job is said with its target, its peels, and a line for each argument", () => {
  expect(
    sentencesOf({
      ...{ by: "ann", what: "jobs.create", peels: 3, until, signedAt: Date.UTC(2026, 0, 1) },
      request: {
        target: "web-*",
        function: "cmd.run",
        args: { command: "id", timeout: "5" },
        timeout: "60s",
      },
    }),
  ).toEqual([
    `ann wants to run cmd.run on 3 peels (target web-*), signed at 2026-01-01T00:00:00.000Z; others can agree until ${until}`,
    "  argument command: id",
    '  argument timeout: "5"',
    "  timeout: 60s",
  ]);
});

test.each([
  ["rollouts.start", { function: "state.apply" }, "roll out state.apply on 1 peel, wave by wave"],
  ["rollouts.abort", { id: "rol-1" }, "abort the rollout rol-1"],
  ["enrollments.revoke", { id: "enr-1" }, "revoke web-1.example"],
  ["enrollments.revoke-user", { peel: "web-2_example" }, "revoke web-2.example"],
  ["admin.unknown.thing", {}, "do admin.unknown.thing"],
])("%s with %j", (what, request, does) => {
  const about = what === "enrollments.revoke" ? "web-1.example" : undefined;
  const [line] = sentencesOf({ by: "ann", what, about, request, peels: 1, until });
  expect(line).toBe(`ann wants to ${does}; others can agree until ${until}`);
});

test("an enrollment that masters do not know is named by its id", () => {
  const [line, id] = sentencesOf({
    ...{ by: "ann", what: "enrollments.suspend", request: { id: "enr-1" }, until },
  });
  expect([line, id]).toEqual([
    `ann wants to suspend enr-1: keep it off the bus until it is resumed; others can agree until ${until}`,
    "  id: enr-1",
  ]);
});

test("the signed record of an operator is said for what it is, and never as base64", () => {
  const key = newKeyPair("user", systemRandom);
  const signed = (record: Partial<OperatorRecord>) =>
    encodeBase64(
      encodeOperator(
        signOperator(
          {
            ...{ name: "zoe", publicKey: key.publicKey, roles: ["viewer"], createdAt: 0, createdBy: "ann" },
            ...{ version: 2, ...record },
          },
          key,
        ),
      ),
    );
  const lines = (what: string, record: Partial<OperatorRecord> = {}) =>
    sentencesOf({ by: "ann", what, request: { name: "zoe", record: signed(record) }, until });
  expect(lines("operators.add")).toEqual([
    `ann wants to add the operator zoe with the role viewer; others can agree until ${until}`,
    "  operator: zoe, version 2",
    "  roles: viewer",
    `  key: ${key.publicKey}`,
    "  ends: never",
    "  name: zoe",
  ]);
  expect(lines("operators.remove", { disabled: true }).slice(0, 2)).toEqual([
    `ann wants to remove the operator zoe, and close its connection; others can agree until ${until}`,
    "  operator: zoe, disabled, version 2",
  ]);
  expect(lines("operators.roles")[0]).toContain("change the roles of the operator zoe to viewer;");
});

test("no value looks like another line, or hides a part of itself", () => {
  const request = {
    function: "test.echo",
    args: { a: "x\n  argument b: y", b: "id\u202e", c: "", d: "true", e: [1] },
  };
  expect(sentencesOf({ by: "ann", what: "jobs.create", request, until }).slice(1)).toEqual([
    '  argument a: "x\\n  argument b: y"',
    "  argument b: id\\u202e",
    '  argument c: ""',
    '  argument d: "true"',
    "  argument e: [1]",
  ]);
});
