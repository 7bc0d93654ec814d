import { expect, test } from "bun:test";
import { bindings, operations } from "../../../test/harness/every-door.ts";
import { systemRandom } from "../../base/id.ts";
import { encodeOperatorUser, everyones } from "../../bus/accounts/operator-users.ts";
import { newCredentials } from "../../bus/accounts/users.ts";
import { nameOfScope, type Scope } from "../../fleet/operation/scope.ts";
import { roleDoors } from "../../fleet/roles/doors.ts";
import { targetDoors } from "../../fleet/targeting/doors.ts";
import { newKeyPair, parseCredentials, readClaims } from "../../identity/mod.ts";
import { subjectsOfScopes } from "./grants.ts";

// The JWT of an operator and the operations agree: the holder of a scope may send requests to its subject, and nobody
// else.

const account = newKeyPair("account", systemRandom);
const signer = { ...account, issuerAccount: account.publicKey };
/** The patterns that the JWT of an operator with these scopes has. */
function patternsOf(scopes: readonly string[]): string[] {
  const user = { name: "ann", publicKey: account.publicKey, issuedAt: 0, expiresAt: 60 };
  const { tags } = readClaims(encodeOperatorUser({ ...user, scopes }, signer, subjectsOfScopes)).nats;
  return (tags as string[]).flatMap((tag) =>
    tag.startsWith("ask:") ? [`svc.${tag.slice("ask:".length)}`] : [],
  );
}
/** A wildcard is a whole token. */
const covers = (pattern: string, subject: string) => {
  const [tokens, requested] = [pattern.split("."), subject.split(".")];
  return (
    tokens.length === requested.length &&
    tokens.every((token, at) => token === "*" || token === requested[at])
  );
};
const maySend = (scopes: readonly string[], subject: string) =>
  patternsOf(scopes).some((pattern) => covers(pattern, subject.replace("*", "job-1")));

const names = [
  ...new Set(operations.flatMap(({ scope }) => (typeof scope === "string" ? [] : [nameOfScope(scope)]))),
];
const isOfMaster = (subject: string) => subject.includes(".decisions-");

test.each(bindings.map((binding) => [binding.bus.subject, binding] as const))(
  "%s may be requested with its scope",
  (subject, { operation }) => {
    const { scope } = operation as { scope: Scope | "self" | "public" };
    if (scope === "public") return;
    if (scope === "self") return expect(everyones).toContain(subject);
    // Only a wildcard stands for the name of a master.
    const held = isOfMaster(subject)
      ? names.filter((name) => name.startsWith("enrollments "))
      : [nameOfScope(scope)];
    expect(maySend(held, subject)).toBe(true);
  },
);

test("no scope may send requests to the subject of another one, but where its table names it", () => {
  for (const scope of names) {
    const allowed = bindings.flatMap(({ bus: { subject } }) => (maySend([scope], subject) ? [subject] : []));
    const own = (subjectsOfScopes[scope] ?? []).filter((subject) => !subject.includes("{"));
    expect([scope, allowed.sort()]).toEqual([scope, [...new Set(own)].sort()]);
  }
});

test.each(["jobs run", "rollouts start", "upgrades start"])(
  "the holder of %s may ask what it signs: which peels, and how many others must agree",
  (scope) => {
    expect(maySend([scope], targetDoors.resolveTarget.bus.subject)).toBe(true);
    expect(everyones).toContain(roleDoors.mayDo.bus.subject);
  },
);

test("a scope that only reads changes nothing", () => {
  const changing = bindings.filter(({ operation }) => (operation as { kind: string }).kind !== "read");
  for (const scope of names.filter((name) => / (?:list|show|read)$/.test(name))) {
    const allowed = changing
      .filter(({ bus: { subject } }) => maySend([scope], subject))
      .map(({ bus }) => bus.subject);
    expect([scope, allowed]).toEqual([scope, []]);
  }
});

test("what everyone may send are operations about the sender, and whether a master is ready", () => {
  const self = bindings.filter(({ operation }) => (operation as { scope: unknown }).scope === "self");
  expect([...everyones].sort()).toEqual(
    [...self.map(({ bus }) => bus.subject), "svc.master.*.readyz"].sort(),
  );
});

test("credentials of admin reach every operation that takes requests without a signature", () => {
  const { jwt } = parseCredentials(newCredentials("admin", account, 0, systemRandom));
  const { allow } = readClaims(jwt).nats.pub as { allow: string[] };
  for (const { bus } of bindings)
    expect([bus.subject, allow.some((pattern) => covers(pattern, bus.subject))]).toEqual([bus.subject, true]);
});
