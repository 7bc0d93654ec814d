import { expect, test } from "bun:test";
import type { CommitObject } from "./commit.ts";
import { type Evidence, judgeMoved } from "./judge.ts";

// Histories of any length, which are not made with git.

const idOf = (i: number) => i.toString(16).padStart(40, "0");

/** A chain of signed commits: each has the one before as its parent. `held` is how many of the newest are on the host. */
function chain(length: number, held = length) {
  const deepened: number[] = [];
  const read: number[] = [];
  let from = length - held;
  const evidence: Evidence = {
    async commit(id) {
      const i = Number.parseInt(id, 16);
      read.push(i);
      if (i < from) return undefined;
      const parents = i === 0 ? [] : [idOf(i - 1)];
      return { id, tree: id, parents, hasSignature: true } satisfies CommitObject;
    },
    isSigned: async () => true,
    isReleased: async () => false,
    async deepen(depth) {
      deepened.push(depth);
      from = Math.max(0, length - depth);
    },
  };
  return { evidence, deepened, read };
}

const moved = (to: number, from: number) => ({
  ...{ name: "main", isTag: false, object: idOf(to), commit: idOf(to), inForce: idOf(from) },
});

test("history is fetched step by step until what is in force is found", async () => {
  const near = chain(5_000, 32);
  expect(await judgeMoved(moved(4_999, 4_980), near.evidence)).toBe(idOf(4_999));
  expect(near.deepened).toEqual([]);
  const far = chain(5_000, 32);
  expect(await judgeMoved(moved(4_999, 10), far.evidence)).toBe(idOf(4_999));
  expect(far.deepened).toEqual([1_000, 10_000]);
});

test("no more than 10,000 commits are read, however long the history is", async () => {
  const { evidence, read } = chain(1_000_000, 1_000_000);
  await expect(judgeMoved(moved(999_999, 5), evidence)).rejects.toThrow("does not descend from");
  expect(new Set(read).size).toBeLessThanOrEqual(10_000);
  // Control: the last one that is still found.
  const { evidence: enough } = chain(1_000_000, 1_000_000);
  expect(await judgeMoved(moved(999_999, 999_999 - 9_999), enough)).toBe(idOf(999_999));
});

test("what is already in force is not judged again", async () => {
  const evidence: Evidence = {
    commit: () => Promise.reject(new Error("read")),
    isSigned: () => Promise.reject(new Error("verified")),
    isReleased: () => Promise.reject(new Error("compared")),
    deepen: () => Promise.reject(new Error("fetched")),
  };
  expect(await judgeMoved(moved(7, 7), evidence)).toBe(idOf(7));
});
