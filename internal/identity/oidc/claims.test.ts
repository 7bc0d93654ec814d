import { expect, test } from "bun:test";
import { SvcError } from "../../base/errors.ts";
import { nameOf, rolesOfClaims } from "./claims.ts";
import type { Provider } from "./provider.ts";

const issuer = "https://idp.example.com/realms/ops";
const provider: Provider = {
  issuer,
  audience: "svc",
  role_claims: [
    { claim: "groups", value: "ops", role: "operator" },
    { claim: "sub", value: "repo:acme/web:ref:refs/heads/main", role: "deployer" },
    { claim: "realm_access.roles", value: "look", role: "viewer" },
  ],
};

test.each<[Record<string, unknown>, Partial<Provider>, string]>([
  [
    { sub: "1", email: "ann@example.com", email_verified: true },
    {},
    "ann@example.com@idp.example.com/realms/ops",
  ],
  // What anyone may have written there.
  ...[undefined, false, null, 0, 1, "true"].map((verified) => {
    const claims = { sub: "1", email: "ann@example.com", email_verified: verified };
    return [claims, verified === 0 ? { username_claim: "email" } : {}, "1@idp.example.com/realms/ops"] as [
      Record<string, unknown>,
      Partial<Provider>,
      string,
    ];
  }),
  [
    { sub: "repo:acme/web:ref:refs/heads/main" },
    {},
    "repo:acme/web:ref:refs/heads/main@idp.example.com/realms/ops",
  ],
  [{ sub: "1", login: "ann" }, { username_claim: "login" }, "ann@idp.example.com/realms/ops"],
  [{ sub: "1" }, { issuer: "https://idp.example.com:8443/" }, "1@idp.example.com:8443"],
])("the name of %j with %j is %s", (claims, more, name) => {
  expect(nameOf({ ...provider, ...more }, claims)).toBe(name);
});

test.each<[Record<string, unknown>, Partial<Provider>]>([
  [{}, {}],
  [{ sub: "" }, {}],
  [{ sub: 5 }, {}],
  [{ sub: "a\u202eb" }, {}],
  [{ sub: "a\nb" }, {}],
  [{ sub: "a b" }, {}],
  [{ sub: "a".repeat(129) }, {}],
  [{ sub: "1", email: "ann@example.com" }, { username_claim: "login" }],
  [{ sub: "1" }, { username_claim: "constructor" }],
])("%j with %j has no name", (claims, more) => {
  expect(() => nameOf({ ...provider, ...more }, claims)).toThrow(SvcError);
});

test.each<[Record<string, unknown>, string[]]>([
  [{ groups: ["dev", "ops"] }, ["operator"]],
  [{ groups: "ops" }, ["operator"]],
  [{ groups: "ops,dev" }, []],
  [{ groups: ["OPS"] }, []],
  [{ groups: [["ops"]] }, []],
  [{ groups: { ops: true } }, []],
  [{ realm_access: { roles: ["look"] } }, ["viewer"]],
  [{ "realm_access.roles": [], realm_access: { roles: ["look"] } }, []],
  [{ sub: "repo:acme/web:ref:refs/heads/main", groups: ["ops"] }, ["operator", "deployer"]],
  [{ sub: "repo:acme/web:ref:refs/heads/main2" }, []],
  [{}, []],
])("the roles of %j are %j", (claims, roles) => {
  expect(rolesOfClaims(provider, claims)).toEqual(roles);
});
