import { expect, test } from "bun:test";
import { bindings } from "../../../test/harness/every-door.ts";
import { everyones, grantsOfScopes } from "../../bus/accounts/operator-users.ts";
import { nameOfScope, type Scope, type ScopeKind, scopes } from "../../fleet/operation/mod.ts";
import { roleDoors } from "../../fleet/roles/doors.ts";
import { targetDoors } from "../../fleet/targeting/doors.ts";

// The JWT of an operator and the operations agree: who has a scope may ask on its subject, and nobody else.

const names = (Object.keys(scopes) as ScopeKind[]).flatMap((kind) =>
  scopes[kind].map((action) => nameOfScope({ kind, action } as Scope)),
);

/** A wildcard is a whole token. */
const covers = (pattern: string, subject: string) => {
  const [tokens, asked] = [pattern.split("."), subject.split(".")];
  return tokens.length === asked.length && tokens.every((token, at) => token === "*" || token === asked[at]);
};
const mayAsk = (scope: string, subject: string) =>
  (grantsOfScopes[scope] ?? []).some(({ ask = [] }) =>
    ask.some((pattern) => covers(`svc.${pattern}`, subject.replace("*", "job-1"))),
  );

test("every row of the table is a scope", () => {
  expect(Object.keys(grantsOfScopes).filter((name) => !names.some((one) => one === name))).toEqual([]);
});

test.each(bindings.map((binding) => [binding.bus.subject, binding] as const))(
  "%s may be requested with its scope",
  (subject, { operation }) => {
    const { scope } = operation as { scope: Scope | "self" | "public" };
    if (scope === "public") return;
    if (scope === "self") return expect(everyones).toContain(subject);
    // Its subject has the name of the master; who has every scope of enrollments may ask.
    if (subject.includes(".decisions-")) return;
    expect(mayAsk(nameOfScope(scope), subject)).toBe(true);
  },
);

test.each(["jobs run", "rollouts start", "upgrades start"])(
  "the holder of %s may ask what it signs: which peels, and how many others must agree",
  (scope) => {
    for (const { bus } of [targetDoors.resolveTarget, roleDoors.mayDo])
      expect(mayAsk(scope, bus.subject)).toBe(true);
  },
);

test("a scope that only reads asks on no subject of what changes something", () => {
  const changing = bindings.filter(({ operation }) => (operation as { kind: string }).kind !== "read");
  for (const scope of names.filter((name) => / (?:list|show|read)$/.test(name))) {
    const allowed = changing
      .filter(({ bus: { subject } }) => mayAsk(scope, subject))
      .map(({ bus }) => bus.subject);
    expect([scope, allowed]).toEqual([scope, []]);
  }
});
