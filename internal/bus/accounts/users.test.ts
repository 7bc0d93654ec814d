import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { lackingGrants, newCredentials } from "./users.ts";

const account = newKeyPair("account", systemRandom);
const claimsOf = (role: "admin" | "master") =>
  readClaims(parseCredentials(newCredentials(role, account, 0, systemRandom)).jwt);
const admin = claimsOf("admin");
const allowing = (allow: unknown) => ({
  sub: admin.sub,
  nats: { type: "user", version: 2 as const, pub: { allow } },
});

test("current and unrestricted credentials lack no grants", () => {
  expect(lackingGrants(admin)).toEqual([]);
  expect(lackingGrants(claimsOf("master"))).toEqual([]);
  for (const allow of [undefined, [], [">"]]) expect(lackingGrants(allowing(allow))).toEqual([]);
});

test("a removed grant is missing, despite other grants", () => {
  const { allow } = admin.nats.pub as { allow: string[] };
  for (const subject of allow) {
    expect(lackingGrants(allowing(allow.filter((one) => one !== subject)))).toEqual([subject]);
  }
});

test("a wildcard covers exactly its subjects", () => {
  const { allow } = admin.nats.pub as { allow: string[] };
  const without = allow.filter((one) => one !== "svc.job.list");
  const lacking = (pattern: string) => lackingGrants(allowing([...without, pattern]));
  for (const pattern of ["svc.job.*", "svc.>", "svc.*.list", "*.*.*"]) expect(lacking(pattern)).toEqual([]);
  for (const pattern of ["svc.job", "svc.job.*.x", "svc.job.list.>", "svc.*", "a.>"]) {
    expect(lacking(pattern)).toEqual(["svc.job.list"]);
  }
});
