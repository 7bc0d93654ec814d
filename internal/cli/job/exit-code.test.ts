import { expect, test } from "bun:test";
import type { Counts } from "./counts.ts";
import { exitCodeOf } from "./exit-code.ts";

test.each<[Counts, number, number]>([
  [{}, 0, 0],
  [{ ok: 2 }, 0, 0],
  [{ ok: 2, pending: 1 }, 3, 0],
  [{ pending: 1 }, 3, 0],
  [{ ok: 2, pending: 0, failed: 0 }, 0, 0],
  [{ ok: 2, failed: 1 }, 1, 1],
  [{ pending: 1, failed: 1 }, 1, 1],
  [{ ok: 2, offline: 1 }, 1, 0],
  [{ offline: 1, timeout: 1 }, 1, 1],
  [{ timeout: 1 }, 1, 1],
  [{ lost: 1 }, 1, 1],
  [{ busy: 1 }, 1, 1],
  [{ cancelled: 1 }, 1, 1],
])("%p exits with %i, and with %i without those that are offline", (counts, exit, ignoring) => {
  expect([exitCodeOf(counts), exitCodeOf(counts, { ignoreOffline: true })]).toEqual([exit, ignoring]);
});
