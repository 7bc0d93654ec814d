import { expect, test } from "bun:test";
import fc from "fast-check";
import { busKeysOf, maxBusKeys, withBusKey } from "./bus-keys.ts";
import type { BusKey, Enrollment } from "./record.ts";
import { transition } from "./transition.ts";

const base: Enrollment = {
  ...{ id: "enr-000000000000000000000000000", peelId: "web-1", publicKey: "U", curvePublicKey: "X" },
  ...{ state: "active", createdAt: 0, updatedAt: 0 },
};

/** A step: time passes, and the peel renews or recovers with a key that lasts for a while. */
const step = fc.record({
  passes: fc.nat(500),
  lasts: fc.integer({ min: 1, max: 1_000 }),
  type: fc.constantFrom("renew" as const, "recover" as const),
  revokePrevious: fc.boolean(),
});

test("whatever a peel does: at most four unexpired keys, the current one last, and each other one revoked or ended", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = 1_000_000;
      const first: BusKey = { publicKey: "U0", expiresAt: now + 700 };
      let record: Enrollment = {
        ...base,
        ...{ busPublicKey: first.publicKey, credsExpiresAt: first.expiresAt },
        busKeys: [first],
      };
      const made = [first];
      const revoked = new Set<string>();
      for (const [at, { passes, lasts, type, revokePrevious }] of steps.entries()) {
        now += passes;
        const key = { publicKey: `U${at + 1}`, expiresAt: now + lasts };
        const isAll = type === "recover" && revokePrevious;
        for (const one of withBusKey(record, key, { now, revokePrevious: isAll }).revoked) {
          revoked.add(one.publicKey);
        }
        record = transition(record, type === "renew" ? { type, key } : { type, key, revokePrevious }, now);
        made.push(key);
        const listed = busKeysOf(record);
        expect(listed.length).toBeLessThanOrEqual(maxBusKeys);
        expect(listed.at(-1)).toEqual(key);
        expect([record.busPublicKey, record.credsExpiresAt]).toEqual([key.publicKey, key.expiresAt]);
        const names = new Set(listed.map(({ publicKey }) => publicKey));
        expect(names.size).toBe(listed.length);
        // No key is good and forgotten, and no key is listed and revoked or ended.
        for (const { publicKey, expiresAt } of made) {
          expect(names.has(publicKey)).toBe(expiresAt > now && !revoked.has(publicKey));
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("revoked keys leave the list", () => {
  const key = { publicKey: "UA", expiresAt: 9 };
  const issued = transition(
    { ...base, state: "approved" },
    { type: "issue", busPublicKey: "UA", credsExpiresAt: 9 },
    1,
  );
  expect(issued.busKeys).toEqual([key]);
  expect(transition(issued, { type: "revoke", operator: "op" }, 2)).toMatchObject({ busKeys: [] });
});

test("a suspended peel gets no credentials", () => {
  const key = { publicKey: "UB", expiresAt: 9 };
  const suspended: Enrollment = { ...base, suspended: { at: 1, reason: "floods" } };
  const proof = { busPublicKey: "", signedAt: "", signature: new Uint8Array(64) };
  for (const event of [
    { type: "renew" as const, key },
    { type: "recover" as const, key, revokePrevious: true },
    { type: "rekey" as const, key, publicKey: "U2", curvePublicKey: "X2", proof },
  ]) {
    expect(() => transition(suspended, event, 2)).toThrow(expect.objectContaining({ kind: "forbidden" }));
  }
});
