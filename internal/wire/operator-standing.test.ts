import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type KeyPair, newKeyPair } from "../identity/nkey.ts";
import type { Administrator } from "./administrators.ts";
import {
  isSignedOperator,
  type OperatorRecord,
  type SignedOperatorRecord,
  signOperator,
} from "./operator-record.ts";
import { judgeOperator, type Standing } from "./operator-standing.ts";

const now = Date.UTC(2026, 10, 23);
const people = ["root", "second", "anna", "bert", "carl", "dora", "emil"] as const;
type Person = (typeof people)[number];
const keys = Object.fromEntries(
  people.map((name, index) => [name, newKeyPair("user", () => new Uint8Array(32).fill(index + 1))]),
) as Record<Person, KeyPair>;

function recordOf(name: Person, signer: Person, more: Partial<OperatorRecord> = {}): SignedOperatorRecord {
  const { publicKey } = keys[name];
  const record = {
    name,
    publicKey,
    roles: ["admin"],
    createdAt: now,
    createdBy: signer,
    version: 1,
    ...more,
  };
  return signOperator(record, keys[signer]);
}

function standingOf(
  records: readonly SignedOperatorRecord[],
  options: { administrators?: readonly Person[]; floors?: Readonly<Record<string, number>> } = {},
): Standing {
  const { administrators = ["root"], floors = {} } = options;
  return {
    administrators: administrators.map((name): Administrator => ({ name, publicKey: keys[name].publicKey })),
    find: (name) => records.find((one) => one.name === name),
    removed: () => undefined,
    holdersOf: (key) => records.filter(({ publicKey }) => publicKey === key),
    versionFloor: (name) => floors[name] ?? 0,
    isSigned: isSignedOperator,
  };
}

const judge = (standing: Standing, name: Person, at = now) =>
  judgeOperator(standing, name, keys[name].publicKey, at);
const refusal = (standing: Standing, name: Person, at = now) => {
  const judged = judge(standing, name, at);
  return "refused" in judged ? judged.refused : "";
};

const chain = [
  recordOf("anna", "root"),
  recordOf("bert", "anna"),
  recordOf("carl", "bert"),
  recordOf("dora", "carl"),
  recordOf("emil", "dora"),
];

describe("the chain", () => {
  test("an administrator of the file is an operator without a record", () => {
    expect(judge(standingOf([]), "root")).toEqual({
      operator: { name: "root", publicKey: keys.root.publicKey, roles: ["admin"] },
    });
  });

  test("has at most 4 signatures, that of the file's key included", () => {
    const standing = standingOf(chain);
    for (const name of ["anna", "bert", "carl", "dora"] as const) {
      expect([name, refusal(standing, name)]).toEqual([name, ""]);
    }
    expect(refusal(standing, "emil")).toContain("not signed by an administrator who counts now");
  });

  test("is broken by one who has no role admin, however far above", () => {
    const others = chain.filter(({ name }) => name !== "anna");
    const viewer = standingOf([...others, recordOf("anna", "root", { roles: ["operator"] })]);
    expect(refusal(viewer, "anna")).toBe("");
    expect(refusal(viewer, "bert")).toContain("not signed by an administrator who counts now");
    expect(refusal(viewer, "carl")).toContain("not signed by an administrator who counts now");
  });

  test.each<[string, Partial<OperatorRecord>]>([
    ["disabled", { disabled: true }],
    ["expired", { expiresAt: now }],
  ])("is broken by one who is %s now, whenever it signed", (_, state) => {
    const others = chain.filter(({ name }) => name !== "anna");
    expect(refusal(standingOf([...others, recordOf("anna", "root", state)]), "bert")).not.toBe("");
  });

  test("of two who sign for each other ends nowhere", () => {
    const standing = standingOf([recordOf("anna", "bert"), recordOf("bert", "anna")]);
    expect([refusal(standing, "anna"), refusal(standing, "bert")]).toEqual([
      expect.stringContaining("not signed by an administrator"),
      expect.stringContaining("not signed by an administrator"),
    ]);
  });

  test("operators cannot sign for themselves", () => {
    expect(refusal(standingOf([recordOf("anna", "anna")]), "anna")).toContain(
      "not signed by an administrator",
    );
  });

  test("continues through another signer when the first is gone", () => {
    const standing = standingOf([recordOf("bert", "second")], { administrators: ["root", "second"] });
    expect(refusal(standing, "bert")).toBe("");
    expect(refusal(standingOf([recordOf("bert", "second")]), "bert")).not.toBe("");
  });
});

describe("an operator is refused", () => {
  const standing = (record: SignedOperatorRecord, floor = 0) =>
    standingOf([record], { floors: { anna: floor } });
  test.each<[string, Standing, string]>([
    ["that is unknown", standingOf([]), "the operator anna does not exist"],
    ["that was removed", standingOf([], { floors: { anna: 4 } }), "was removed"],
    ["that is disabled", standing(recordOf("anna", "root", { disabled: true })), "anna is disabled"],
    ["whose end has come", standing(recordOf("anna", "root", { expiresAt: now })), "ended at 2026-11-23"],
    ["whose record is an old one", standing(recordOf("anna", "root", { version: 3 }), 4), "version 3"],
    [
      "whose record says more than was signed",
      standing({ ...recordOf("anna", "root", { roles: ["viewer"] }), roles: ["admin"] }),
      "not signed as it is stored",
    ],
    [
      "whose record names another signer",
      standing({ ...recordOf("anna", "bert"), key: keys.root.publicKey }),
      "not signed as it is stored",
    ],
  ])("%s", (_, against, reported) => {
    expect(refusal(against, "anna")).toContain(reported);
  });

  test("with another key than its own", () => {
    const judged = judgeOperator(standingOf(chain), "anna", keys.bert.publicKey, now);
    expect(judged).toEqual({ refused: expect.stringContaining("anna has another key") });
  });

  test("until its end, and not after", () => {
    const ends = standing(recordOf("anna", "root", { expiresAt: now + 1 }));
    expect([refusal(ends, "anna"), refusal(ends, "anna", now + 1)]).toEqual([
      "",
      expect.stringContaining("ended"),
    ]);
  });
});

describe("an administrator of the file", () => {
  const both = { administrators: ["root", "second"] as const };
  const disabling = recordOf("root", "second", { disabled: true });

  test("is disabled by another one, and with it those it signed for", () => {
    const standing = standingOf([disabling, recordOf("anna", "root")], both);
    expect(refusal(standing, "root")).toContain("disabled");
    expect(refusal(standing, "anna")).toContain("not signed by an administrator");
  });

  test("is not disabled by an operator with role admin, nor by itself", () => {
    const byAnna = [recordOf("anna", "second"), recordOf("root", "anna", { disabled: true })];
    expect(refusal(standingOf(byAnna, both), "root")).toBe("");
    expect(refusal(standingOf([recordOf("root", "root", { disabled: true })], both), "root")).toBe("");
  });

  test("stays disabled when the record is taken away, replaced or forged", () => {
    const floors = { root: 1 };
    const known = { ...both, floors };
    const forged = { ...recordOf("root", "second", { version: 9 }), signature: new Uint8Array(64) };
    const byAnna = recordOf("root", "anna", { version: 9 });
    for (const records of [[], [forged], [byAnna], [recordOf("root", "root", { version: 9 })]]) {
      expect(refusal(standingOf(records, known), "root")).toContain("disabled");
    }
  });

  test("two that disable each other are both disabled, and neither enables the other", () => {
    const mutual = [disabling, recordOf("second", "root", { disabled: true })];
    const standing = standingOf(mutual, both);
    expect([refusal(standing, "root"), refusal(standing, "second")]).toEqual([
      expect.stringContaining("disabled"),
      expect.stringContaining("disabled"),
    ]);
    const enabling = [recordOf("root", "second", { version: 2 }), recordOf("second", "root", { version: 2 })];
    const undone = standingOf(enabling, { ...both, floors: { root: 1, second: 1 } });
    expect([refusal(undone, "root"), refusal(undone, "second")]).toEqual([
      expect.stringContaining("disabled"),
      expect.stringContaining("disabled"),
    ]);
  });

  test("is enabled by another one who counts", () => {
    const enabled = recordOf("root", "second", { version: 2 });
    expect(refusal(standingOf([enabled], { ...both, floors: { root: 2 } }), "root")).toBe("");
  });

  test("has no roles but admin, and no key but that of the file, whatever a record says", () => {
    const record = signOperator(
      { ...recordOf("root", "second"), publicKey: keys.anna.publicKey, roles: ["viewer"] },
      keys.second,
    );
    const standing = standingOf([record], both);
    expect(judge(standing, "root")).toMatchObject({ operator: { roles: ["admin"] } });
    expect(judgeOperator(standing, "root", keys.anna.publicKey, now)).toHaveProperty("refused");
  });
});

describe("for every registry", () => {
  const person = fc.constantFrom(...people);
  const records = fc
    .array(
      fc.record({
        name: person,
        signer: person,
        roles: fc.constantFrom(["admin"], ["viewer"]),
        disabled: fc.boolean(),
        expired: fc.boolean(),
        forged: fc.boolean(),
      }),
      { maxLength: 8 },
    )
    .map((drawn) => {
      const byName = new Map<string, SignedOperatorRecord>();
      for (const { name, signer, roles, disabled, expired, forged } of drawn) {
        const made = recordOf(name, signer, {
          roles,
          ...(disabled ? { disabled: true as const } : {}),
          ...(expired ? { expiresAt: now - 1 } : {}),
        });
        byName.set(name, forged ? { ...made, signature: new Uint8Array(64) } : made);
      }
      return [...byName.values()];
    });
  const administrators = fc.subarray(["root", "second"] as const);

  test("nobody counts without a key of the file", () => {
    fc.assert(
      fc.property(records, (all) => {
        const standing = standingOf(all, { administrators: [] });
        for (const name of people) expect(judge(standing, name)).toHaveProperty("refused");
      }),
    );
  });

  test("who counts was signed for, step by step, by one who counts and has role admin", () => {
    fc.assert(
      fc.property(records, administrators, (all, listed) => {
        const standing = standingOf(all, { administrators: listed });
        for (const name of people) {
          const judged = judge(standing, name);
          if ("refused" in judged || listed.includes(name as "root")) continue;
          const record = standing.find(name);
          const signer = people.find((one) => keys[one].publicKey === record?.key);
          expect(signer).toBeDefined();
          if (signer === undefined) return;
          expect(judge(standing, signer)).toMatchObject({ operator: { roles: ["admin"] } });
        }
      }),
    );
  });

  test("a record that is taken away lets nobody in who was refused, except administrators it had disabled", () => {
    fc.assert(
      fc.property(records, administrators, fc.nat(), (all, listed, pick) => {
        const gone = all[pick % Math.max(1, all.length)];
        if (gone === undefined || listed.includes(gone.name as "root")) return;
        const before = standingOf(all, { administrators: listed });
        const after = standingOf(
          all.filter((one) => one !== gone),
          { administrators: listed },
        );
        for (const name of people) {
          if ("operator" in judge(after, name)) expect(judge(before, name)).toHaveProperty("operator");
        }
      }),
    );
  });
});
