import { describe, expect, test } from "bun:test";
import { lacksForLabels } from "./label-right.ts";
import { makerOf } from "./maker.ts";
import { readRoles } from "./read-roles.ts";

const { book } = readRoles(
  `
roles:
  web:
    enrollments: [{do: label, labels: {team: [web], rack: ['*']}}]
  two:
    enrollments: [{do: label, approvals: 1}]
`,
  "roles.yaml",
);

describe("who gives labels to hosts that join", () => {
  test.each<[string[] | undefined, object, object, string | undefined]>([
    [["web"], { team: "web" }, { rack: "7" }, undefined],
    [["web"], { team: "db" }, {}, "enrollments label team=db"],
    [["web"], {}, { team: "db" }, "enrollments label team=db"],
    // The token has another value for it.
    [["web"], { team: "web" }, { team: "db" }, undefined],
    [[], { rack: "7" }, {}, "enrollments label rack=7"],
    [["gone"], {}, { rack: "7" }, "enrollments label rack=7"],
    [["admin"], { team: "db" }, { owner: "ann" }, undefined],
    [undefined, { team: "db" }, { owner: "ann" }, undefined],
    // Others agreed to what it gives itself, and saw nothing else.
    [["two"], { team: "db" }, {}, undefined],
    [["two"], {}, { team: "db" }, "enrollments label team=db"],
  ])("%j with %j and earlier %j lacks %j", (names, own, former, lacking) => {
    expect(lacksForLabels(book, names, { own, former } as never)).toBe(lacking as never);
  });
});

test("is kept by what identifies them", () => {
  const ann = { kind: "operator", name: "ann", door: "rest" } as const;
  expect(makerOf({ caller: ann })).toEqual({ name: "ann" });
  expect(makerOf({ caller: { ...ann, roles: ["web"], key: "U1" } })).toEqual({
    ...{ name: "ann", roles: ["web"], key: "U1" },
  });
  const token = { kind: "token", id: "tok-1", creator: "ann" } as const;
  expect(makerOf({ caller: { ...ann, roles: [], bearer: token } })).toEqual({
    ...{ name: "ann", roles: [], bearer: "tok-1" },
  });
  const oidc = { kind: "oidc", issuer: "https://id.example.com", subject: "7" } as const;
  expect(makerOf({ caller: { ...ann, roles: ["web"], bearer: oidc } })).toEqual({
    ...{ name: "ann", roles: ["web"], bearer: "oidc", issuer: "https://id.example.com" },
  });
  expect(makerOf({ caller: { kind: "reactor", rule: "r", door: "reactor" } })).toBeUndefined();
});
