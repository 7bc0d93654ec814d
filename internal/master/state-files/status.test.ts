import { expect, test } from "bun:test";
import type { Tenure } from "../../bus/lease/mod.ts";
import type { GitSync } from "../../tree/git/mod.ts";
import { createFilesStatus } from "./status.ts";

const tenure: Tenure = { token: 1, signal: new AbortController().signal };
const holder = { holder: "other" } as never;
const syncWith = (found: {
  running?: boolean;
  problem?: string;
  problems?: ReturnType<GitSync["problems"]>;
}): GitSync => ({
  states: () => [],
  problem: () => found.problem,
  problems: () => found.problems ?? [],
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
      "environment a: no room; environment b: no room; environment c: no room; and 1 more: see svc status",
  });
  const problems = ["x", "y"].map((ref) => ({ remote: "r", ref, reason: "too large" }));
  const unread = { remote: "other", reason: "no successful sync yet" };
  status.reads(syncWith({ problem: "refs/heads/x: too large", problems: [unread, ...problems] }), tenure);
  expect(status.gitfs().message).toBe("refs/heads/x: too large");
  expect(status.gitfs().next).toStartWith("git ls-remote other, on the host of that master");
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
  status.refuses([{ ...refusal("x", "states"), reason: "web/init.sls:4:1: unknown function" }]);
  expect((await status.states(async () => undefined)).next).toBe("correct web/init.sls:4:1 of environment x");
  const other = createFilesStatus(() => ({ tenure: undefined, holder }));
  expect(await other.states(async (name) => `${name} says no`)).toEqual({
    status: "up",
    message: "other refused state files: other says no",
  });
});

test("a report names what is refused with its places, and hints on what is in force", () => {
  const finding = { file: "web/init.sls", line: 3, column: 2, reason: "the indentation does not fit" };
  const checked = {
    environment: "x",
    commit: "local",
    snapshot: "ab".repeat(32),
    problems: [finding],
    hints: [],
  };
  const hinted = { ...checked, environment: "base", problems: [], hints: Array(25).fill(finding) };
  const status = createFilesStatus(
    () => ({ tenure, holder }),
    (environment) => (environment === "x" ? checked : environment === "base" ? hinted : undefined),
  );
  const ref = {
    remote: "https://git.example/a",
    ref: "refs/heads/big",
    environment: "big",
    reason: "too large",
  };
  status.reads(syncWith({ problems: [ref] }), tenure);
  status.refuses([refusal("x", "states"), refusal("c"), refusal("unread", "sources")]);
  const snapshot = Buffer.alloc(32, 0xab);
  expect(status.report(["base", "dev"])).toEqual({
    refused: [
      ref,
      { environment: "x", commit: "local", snapshot, reason: "no room", problems: [finding] },
      { environment: "c", reason: "no room" },
    ],
    hints: [
      {
        ...{ environment: "base", commit: "local", snapshot },
        ...{ hints: Array(20).fill(finding), hints_left_out: 5 },
      },
    ],
  });
});

test("a report fits into one message, whatever is pushed", () => {
  const long = { file: "f".repeat(4_000), line: 1, column: 1, reason: "r".repeat(300) };
  const checked = { environment: "x", commit: "local", snapshot: "ab".repeat(32), hints: [] };
  const status = createFilesStatus(
    () => ({ tenure, holder }),
    () => ({ ...checked, problems: Array(100).fill(long) }),
  );
  status.refuses(Array.from({ length: 300 }, (_, at) => refusal(`branch-${at}`, "states")));
  const { refused, refused_left_out: more = 0 } = status.report([]);
  expect([refused.length > 0, refused.length + more]).toEqual([true, 300]);
  expect(JSON.stringify(refused).length).toBeLessThan(512 * 1024);
});

test("what waits for a release is not refused, and files of a release that masters lack are named without others", () => {
  const good = { environment: "base", commit: "local", snapshot: "ab".repeat(32), problems: [], hints: [] };
  const status = createFilesStatus(
    () => ({ tenure, holder }),
    () => good,
  );
  status.refuses([refusal("base", "release"), refusal("base", "states")]);
  expect(status.report(["base"])).toEqual({
    refused: [{ environment: "base", reason: "no room" }],
    hints: [],
  });
});

test("a master that does not publish reports nothing of its own", () => {
  const status = createFilesStatus(() => ({ tenure: undefined, holder }));
  status.refuses([refusal("x", "states")]);
  expect(status.report(["base"])).toEqual({ refused: [], hints: [] });
});
