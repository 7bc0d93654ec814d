import { expect, test } from "bun:test";
import fc from "fast-check";
import { type AdoptionView, decideAdoption, olderMasters } from "./decide-adoption.ts";

const quietMs = 30_000;
const now = 100_000;
const view = (more: Partial<AdoptionView> = {}): AdoptionView => ({
  masters: [{ name: "new", vouches: true, seenAt: now }],
  watchedSince: now - quietMs,
  quietMs,
  isEmpty: false,
  unvouched: 3,
  allowed: true,
  ...more,
});
const old = (name: string, seenAt: number) => ({ name, vouches: false, seenAt });

test("records are adopted when no master of an earlier version was seen for long enough", () => {
  expect(decideAdoption(view(), now)).toEqual({ adopt: true });
  expect(decideAdoption(view({ masters: [old("a", now - quietMs)] }), now)).toEqual({ adopt: true });
});

test("masters of an earlier version are waited for, by name, whatever is stored", () => {
  const masters = [old("b", now - 1_000), old("a", now - 20_000), { ...old("c", now), vouches: true }];
  for (const more of [{}, { isEmpty: true }, { unvouched: 0 }, { watchedSince: 0 }]) {
    expect(decideAdoption(view({ masters, ...more }), now)).toEqual({
      ...{ adopt: false, because: "older masters run" },
      ...{ older: ["a", "b"], lookAgainInMs: 10_000 },
    });
  }
});

test("a master that starts waits for those that are not connected right now, but not in a new fleet", () => {
  const starting = { watchedSince: now - 1_000, masters: [] };
  expect(decideAdoption(view(starting), now)).toEqual({
    ...{ adopt: false, because: "older masters may run" },
    lookAgainInMs: quietMs - 1_000,
  });
  expect(decideAdoption(view({ ...starting, isEmpty: true, unvouched: 0 }), now)).toEqual({ adopt: true });
});

test("where an operator must allow it, only records without vouchers wait for that", () => {
  expect(decideAdoption(view({ allowed: false }), now)).toEqual({
    ...{ adopt: false, because: "an operator must allow it" },
  });
  expect(decideAdoption(view({ allowed: false, unvouched: 0 }), now)).toEqual({ adopt: true });
});

test("nothing is ever adopted while a master of an earlier version may run, and each wait ends", () => {
  const masters = fc.array(
    fc.record({
      name: fc.string(),
      vouches: fc.boolean(),
      seenAt: fc.integer({ min: now - 2 * quietMs, max: now }),
    }),
  );
  const views = fc.record({
    ...{ masters, watchedSince: fc.integer({ min: 0, max: now }), quietMs: fc.constant(quietMs) },
    ...{ isEmpty: fc.boolean(), unvouched: fc.nat(3), allowed: fc.boolean() },
  });
  fc.assert(
    fc.property(views, (found) => {
      const decision = decideAdoption(found, now);
      if (olderMasters(found, now).length > 0) expect(decision.adopt).toBe(false);
      if ("lookAgainInMs" in decision) {
        expect(decision.lookAgainInMs).toBeGreaterThan(0);
        expect(decision.lookAgainInMs).toBeLessThanOrEqual(quietMs);
      }
    }),
  );
});
