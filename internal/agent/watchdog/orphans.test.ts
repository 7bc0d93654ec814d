import { expect, test } from "bun:test";
import { orphansOf } from "./orphans.ts";

const orphan = { pid: 10, parent: 1, watchdog: 5, user: 0, dataDir: "/data" };

test("only peels of a former watchdog of the same directory are orphans", () => {
  const child = { ...orphan, pid: 11, parent: 10 };
  expect(orphansOf("/data", 0, [orphan, child, { ...orphan, pid: 12, dataDir: "/data2" }])).toEqual([10, 11]);
  expect(orphansOf("/data", 0, [])).toEqual([]);
});

test("a peel whose watchdog runs is not an orphan", () => {
  expect(() => orphansOf("/data", 0, [orphan, { ...orphan, pid: 6, parent: 5 }])).toThrow("process id 5");
  expect(orphansOf("/data", 0, [{ ...orphan, parent: 5, dataDir: "/other" }])).toEqual([]);
});

test("processes of other users do not block a watchdog, and are not stopped by it", () => {
  const foreign = { ...orphan, pid: 20, user: 1000 };
  expect(orphansOf("/data", 0, [orphan, foreign, { ...foreign, parent: 5 }])).toEqual([10]);
});
