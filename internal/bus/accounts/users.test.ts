import { expect, test } from "bun:test";
import { systemRandom } from "../../base/id.ts";
import { parseCredentials } from "../../identity/credentials.ts";
import { readClaims } from "../../identity/jwt.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { lackingGrants, newCredentials } from "./users.ts";

const account = newKeyPair("account", systemRandom);
const claimsOf = (role: "admin" | "master") =>
  readClaims(parseCredentials(newCredentials(role, account, 0, systemRandom)).jwt);
const allowing = (allow: unknown) => ({ nats: { type: "user", version: 2 as const, pub: { allow } } });

test("credentials of today lack nothing, and neither do those that may do everything", () => {
  expect(lackingGrants(claimsOf("admin"))).toEqual([]);
  expect(lackingGrants(claimsOf("master"))).toEqual([]);
  for (const allow of [undefined, [], [">"]]) expect(lackingGrants(allowing(allow))).toEqual([]);
});

test("what is gone from the list is lacking, whatever stands beside it", () => {
  const { allow } = claimsOf("admin").nats.pub as { allow: string[] };
  for (const subject of allow) {
    expect(lackingGrants(allowing(allow.filter((one) => one !== subject)))).toEqual([subject]);
  }
});

test("a wildcard covers what it means, and no more", () => {
  const { allow } = claimsOf("admin").nats.pub as { allow: string[] };
  const without = allow.filter((one) => one !== "svc.job.list");
  const lacking = (pattern: string) => lackingGrants(allowing([...without, pattern]));
  for (const pattern of ["svc.job.*", "svc.>", "svc.*.list", "*.*.*"]) expect(lacking(pattern)).toEqual([]);
  for (const pattern of ["svc.job", "svc.job.*.x", "svc.job.list.>", "svc.*", "a.>"]) {
    expect(lacking(pattern)).toEqual(["svc.job.list"]);
  }
});
