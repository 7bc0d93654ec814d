import { expect, test } from "bun:test";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { GitSync } from "../../tree/git/mod.ts";
import { createFilesStatus } from "./status.ts";

const tenure: Tenure = { token: 1, signal: new AbortController().signal };
const holder = { holder: "other" } as never;
const syncWith = (found: { running?: boolean; problem?: string; refused?: number }): GitSync => ({
  states: () => [],
  problem: () => found.problem,
  refused: () => found.refused ?? 0,
  running: found.running ?? true,
  syncNow: async () => {},
  stop: async () => {},
});
const refusal = (environment: string, stage = "gitfs") => ({ environment, stage, reason: "no room" });

test("a master that does not publish says who does", () => {
  const status = createFilesStatus(() => ({ tenure: undefined, holder }));
  expect(status.gitfs()).toEqual({ status: "up", message: "not this master's turn: other holds it" });
  expect(status.refused()).toBeUndefined();
});

test("the holder is degraded before its first sync, and down when reading has stopped", () => {
  const status = createFilesStatus(() => ({ tenure, holder }));
  expect(status.gitfs()).toEqual({ status: "degraded", message: "no successful sync yet" });
  status.reads(syncWith({}), { ...tenure });
  expect(status.gitfs().status).toBe("degraded");
  status.reads(syncWith({}), tenure);
  expect(status.gitfs()).toEqual({ status: "up" });
  status.reads(syncWith({ running: false }), tenure);
  expect(status.gitfs().status).toBe("down");
});

test("refs that are not used come before environments that are not published, and stages of others do not count", () => {
  const status = createFilesStatus(() => ({ tenure, holder }));
  status.reads(syncWith({}), tenure);
  status.refuses([refusal("a"), refusal("x", "states"), refusal("b"), refusal("c"), refusal("d")]);
  expect(status.gitfs()).toEqual({
    status: "degraded",
    message:
      "environment a: no room; environment b: no room; environment c: no room; and 1 more, see the log",
  });
  status.reads(syncWith({ problem: "refs/heads/x: too large", refused: 2 }), tenure);
  expect(status.gitfs().message).toBe("refs/heads/x: too large");
  expect(status.refused()).toBe(6);
});

test("the check of states has what its stage refuses, and the other masters name it", async () => {
  const status = createFilesStatus(() => ({ tenure, holder }));
  expect(await status.states(async () => undefined)).toEqual({ status: "up" });
  status.refuses([refusal("a"), refusal("x", "states")]);
  expect(await status.states(async () => undefined)).toEqual({
    status: "degraded",
    message: "environment x: no room; the last good files stay in force",
  });
  const other = createFilesStatus(() => ({ tenure: undefined, holder }));
  expect(await other.states(async (name) => `${name} says no`)).toEqual({
    status: "up",
    message: "other refused state files: other says no",
  });
});
