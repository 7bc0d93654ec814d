import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SvcError } from "../../../base/errors.ts";
import { formerFrom } from "./former.ts";
import type { Labels } from "./labels.ts";
import { type Enrollment, type EnrollmentState, enrollmentStates } from "./record.ts";
import { type EnrollmentEvent, transition, transitions } from "./transition.ts";

const base: Enrollment = {
  id: "enr-000000000000000000000000000",
  peelId: "web-1",
  publicKey: "U",
  curvePublicKey: "X",
  state: "pending",
  createdAt: 0,
  updatedAt: 0,
};

const labels = fc.dictionary(fc.constantFrom("env", "rack"), fc.string({ maxLength: 2 }));
const key = fc.record({ publicKey: fc.string({ maxLength: 2 }), expiresAt: fc.nat(60) });
const event = fc.oneof(
  fc.record(
    { type: fc.constant("approve" as const), operator: fc.string(), force: fc.boolean(), labels },
    { requiredKeys: ["type", "operator", "force"] },
  ),
  fc.record({ type: fc.constant("reject" as const), operator: fc.string(), reason: fc.string() }),
  fc.record({ type: fc.constant("issue" as const), busPublicKey: fc.string(), credsExpiresAt: fc.nat() }),
  fc.record({ type: fc.constant("activate" as const) }),
  fc.record({ type: fc.constant("revoke" as const), operator: fc.string(), reason: fc.string() }),
  fc.record({ type: fc.constant("suspend" as const), operator: fc.string(), reason: fc.string() }),
  fc.record({ type: fc.constant("resume" as const), operator: fc.string() }),
  fc.record({ type: fc.constant("renew" as const), key }),
  fc.record({ type: fc.constant("recover" as const), key, revokePrevious: fc.boolean() }),
  fc.record({
    ...{ type: fc.constant("rekey" as const), key, publicKey: fc.string(), curvePublicKey: fc.string() },
    proof: fc.constant({ busPublicKey: "", signedAt: "", signature: new Uint8Array(64) }),
  }),
  fc.record({ type: fc.constant("suspect-clone" as const) }),
  fc.record({ type: fc.constant("clear-clone" as const), operator: fc.string() }),
  fc.record({
    type: fc.constant("prove" as const),
    evidence: fc.constant({ type: "ssh" as const, fields: { host: "web-1" } }),
  }),
  fc.record({ type: fc.constant("label" as const), labels }),
  fc.record({ type: fc.constant("hold" as const), by: fc.constant("token:jtk-1"), labels }),
  fc.constant({ type: "promote" as const }),
) satisfies fc.Arbitrary<EnrollmentEvent>;

// The table of the specification, written a second time to detect mistakes in the code.
const specified = new Set([
  "pending approve approved",
  "pending reject rejected",
  "approved issue issued",
  "approved revoke revoked",
  "approved recover issued",
  "issued activate active",
  "issued revoke revoked",
  "active revoke revoked",
  "issued suspend issued",
  "issued resume issued",
  "active suspend active",
  "active resume active",
  "pending label pending",
  "pending prove pending",
  "pending hold pending",
  "pending promote pending",
  "approved label approved",
  ...["issued", "active"].flatMap((state) =>
    ["renew", "recover", "rekey", "suspect-clone", "clear-clone", "note-copy", "label"].map(
      (type) => `${state} ${type} ${state}`,
    ),
  ),
]);

test("the table holds exactly the specified transitions", () => {
  const rows = Object.entries(transitions).flatMap(([from, row]) =>
    Object.entries(row).map(([type, to]) => `${from} ${type} ${to}`),
  );
  expect(new Set(rows)).toEqual(specified);
});

test("no sequence of events leaves the table, and a refused event changes nothing", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), fc.boolean(), (events, mismatch) => {
      let record: Enrollment = { ...base, trustMismatch: mismatch };
      let now = 1;
      for (const next of events) {
        const before = structuredClone(record);
        try {
          const after = transition(record, next, ++now);
          expect(specified).toContain(`${before.state} ${next.type} ${after.state}`);
          expect(enrollmentStates).toContain(after.state);
          expect(after.updatedAt).toBe(now);
          expect([after.id, after.peelId]).toEqual([before.id, before.peelId]);
          // Only a change of keys changes the key, and it names the one before.
          if (next.type === "rekey") expect(after.previousPublicKey).toBe(before.publicKey);
          else expect(after.publicKey).toBe(before.publicKey);
          record = after;
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(SvcError);
          expect(record).toEqual(before);
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test("rejected and revoked are final", () => {
  for (const state of ["rejected", "revoked"] as EnrollmentState[]) {
    fc.assert(
      fc.property(event, (next) => {
        expect(() => transition({ ...base, state }, next, 1)).toThrow(
          expect.objectContaining({ kind: "invalid_transition" }),
        );
      }),
    );
  }
});

test("a trust mismatch is approved only by force", () => {
  const record = { ...base, trustMismatch: true };
  expect(() => transition(record, { type: "approve", operator: "ann", force: false }, 1)).toThrow(
    expect.objectContaining({ kind: "trust_mismatch" }),
  );
  expect(transition(record, { type: "approve", operator: "ann", force: true }, 7)).toMatchObject({
    state: "approved",
    decidedBy: "ann",
    decidedAt: 7,
  });
});

describe("a peel that is moved to another site", () => {
  const active: Enrollment = { ...base, state: "active", credsExpiresAt: 100, labels: { site: "a" } };
  const move = (record: Enrollment, now: number, ...sites: string[]) =>
    sites.reduce((before, site) => transition(before, { type: "label", labels: { site } }, now), record);

  test("may be at the sites before until its credentials of that time end", () => {
    expect(move(active, 9, "b", "c").leftSites).toEqual([
      { site: "a", until: 100 },
      { site: "b", until: 100 },
    ]);
    const renewed = { ...move(active, 9, "b"), credsExpiresAt: 200 };
    expect(move(renewed, 50, "c").leftSites).toEqual([
      { site: "a", until: 100 },
      { site: "b", until: 200 },
    ]);
    expect(move(renewed, 100, "c").leftSites).toEqual([{ site: "b", until: 200 }]);
    expect(transition(active, { type: "label", labels: {} }, 9).leftSites).toEqual([
      { site: "a", until: 100 },
    ]);
  });

  test("left nothing when it returns, has no credentials, or only other labels change", () => {
    expect(move(active, 9, "b", "a").leftSites).toEqual([{ site: "b", until: 100 }]);
    expect(move(active, 100, "b").leftSites).toBeUndefined();
    const { credsExpiresAt: _, ...waiting } = active;
    expect(move(waiting, 9, "b").leftSites).toBeUndefined();
    const labels = { site: "a", env: "lab" };
    expect(transition(active, { type: "label", labels }, 9).leftSites).toBeUndefined();
  });

  test("is remembered at four sites at most", () => {
    expect(move(active, 9, "b", "c", "d", "e", "f").leftSites?.map(({ site }) => site)).toEqual([
      ...["b", "c", "d", "e"],
    ]);
  });
});

test("labels are replaced as a whole, and decide nothing", () => {
  const active: Enrollment = {
    ...base,
    state: "active",
    decidedBy: "ann",
    labels: { env: "lab", rack: "7" },
  };
  const label = (set: Record<string, string>) => transition(active, { type: "label", labels: set }, 9);
  expect(label({ env: "prod" })).toEqual({ ...active, labels: { env: "prod" }, updatedAt: 9 });
  expect(label({})).not.toHaveProperty("labels");
});

test("a suspension keeps the state and its first reason, and ends by a resume or a revocation", () => {
  const active: Enrollment = { ...base, state: "active" };
  const suspend = (reason: string) => ({ type: "suspend" as const, operator: "op", reason });
  const suspended = transition(transition(active, suspend("first"), 7), suspend("second"), 8);
  expect(suspended).toMatchObject({ state: "active", suspended: { at: 7, reason: "first" } });
  expect(transition(suspended, { type: "resume", operator: "op" }, 9)).toEqual({
    ...active,
    decidedBy: "op",
    updatedAt: 9,
  });
  expect(transition(suspended, { type: "revoke", operator: "op" }, 9).suspended).toBeUndefined();
  expect(() => transition(active, { type: "resume", operator: "op" }, 9)).toThrow("it is not suspended");
});

describe("an approval gives the labels of the enrollment before", () => {
  const former = { enrollment: "enr-000000000000000000000000001", labels: { team: "db", rack: "7" } };
  const approve = (record: Partial<Enrollment>, more: { labels?: Labels; dropLabels?: boolean } = {}) =>
    transition(
      { ...base, former, ...record },
      { type: "approve", operator: "ann", force: false, ...more },
      9,
    );

  test.each<[Partial<Enrollment>, { labels?: Labels; dropLabels?: boolean }, Labels | undefined]>([
    [{}, {}, { team: "db", rack: "7" }],
    [{ labels: { rack: "8", env: "lab" } }, {}, { team: "db", rack: "8", env: "lab" }],
    [{}, { labels: { rack: "9" } }, { team: "db", rack: "9" }],
    [{}, { dropLabels: true }, undefined],
    [{ labels: { env: "lab" } }, { dropLabels: true }, { env: "lab" }],
  ])("%j approved with %j has %j", (record, more, expected) => {
    const approved = approve(record, more);
    expect(approved.labels).toEqual(expected);
    expect(approved).not.toHaveProperty("former");
  });

  test("but not more than a peel may have", () => {
    const many = Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`n${at}`, ""]));
    expect(() => approve({ labels: many })).toThrow("must be at most 32 labels");
    expect(approve({ labels: many }, { dropLabels: true }).labels).toEqual(many);
  });

  test("what ended passes on what its peel had, or would have had", () => {
    const { id } = base;
    const labels = { team: "db" };
    expect(formerFrom(undefined)).toEqual({});
    expect(formerFrom({ ...base, state: "revoked" })).toEqual({});
    expect(formerFrom({ ...base, state: "revoked", labels })).toEqual({ former: { enrollment: id, labels } });
    // Labels of a host that nobody approved were never in force.
    expect(formerFrom({ ...base, state: "rejected", labels })).toEqual({});
    expect(formerFrom({ ...base, state: "rejected", labels, former })).toEqual({ former });
  });
});
