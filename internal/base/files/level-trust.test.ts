import { expect, test } from "bun:test";
import { isFixedEntry } from "./level-trust.ts";

const trusted = (uid: number) => uid === 0;
const [root, alice] = [{ uid: 0 }, { uid: 1000 }];
const directory = (uid: number, mode: number) => ({ uid, mode: 0o040000 | mode });

test("an entry of a directory of root is fixed, with any owner of the entry", () => {
  for (const mode of [0o700, 0o755, 0o1755]) {
    expect(isFixedEntry(directory(0, mode), root, trusted)).toBe(true);
    expect(isFixedEntry(directory(0, mode), alice, trusted)).toBe(true);
  }
});

test("an entry is not fixed where another user can write", () => {
  for (const mode of [0o775, 0o757, 0o777, 0o2775]) {
    expect(isFixedEntry(directory(0, mode), root, trusted)).toBe(false);
  }
  for (const mode of [0o700, 0o755, 0o555, 0o1777]) {
    expect(isFixedEntry(directory(1000, mode), root, trusted)).toBe(false);
  }
});

test("in a sticky directory, the entries of trusted users are fixed", () => {
  expect(isFixedEntry(directory(0, 0o1777), root, trusted)).toBe(true);
  expect(isFixedEntry(directory(0, 0o1777), alice, trusted)).toBe(false);
  expect(isFixedEntry(directory(0, 0o1777), alice, () => true)).toBe(true);
});
