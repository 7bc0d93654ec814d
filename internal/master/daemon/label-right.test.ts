import { expect, test } from "bun:test";
import type { Maker } from "../../fleet/roles/mod.ts";
import { readRoles } from "../../fleet/roles/read-roles.ts";
import { createLabelRight } from "./label-right.ts";

// Who made a join token may have left since, or have other roles.

const { book } = readRoles("roles: {web: {enrollments: [{do: label, labels: {team: [web]}}]}}", "roles.yaml");
const labels = { own: { team: "web" }, former: {} };
const lacking = "enrollments label team=web";
const refused = { refused: "disabled" };
const right = createLabelRight({
  roles: { current: () => book },
  rolesOfSigner: (name) => (name === "ann" ? { roles: ["web"] } : refused),
  signIn: {
    rolesNow: (name, bearer) => (name === "ann" && bearer !== "tok-gone" ? ["web"] : undefined),
    async standingOf(who) {
      if (who.by === "unregistered") return who.name === "ann" ? {} : refused;
      return who.by === "oidc" && who.issuer === "https://id" ? { roles: who.roles } : refused;
    },
  },
});

test.each<[Maker | undefined, string | undefined]>([
  [{ name: "ann", roles: [], key: "U1" }, undefined],
  [{ name: "ben", roles: ["web"], key: "U1" }, lacking],
  [{ name: "ann", roles: [], bearer: "file" }, undefined],
  [{ name: "ben", roles: ["web"], bearer: "file" }, lacking],
  [{ name: "ann", roles: ["web"], bearer: "tok-gone" }, lacking],
  [{ name: "ann", roles: ["web"], bearer: "oidc", issuer: "https://id" }, undefined],
  [{ name: "ann", roles: ["viewer"], bearer: "oidc", issuer: "https://id" }, lacking],
  [{ name: "ann", roles: ["web"], bearer: "oidc", issuer: "https://other" }, lacking],
  [{ name: "ann", roles: ["web"] }, undefined],
  [{ name: "ann" }, undefined],
  [{ name: "ben" }, lacking],
  [undefined, lacking],
])("%j lacks %j", async (maker, expected) => {
  expect(await right(maker, labels)).toBe(expected as never);
});

test("what gives no labels is not judged", async () => {
  expect(await right(undefined, { own: {}, former: {} })).toBeUndefined();
});
