import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Outcome, outcomes } from "./outcome.ts";
import { outcomesOf, placesOf } from "./outcome-places.ts";
import type { Settled } from "./record.ts";

const settledOf = (found: readonly Outcome[], targets: readonly string[]): Settled => {
  const counts: Settled["counts"] = {};
  for (const outcome of found) counts[outcome] = (counts[outcome] ?? 0) + 1;
  const offline = targets.filter((_, place) => found[place] === "offline");
  const places = placesOf(found);
  return { status: "failed", counts, finishedAt: 0, offline, ...(places === undefined ? {} : { places }) };
};
const namesOf = (found: readonly Outcome[]) => found.map((_, place) => `web-${place}`);

test("outcomes survive the record, whatever they are", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...outcomes)), (found) => {
      const targets = namesOf(found);
      expect(outcomesOf(targets, settledOf(found, targets))).toEqual(found);
    }),
  );
});

test("the most frequent outcome takes no room", () => {
  expect(placesOf(["ok", "ok", "failed", "ok"])).toEqual({ failed: [2] });
  expect(placesOf(["failed", "ok"])).toEqual({ failed: [0] });
  expect(placesOf(["ok", "ok"])).toBeUndefined();
  expect(placesOf(["ok", "offline"])).toBeUndefined();
  expect(placesOf([])).toBeUndefined();
});

test("places outside of the list are ignored", () => {
  const forged: Settled = {
    ...{ status: "failed", counts: { ok: 1 }, finishedAt: 0, offline: [], places: { failed: [7] } },
  };
  expect(outcomesOf(["web-1"], forged)).toEqual(["ok"]);
});
