import { expect, test } from "bun:test";
import { drawFaults, type Fault, faultKinds } from "./schedule.ts";

const first = (count: number, seed: number): Fault[] => drawFaults(seed, faultKinds).take(count).toArray();

test("the same seed draws the same faults, another one does not", () => {
  expect(first(100, 7)).toEqual(first(100, 7));
  expect(first(100, 7)).not.toEqual(first(100, 8));
});

test("every kind comes once before any comes again", () => {
  const kinds = first(2 * faultKinds.length, 3).map(({ kind }) => kind);
  expect(kinds.slice(0, faultKinds.length).sort()).toEqual([...faultKinds].sort());
  expect(kinds.slice(faultKinds.length).sort()).toEqual([...faultKinds].sort());
});
