import { expect, test } from "bun:test";
import { encodeBase64 } from "../../base/base64.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/mod.ts";
import { encodeOperator, signOperator } from "../../wire/operator-record.ts";
import { aboutOf } from "./about.ts";

const key = newKeyPair("user", systemRandom);
const record = {
  ...{ name: "zoe", publicKey: key.publicKey, roles: ["viewer", "approver"], createdAt: 0, createdBy: "ann" },
  version: 1,
};
const text = encodeBase64(encodeOperator(signOperator(record, key)));
const peelOf = (id: string) => (id === "enr-1" ? "web-1_example" : undefined);

test.each([
  ["enrollments.revoke", { id: "enr-1", reason: "sold" }, { about: "web-1.example" }],
  ["enrollments.revoke", { id: "enr-2" }, {}],
  ["enrollments.revoke-user", { peel: "web-2_example" }, { about: "web-2.example" }],
  ["rollouts.abort", { id: "rol-1" }, { about: "rol-1" }],
  ["jobs.create", { function: "test.ping", target: "*" }, {}],
  ["operators.remove", { name: "zoe", record: "AAAA" }, {}],
  ["enrollments.revoke", null, {}],
])("%s with %j is about %j", (operation, input, about) => {
  expect(aboutOf({ operation, input }, peelOf)).toEqual(about);
});

test.each(["operators.add", "operators.roles", "operators.remove"])(
  "%s is about the operator in its record",
  (operation) => {
    const { about, operator } = aboutOf({ operation, input: { record: text } }, peelOf);
    expect([about, operator?.roles, operator?.publicKey]).toEqual([
      "zoe",
      ["viewer", "approver"],
      key.publicKey,
    ]);
  },
);
